//! The rotation of a CA in three steps, by `host rotate`: each step waits for the rollout of the step before, whenever
//! the operator is killed. No pod runs here.

use crate::kubelet::Kubelet;
use crate::objects::{OURS, condition, has_reason, is};
use crate::operator_process::{OperatorProcess, Tenant};
use crate::reader::Reader;
use crate::small_deployment::Small;
use anyhow::ensure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::{Ran, wait_for_value};
use serde_json::Value;
use tokio::task::block_in_place;

const USER: &str = "--verb=get,list,patch --resource=boshdeployments.quarks.cloudfoundry.org,\
    quarksstatefulsets.quarks.cloudfoundry.org,quarkssecrets.quarks.cloudfoundry.org,secrets";
const VARIABLES: &str = "[{name: ca, type: certificate, options: {is_ca: true, common_name: ca, key_length: 2048}}, \
    {name: leaf, type: certificate, options: {ca: ca, common_name: leaf, key_length: 2048}}, {name: pw, type: password}]";

/// What the Secrets of a CA and of its certificate have in a step.
#[derive(Clone, Debug, PartialEq)]
struct Values {
    signing: String,
    beside: Option<String>,
    certificate: String,
    trusted: String,
}

async fn values(tenant: &Tenant) -> Values {
    let entry = async |name: &str, key: &str| {
        let secret = tenant.get("v1", "Secret", name).await.unwrap_or_default();
        let text = secret["data"][key].as_str()?.to_string();
        Some(String::from_utf8(STANDARD.decode(text).unwrap()).unwrap())
    };
    Values {
        signing: entry("d.var-ca", "certificate").await.unwrap_or_default(),
        beside: entry("d.var-ca", "transitional.certificate").await,
        certificate: entry("d.var-leaf", "certificate").await.unwrap_or_default(),
        trusted: entry("d.var-leaf", "ca").await.unwrap_or_default(),
    }
}

/// Waits until the CA is in this step, and its certificate has it.
async fn wait_for_step(tenant: &Tenant, what: &str, is_it: impl Fn(&Values) -> bool) -> Values {
    wait_for_value(what, async || {
        let found = values(tenant).await;
        let ca = tenant.get(OURS, "QuarksSecret", "d.var-ca").await.unwrap_or_default();
        ensure!(is_it(&found), "{:#}", ca["status"]);
        Ok(found)
    })
    .await
}

/// Waits until the CA waits for the deployment.
async fn wait_for_reason(tenant: &Tenant, reason: &str) {
    let ca = [OURS, "QuarksSecret", "d.var-ca"];
    let is_waiting = |ca: &Value| {
        let message = condition(ca, "Rotating").and_then(|rotating| rotating["message"].as_str());
        has_reason(ca, "Rotating", reason) && message.is_some_and(|message| message.contains("deployment 'd'"))
    };
    tenant.wait_for_object("a rotation that waits", ca, is_waiting).await;
}

fn run(user: &Reader<'_>, arguments: &[&str]) -> Ran {
    block_in_place(|| user.run(&[arguments, &["-d", "d"]].concat()))
}

async fn wait_until_rolled_out(tenant: &Tenant) {
    let is_rolled_out = |one: &Value| has_reason(one, "Progressing", "RolledOut");
    tenant
        .wait_for_deployment("d", "a rollout", |one| is(one, "Ready", "True") && is_rolled_out(one))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_a_rotation_waits_for_the_rollout_of_the_one_before() {
    let mut operator = OperatorProcess::set("rotate", false, &[]).await;
    let tenant = operator.tenant("d");
    let small = Small {
        variables: VARIABLES,
        instances: 3,
        group: "update: {canaries: 1, max_in_flight: 1, canary_watch_time: 0-30000, update_watch_time: 0-30000}",
        domain: r#""((leaf.certificate))((leaf.ca))""#,
        ..Small::default()
    };
    tenant.deploy("d", &small.manifest()).await;
    let kubelet = Kubelet::of(tenant.pods());
    wait_until_rolled_out(&tenant).await;
    let user = Reader::new(&tenant, "user", USER);
    let old = values(&tenant).await;
    assert_eq!((&old.trusted, &old.beside), (&old.signing, &None));

    let plan = run(&user, &["rotate", "--ca", "ca", "--dry-run", "--json"]);
    assert!(
        plan.code == 0 && plan.stdout.contains("three steps"),
        "{} {}",
        plan.stdout,
        plan.stderr
    );
    assert_eq!(values(&tenant).await, old);

    // Step 1: both are trusted, and the certificate stays. No pod becomes ready, so it lasts.
    drop(kubelet);
    let begun = run(&user, &["rotate", "--ca", "ca", "--yes", "--no-wait"]);
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    let both = |found: &Values| {
        let beside = found.beside.as_ref();
        beside.is_some_and(|beside| found.trusted == format!("{}{beside}", found.signing))
    };
    let first = wait_for_step(&tenant, "step 1", |found| both(found) && found.signing == old.signing).await;
    assert_eq!(first.certificate, old.certificate);
    wait_for_reason(&tenant, "Trusting").await;
    operator.kill();
    operator.start();
    wait_for_reason(&tenant, "Trusting").await;
    assert_eq!(values(&tenant).await, first);

    // Step 2: the new one signs, and both are trusted.
    let kubelet = Kubelet::of(tenant.pods());
    let new = first.beside.clone().unwrap();
    let signs = |found: &Values| found.signing == new && found.certificate != old.certificate;
    let second = wait_for_step(&tenant, "step 2", |found| signs(found) && both(found)).await;
    drop(kubelet);
    assert_eq!(second.beside.as_ref(), Some(&old.signing));
    operator.kill();
    operator.start();
    wait_for_reason(&tenant, "Signing").await;
    assert_eq!(values(&tenant).await, second);

    the_same_command_follows_to_the_end(&tenant, &user, second).await;
}

/// Step 3: the same command follows to the end, and begins no other rotation.
async fn the_same_command_follows_to_the_end(tenant: &Tenant, user: &Reader<'_>, second: Values) {
    let _kubelet = Kubelet::of(tenant.pods());
    let followed = run(user, &["rotate", "--ca", "ca", "--yes"]);
    assert_eq!(followed.code, 0, "{} {}", followed.stdout, followed.stderr);
    assert!(
        !format!("{}{}", followed.stdout, followed.stderr).contains("BEGIN"),
        "a value is printed"
    );
    let last = values(tenant).await;
    let wanted = Values {
        beside: None,
        trusted: second.signing.clone(),
        ..second
    };
    assert_eq!(last, wanted);
    wait_until_rolled_out(tenant).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_gets_a_new_value_in_one_step_and_the_command_waits_for_its_rollout() {
    let operator = OperatorProcess::set("rotate-word", false, &[]).await;
    let tenant = operator.tenant("d");
    let _kubelet = Kubelet::of(tenant.pods());
    let small = Small {
        variables: VARIABLES,
        domain: "((pw))",
        ..Small::default()
    };
    tenant.deploy("d", &small.manifest()).await;
    wait_until_rolled_out(&tenant).await;
    let password = async || tenant.get("v1", "Secret", "d.var-pw").await.unwrap()["data"]["password"].clone();
    let before = password().await;
    let user = Reader::new(&tenant, "user", USER);
    let rotated = run(&user, &["rotate", "pw", "--yes"]);
    assert_eq!(rotated.code, 0, "{} {}", rotated.stdout, rotated.stderr);
    assert_ne!(password().await, before);
    let unknown = run(&user, &["rotate", "pww", "--yes"]);
    assert!(
        unknown.code == 1 && unknown.stderr.contains("no generated variable 'pww'"),
        "{}",
        unknown.stderr
    );
    let none = run(&user, &["rotate", "--expiring", "1d", "--yes"]);
    assert!(
        none.code == 0 && none.stderr.contains("no certificate expires"),
        "{}",
        none.stderr
    );
}
