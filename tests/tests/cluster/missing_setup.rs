//! What users who forgot something get reported: a namespace without its label, a value for which the quota is used up.

use crate::objects::{MONITORED, OURS, is};
use crate::operator_process::OperatorProcess;

fn manifest() -> String {
    "releases:\n- {name: demo, version: \"1\", url: registry.example.com/demo}\n\
     stemcells:\n- {alias: default, os: ubuntu-jammy, version: \"1.1\"}\n\
     variables:\n- {name: pw, type: password}\n\
     instance_groups:\n- name: web\n  instances: 1\n  stemcell: default\n  jobs:\n  - name: app\n    release: demo\n    \
     properties: {app: {domain: d, token: ((pw))}}\n"
        .into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_without_the_label_is_reported_and_served_once_labelled() {
    let operator = OperatorProcess::set("unlabelled", false, &[]).await;
    let tenant = operator.unlabelled("late");
    tenant.deploy("d", &manifest()).await;
    let reported = tenant.wait_for_reason("d", "Ready", "NamespaceNotServed").await;
    let message = reported["status"]["message"].as_str().unwrap();
    // Operators of other tests may be the first to report it, with their own labels.
    let command = format!("kubectl label namespace {} {MONITORED}=", tenant.namespace);
    assert!(message.contains(&command), "{message}");
    tenant
        .wait_for_event("the label", |reason, note| {
            reason == "NamespaceNotServed" && note == message
        })
        .await;
    operator.label(&tenant);
    tenant.wait_until_applied("d").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_refused_by_a_quota_is_a_failure_and_not_waited_for() {
    let operator = OperatorProcess::set("no-values", false, &[]).await;
    let tenant = operator.tenant("quota");
    tenant.few("secrets", "1").await;
    tenant.deploy("d", &manifest()).await;
    let reported = tenant.wait_for_reason("d", "Applied", "DeploymentVariable").await;
    for kind in ["Converted", "Applied", "Ready"] {
        assert!(is(&reported, kind, "False"), "{kind}: {:#}", reported["status"]);
    }
    let message = reported["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("variable 'pw' has no value") && message.contains("exceeded quota: few"),
        "{message}"
    );
    tenant.delete("v1", "ResourceQuota", "few").await;
    let done = tenant.wait_until_applied("d").await;
    assert!(is(&done, "Converted", "True"));
    assert_eq!(tenant.names(OURS, "QuarksStatefulSet", "d").await, ["d-web"]);
}
