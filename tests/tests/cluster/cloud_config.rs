//! Cloud configs in a cluster: their settings reach the objects, a changed one is applied, and undefined names are
//! refused.

use crate::objects::{OURS, condition, is};
use crate::operator_process::{OperatorProcess, Tenant};
use anyhow::Context;
use boson_tests::{wait_for_value, wait_until};
use serde_json::{Value, json};

const NAME: &str = "cloudy";

const MANIFEST: &str = r#"releases:
- {name: demo, version: "1", url: registry.example.com/demo}
stemcells:
- {alias: default, os: ubuntu-jammy, version: "1.1"}
instance_groups:
- name: web
  azs: [z1, z2]
  instances: 2
  stemcell: default
  vm_type: small
  persistent_disk_type: 10GB
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

const ZONES: &str = r#"azs:
- {name: z1, cloud_properties: {zone: eu-1a}}
- {name: z2}
disk_types:
- {name: 10GB, disk_size: 10240, cloud_properties: {storage_class: fast}}
"#;

fn sizes(ram: u32) -> String {
    format!("vm_types:\n- name: small\n  cloud_properties: {{cpu: 1, ram: {ram}, node_selector: {{pool: web}}}}\n")
}

async fn deploy(tenant: &Tenant) {
    let mut deployment = tenant.object(NAME, &[]);
    deployment["spec"]["cloudConfig"] = json!({"type": "configmap", "name": "zones"});
    deployment["spec"]["cloudConfigs"] = json!([{"type": "secret", "name": "sizes"}]);
    tenant.apply(deployment).await;
}

/// Memory limit of the group's first container.
fn memory(set: &Value) -> &Value {
    &set["spec"]["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
}

async fn quarks_set(tenant: &Tenant, group: &str) -> Value {
    let name = format!("{NAME}-{group}");
    tenant.get(OURS, "QuarksStatefulSet", &name).await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_cloud_config_reach_the_objects_and_follow_its_changes() {
    let operator = OperatorProcess::set("cloud", false, &[]).await;
    let tenant = operator.tenant("config");
    tenant.apply_manifest(NAME, MANIFEST).await;
    tenant.config_map("zones", "cloud-config", ZONES).await;
    tenant.secret("sizes", "cloud-config", &sizes(512)).await;
    deploy(&tenant).await;
    tenant.wait_until_applied(NAME).await;
    let set = quarks_set(&tenant, "web").await;
    assert_eq!(set["spec"]["zones"], json!(["z1", "z2"]));
    assert_eq!(set["spec"]["zoneValues"], json!({"z1": "eu-1a"}));
    assert_eq!(memory(&set), "512Mi");
    let template = &set["spec"]["template"]["spec"];
    assert_eq!(template["template"]["spec"]["nodeSelector"], json!({"pool": "web"}));
    let claim = &template["volumeClaimTemplates"][0]["spec"];
    assert_eq!(claim["storageClassName"], "fast");
    assert_eq!(claim["resources"]["requests"]["storage"], "10Gi");
    let expression = |set: &Value| {
        let node = &set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"];
        let terms = &node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        terms[0]["matchExpressions"][0]["values"][0].clone()
    };
    let mut pinned = Vec::new();
    for zone in ["z0", "z1"] {
        let name = format!("{NAME}-web-{zone}-v1");
        let look = async || tenant.get("apps/v1", "StatefulSet", &name).await.context("none");
        let set = wait_for_value(&name, look).await;
        pinned.push(expression(&set));
    }
    assert_eq!(pinned, ["eu-1a", "z2"]);

    // A new size is noticed, and changes only the group that uses it.
    let idle = quarks_set(&tenant, "idle").await["metadata"]["generation"].clone();
    tenant.secret("sizes", "cloud-config", &sizes(768)).await;
    wait_until("the new size", async || {
        memory(&quarks_set(&tenant, "web").await) == "768Mi"
    })
    .await;
    tenant.wait_until_applied(NAME).await;
    assert_eq!(quarks_set(&tenant, "idle").await["metadata"]["generation"], idle);

    // A name that is no longer defined.
    tenant.secret("sizes", "cloud-config", "vm_types: []\n").await;
    let refused = tenant
        .wait_for_deployment(NAME, "an error", |deployment| is(deployment, "Converted", "False"))
        .await;
    let converted = condition(&refused, "Converted").unwrap();
    let message = converted["message"].as_str().unwrap();
    assert_eq!(converted["reason"], "BpmCloudConfig", "{message}");
    assert!(message.contains("references an unknown vm type 'small'"), "{message}");
    assert!(message.contains("configmap/cloudy-manifest/manifest:10:"), "{message}");
    tenant.secret("sizes", "cloud-config", &sizes(768)).await;
    tenant.wait_until_applied(NAME).await;
}
