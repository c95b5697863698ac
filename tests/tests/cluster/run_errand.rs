//! `host run-errand` against a cluster: how a run is requested, and that runs do not overlap. No pod runs here: the
//! test reports how it ended.

use crate::kubelet::report;
use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;
use anyhow::Context;
use boson_tests::{Ran, wait_for_value};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::{Value, json};
use std::future::Future;

const API_VERSION: &str = "quarks.cloudfoundry.org/v1alpha1";
const ERRAND: &str = "\
- name: check
  lifecycle: errand
  instances: 1
  stemcell: default
  jobs: [{name: app, release: demo, properties: {app: {domain: example.com}}}]
";
const RUN: [&str; 4] = ["run-errand", "check", "-d", "d"];
const RUNNER: &str = "--verb=get,list,patch --resource=boshdeployments.quarks.cloudfoundry.org,\
    quarksjobs.quarks.cloudfoundry.org,quarksstatefulsets.quarks.cloudfoundry.org,jobs.batch,pods,pods/log,events";

/// Runs a command of `host` while something else happens.
fn during(reader: &Reader<'_>, arguments: &[&str], meanwhile: impl Future<Output = ()>) -> Ran {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let command = scope.spawn(|| reader.run(arguments));
            runtime.block_on(meanwhile);
            command.join().unwrap()
        })
    })
}

/// The pod of the errand, which has not ended.
async fn pod(tenant: &Tenant) -> Pod {
    let query = ListParams::default().labels("quarks.cloudfoundry.org/qjob-name=d-check");
    wait_for_value("a pod of the errand", async || {
        let pods = tenant.pods().list(&query).await?.items;
        let is_new = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Pending");
        pods.into_iter().find(is_new).context("none")
    })
    .await
}

/// Reports the end of the errand's pod.
async fn end(tenant: &Tenant, code: i32) {
    let pod = pod(tenant).await;
    let status = json!({
        "name": "app-app", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "reason": "Error"}},
    });
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let status = json!({"phase": phase, "containerStatuses": [status]});
    report(&tenant.pods(), &pod.metadata, status).await.unwrap();
}

async fn runs(tenant: &Tenant) -> Value {
    let job = tenant.get(API_VERSION, "QuarksJob", "d-check").await;
    job.unwrap_or_default()["status"]["runs"].clone()
}

/// The rows and notes of the table.
fn table(ran: &Ran) -> (Value, Value) {
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    let table = &printed["Tables"][0];
    (table["Rows"].clone(), table["Notes"].clone())
}

fn row(code: &str) -> Value {
    json!([{"instance": "check/0", "exit_code": code, "stdout": "", "stderr": ""}])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_requested_once_and_its_end_is_the_end_of_the_command() {
    let operator = OperatorProcess::set("run-errand", false, &[]).await;
    let tenant = operator.tenant("d");
    let manifest = Small::default().manifest() + ERRAND;
    tenant.deploy("d", &manifest).await;
    let errand = [API_VERSION, "QuarksJob", "d-check"];
    tenant
        .wait_for_object("the errand", errand, |errand| errand["status"].is_object())
        .await;
    let reader = Reader::new(&tenant, "runner", RUNNER);
    let json = [&RUN[..], &["--json"]].concat();

    let ran = during(&reader, &json, async {
        pod(&tenant).await;
        let second = reader.run(&RUN);
        assert_eq!(second.code, 1, "{}", second.stdout);
        assert!(
            second.stderr.contains("errand 'check' is running (run 1)"),
            "{}",
            second.stderr
        );
        end(&tenant, 3).await;
    });
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(table(&ran).0, row("3"), "{}", ran.stderr);
    let why = "Errand 'check' completed with error (exit code 3)";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);

    // After a failure it runs although nothing has changed.
    let when_changed = [&json[..], &["--when-changed"]].concat();
    let ran = during(&reader, &when_changed, end(&tenant, 0));
    assert_eq!((ran.code, table(&ran).0), (0, row("0")), "{}", ran.stderr);
    let ran = reader.run(&when_changed);
    let skipped = (json!([]), json!(["skipped - no changes detected"]));
    assert_eq!((ran.code, table(&ran)), (0, skipped), "{}", ran.stderr);
    assert_eq!(runs(&tenant).await, 2);
    let ran = during(
        &reader,
        &[&RUN[..], &["--instance", "check/first"]].concat(),
        end(&tenant, 143),
    );
    assert!(
        ran.code == 1 && ran.stderr.contains("was canceled (exit code 143)"),
        "{}",
        ran.stderr
    );

    assert!(reader.used().forbidden.is_empty(), "{:?}", reader.used().forbidden);
    errors(&tenant, &reader);
    assert_eq!(runs(&tenant).await, 3);
}

fn errors(tenant: &Tenant, reader: &Reader<'_>) {
    let wrong = |arguments: &[&str], why: &str| {
        let ran = reader.run(arguments);
        assert!(
            ran.code == 1 && ran.stderr.contains(why),
            "{arguments:?}: {}",
            ran.stderr
        );
    };
    wrong(
        &["run-errand", "unknown", "-d", "d"],
        "there is no errand 'unknown' in deployment 'd'; errands: check.",
    );
    wrong(
        &[&RUN[..], &["--instance", "web/0"]].concat(),
        "--instance web/0 selects no instance of errand 'check': it has 'check/0'",
    );
    wrong(&[&RUN[..], &["--follow"]].concat(), "errand 'check' does not run");
    let looker = Reader::new(
        tenant,
        "looker",
        "--verb=get,list --resource=boshdeployments.quarks.cloudfoundry.org,quarksjobs.quarks.cloudfoundry.org,jobs.batch",
    );
    let ran = looker.run(&RUN);
    let lacks = "you may not patch quarksjobs.quarks.cloudfoundry.org in namespace";
    assert!(ran.code == 1 && ran.stderr.contains(lacks), "{}", ran.stderr);
}
