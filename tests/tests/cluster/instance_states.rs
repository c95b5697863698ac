//! Desired states of instances, by the commands that BOSH has for them: what is replaced, and what lasts. No pod runs
//! here.

use crate::kubelet::Kubelet;
use crate::objects::{OURS, condition, has_reason, is};
use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_tests::{Ran, wait_for_value, wait_until};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::task::block_in_place;

const USER: &str = "--verb=get,list,patch,delete --resource=pods,boshdeployments.quarks.cloudfoundry.org,\
    quarksstatefulsets.quarks.cloudfoundry.org";
const VIEWER: &str = "--verb=get,list --resource=pods,boshdeployments.quarks.cloudfoundry.org,\
    quarksstatefulsets.quarks.cloudfoundry.org";

pub async fn write(tenant: &Tenant, instances: u32, domain: &str) {
    let small = Small {
        instances,
        domain,
        group: "update: {canaries: 1, max_in_flight: 1, canary_watch_time: 0-30000, update_watch_time: 0-30000}",
        ..Small::default()
    };
    tenant.apply_manifest("d", &small.manifest()).await;
}

/// Waits until everything is rolled out that was written before.
pub async fn wait_until_settled(
    tenant: &Tenant,
    what: &str,
    holds: impl Fn(&BTreeMap<String, String>) -> bool,
) -> BTreeMap<String, String> {
    wait_for_value(what, async || {
        let deployment = tenant.get(OURS, "BOSHDeployment", "d").await.unwrap_or_default();
        let pods = pods(tenant).await;
        let is_done = is(&deployment, "Ready", "True") && has_reason(&deployment, "Progressing", "RolledOut");
        ensure!(is_done && holds(&pods), "{pods:?} {:#}", deployment["status"]);
        Ok(pods)
    })
    .await
}

/// UIDs by name.
async fn pods(tenant: &Tenant) -> BTreeMap<String, String> {
    let pods = tenant.pods().list(&ListParams::default()).await.unwrap();
    let uid = |pod: &Pod| (pod.name_any(), pod.uid().unwrap_or_default());
    pods.iter().map(uid).collect()
}

/// Runs a command that has to succeed.
fn done(user: &Reader<'_>, arguments: &[&str]) -> Ran {
    let ran = run(user, arguments);
    assert_eq!(ran.code, 0, "{arguments:?} {}", ran.stderr);
    ran
}

fn run(user: &Reader<'_>, arguments: &[&str]) -> Ran {
    block_in_place(|| user.run(&[arguments, &["-d", "d"]].concat()))
}

fn replaced(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<usize> {
    let is_new = |at: &usize| {
        let name = format!("d-web-v1-{at}");
        before.get(&name) != after.get(&name)
    };
    (0..3).filter(is_new).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_restarted_once_and_ignored_ones_keep_their_pods() {
    let operator = OperatorProcess::set("restart", false, &[]).await;
    let tenant = operator.tenant("d");
    let _kubelet = Kubelet::of(tenant.pods());
    write(&tenant, 3, "example.com").await;
    tenant.deployment("d", &[]).await;
    let first = wait_until_settled(&tenant, "the deployment", |pods| pods.len() == 3).await;
    let user = Reader::new(&tenant, "user", USER);

    done(&user, &["restart", "web/1", "--yes"]);
    let second = wait_until_settled(&tenant, "one instance", |pods| pods.len() == 3).await;
    assert_eq!(replaced(&first, &second), [1]);
    done(&user, &["recreate", "--yes"]);
    let third = wait_until_settled(&tenant, "all instances", |pods| pods.len() == 3).await;
    assert_eq!(replaced(&second, &third), [0, 1, 2]);
    write(&tenant, 4, "example.com").await;
    let fourth = wait_until_settled(&tenant, "another instance", |pods| pods.len() == 4).await;
    assert_eq!(replaced(&third, &fourth), [0; 0], "it is done once");
    done(&user, &["restart", "web/2", "--no-converge", "--yes"]);
    let fifth = wait_until_settled(&tenant, "the instance", |pods| pods.len() == 4).await;
    assert_eq!(replaced(&fourth, &fifth), [2]);

    done(&user, &["ignore", "web/0"]);
    write(&tenant, 3, "example.org").await;
    let sixth = wait_until_settled(&tenant, "the others", |pods| {
        pods.len() == 3 && replaced(&fifth, pods) == [1, 2]
    })
    .await;
    let refused = run(&user, &["restart", "web/0", "--yes"]);
    assert_eq!(refused.code, 1);
    let message = "instance 'web/0' is ignored: run `host unignore web/0 -d d` first";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
    let status = done(&user, &["status", "--json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let states = &status["Tables"].as_array().unwrap()[2]["Rows"];
    assert_eq!(*states, json!([{"instance": "web/0", "state": "ignored"}]));

    write(&tenant, 0, "example.org").await;
    tenant
        .wait_for_deployment("d", "the refusal", |deployment| {
            let applied = condition(deployment, "Applied");
            applied.is_some_and(|one| one["status"] == "False" && one["reason"] == "DeploymentIgnoredInstance")
        })
        .await;
    assert_eq!(pods(&tenant).await, sixth);
    write(&tenant, 3, "example.org").await;
    done(&user, &["unignore", "web/0"]);
    wait_until_settled(&tenant, "the instance", |pods| replaced(&sixth, pods) == [0]).await;

    let viewer = Reader::new(&tenant, "viewer", VIEWER);
    let forbidden = run(&viewer, &["ignore", "web/0"]);
    assert_eq!(forbidden.code, 1);
    assert!(
        forbidden.stderr.contains("you may not patch boshdeployments"),
        "{}",
        forbidden.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stopped_does_not_run_until_it_is_started() {
    let mut operator = OperatorProcess::set("stop", false, &[]).await;
    let tenant = operator.tenant("d");
    let _kubelet = Kubelet::of(tenant.pods());
    write(&tenant, 2, "example.com").await;
    tenant.deployment("d", &[]).await;
    let first = wait_until_settled(&tenant, "the deployment", |pods| pods.len() == 2).await;
    let user = Reader::new(&tenant, "user", USER);

    done(&user, &["stop", "web/1", "--yes"]);
    let second = wait_until_settled(&tenant, "the stopped instance", |pods| pods.len() == 2).await;
    assert_eq!(replaced(&first, &second), [1]);
    let gates = async || {
        let pod = tenant.get("v1", "Pod", "d-web-v1-1").await.unwrap_or_default();
        pod["spec"]["schedulingGates"][0]["name"].clone()
    };
    assert_eq!(gates().await, "quarks.cloudfoundry.org/stopped");
    let set = tenant.get("apps/v1", "StatefulSet", "d-web-v1").await.unwrap();
    let template = &set["spec"]["template"]["spec"];
    assert!(
        template["schedulingGates"].is_null(),
        "other pods get none: {template:#}"
    );
    let failing = done(&user, &["instances", "--failing", "--json"]);
    let failing: Value = serde_json::from_str(&failing.stdout).unwrap();
    assert_eq!(failing["Tables"][0]["Rows"], json!([]));
    done(&user, &["start", "web/1", "--yes"]);
    let third = wait_until_settled(&tenant, "the started instance", |pods| pods.len() == 2).await;
    assert_eq!((replaced(&second, &third), gates().await), (vec![1], Value::Null));

    let unconfirmed = run(&user, &["stop"]);
    assert_eq!(unconfirmed.code, 1);
    assert!(unconfirmed.stderr.contains("use --yes"), "{}", unconfirmed.stderr);
    done(&user, &["stop", "--hard", "--non-interactive"]);
    wait_until("no pod", async || pods(&tenant).await.is_empty()).await;
    operator.kill();
    write(&tenant, 3, "example.org").await;
    // The same as `kubectl apply` of the object without the states.
    tenant.deployment("d", &[]).await;
    operator.start();
    let replicas = async || {
        let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap();
        group["spec"]["template"]["spec"]["replicas"].clone()
    };
    wait_until("another manifest", async || replicas().await == 3).await;
    wait_until_settled(&tenant, "the rollout", BTreeMap::is_empty).await;
    let shown = done(
        &user,
        &[
            "instances",
            "--details",
            "--column=instance",
            "--column=state",
            "--json",
        ],
    );
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let row = |at: usize| json!({"instance": format!("web/{at}"), "state": "stopped"});
    assert_eq!(shown["Tables"][0]["Rows"], json!([row(0), row(1), row(2)]));
    done(&user, &["start", "--yes"]);
    wait_until_settled(&tenant, "the pods", |pods| pods.len() == 3).await;
}
