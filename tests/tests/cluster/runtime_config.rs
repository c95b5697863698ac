//! Runtime configs in a cluster: their addons, releases and tags reach the objects, a changed one is applied, and one
//! for another deployment has no effect.

use crate::objects::{OURS, condition, is};
use crate::operator_process::{OperatorProcess, Tenant};
use boson_tests::{root, wait_until};
use serde_json::{Value, json};

const NAME: &str = "watched";

const MANIFEST: &str = r#"releases:
- {name: demo, version: "1", url: registry.example.com/demo}
stemcells:
- {alias: default, os: ubuntu-jammy, version: "1.1"}
instance_groups:
- name: web
  instances: 1
  stemcell: default
  jobs:
  - name: app
    release: demo
    properties: {app: {domain: example.com}}
- name: idle
  instances: 1
  stemcell: default
  jobs:
  - name: app
    release: demo
    properties: {app: {domain: example.com}}
"#;

/// An addon for one group of this deployment, and one for other deployments.
fn agents(version: &str, group: &str) -> String {
    format!(
        r#"releases:
- {{name: errands, version: "{version}", url: registry.example.com/errands}}
addons:
- name: status
  include: {{deployments: [{NAME}], instance_groups: [{group}]}}
  jobs: [{{name: status, release: errands}}]
- name: elsewhere
  include: {{deployments: [other]}}
  jobs: [{{name: check, release: errands}}]
"#
    )
}

async fn deploy(tenant: &Tenant) {
    let mut deployment = tenant.object(NAME, &[]);
    deployment["spec"]["runtimeConfigs"] =
        json!([{"type": "configmap", "name": "agents"}, {"type": "secret", "name": "tags"}]);
    tenant.apply(deployment).await;
}

/// Names of the containers of a group.
async fn containers(tenant: &Tenant, group: &str) -> Vec<String> {
    let set = tenant.get(OURS, "QuarksStatefulSet", &format!("{NAME}-{group}")).await;
    let set = set.unwrap_or_default();
    let all = set["spec"]["template"]["spec"]["template"]["spec"]["containers"].as_array();
    let names = all.into_iter().flatten().filter_map(|one| one["name"].as_str());
    names.map(String::from).collect()
}

async fn runs_status(tenant: &Tenant, group: &str) -> bool {
    let names = containers(tenant, group).await;
    names.iter().any(|name| name.starts_with("status-"))
}

#[tokio::test(flavor = "multi_thread")]
async fn addons_of_runtime_configs_reach_the_groups_and_follow_their_changes() {
    let operator = OperatorProcess::set("runtime-config", false, &[]).await;
    let errands = root().join("tests/fixtures/releases/errands");
    operator
        .registry
        .push_release("errands:ubuntu-jammy-1.1-1", &errands)
        .unwrap();
    let tenant = operator.tenant("config");
    tenant.apply_manifest(NAME, MANIFEST).await;
    tenant.config_map("agents", "runtime-config", &agents("1", "web")).await;
    tenant.secret("tags", "runtime-config", "tags: {cost: center}\n").await;
    deploy(&tenant).await;
    let deployment = tenant.wait_until_applied(NAME).await;
    assert!(
        runs_status(&tenant, "web").await,
        "{:?}",
        containers(&tenant, "web").await
    );
    assert!(!runs_status(&tenant, "idle").await);
    let inputs = deployment["status"]["inputs"].as_array().unwrap();
    let kinds = inputs.iter().filter(|one| one["kind"] == "runtimeConfig");
    let names: Vec<&Value> = kinds.map(|one| &one["name"]).collect();
    assert_eq!(names, ["configmap/agents", "secret/tags"]);

    // A change of the filter is noticed.
    tenant
        .config_map("agents", "runtime-config", &agents("1", "idle"))
        .await;
    wait_until("the addon in the other group alone", async || {
        runs_status(&tenant, "idle").await && !runs_status(&tenant, "web").await
    })
    .await;

    // The director's message, with the line of the ConfigMap.
    tenant
        .config_map("agents", "runtime-config", &agents("latest", "idle"))
        .await;
    let refused = tenant
        .wait_for_deployment(NAME, "an error", |deployment| is(deployment, "Converted", "False"))
        .await;
    let converted = condition(&refused, "Converted").unwrap();
    let message = converted["message"].as_str().unwrap();
    assert_eq!(converted["reason"], "RuntimeConfigRelease", "{message}");
    assert!(
        message.contains("Please specify the actual version string."),
        "{message}"
    );
    assert!(message.contains("configmap/agents/runtime-config:2:"), "{message}");
    tenant
        .config_map("agents", "runtime-config", &agents("1", "idle"))
        .await;
    tenant.wait_until_applied(NAME).await;
}
