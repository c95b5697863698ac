//! An instance group that cannot be converted keeps the objects of the previous conversion, is reported by name, and
//! does not affect the other groups.

use crate::objects::{OURS, condition, is};
use crate::operator_process::{OperatorProcess, Tenant};
use serde_json::Value;

/// Two groups; a group without `app.domain` cannot be rendered.
fn manifest(web: u32, db_properties: &str) -> String {
    format!(
        r#"releases:
- {{name: demo, version: "1", url: registry.example.com/demo}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.1"}}
variables:
- {{name: pw, type: password}}
instance_groups:
- name: web
  instances: {web}
  stemcell: default
  jobs:
  - name: app
    release: demo
    properties: {{app: {{domain: example.com, token: ((pw))}}}}
- name: db
  instances: 1
  stemcell: default
  jobs:
  - name: app
    release: demo
    properties: {db_properties}
"#
    )
}

const GOOD: &str = "{app: {domain: example.org, token: ((pw))}}";
const BAD: &str = "{app: {token: ((pw))}}";

async fn spec(tenant: &Tenant, group: &str) -> Value {
    let set = tenant.get(OURS, "QuarksStatefulSet", &format!("d-{group}")).await;
    set.map(|set| set["spec"].clone()).unwrap_or_default()
}

async fn held_back(tenant: &Tenant) -> Value {
    tenant
        .wait_for_deployment("d", "a group that is held back", |deployment| {
            is(deployment, "Converted", "False")
                && is(deployment, "Applied", "Unknown")
                && is(deployment, "Ready", "False")
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_fails_to_convert_holds_back_only_itself() {
    let operator = OperatorProcess::set("held-back", false, &[]).await;
    let tenant = operator.tenant("held-back");
    // From the start: the other group is created.
    tenant.deploy("d", &manifest(1, BAD)).await;
    let deployment = held_back(&tenant).await;
    let message = condition(&deployment, "Converted").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(
        message.starts_with("instance group 'db' is held back; the other groups are applied"),
        "{message}"
    );
    assert!(message.contains("app.domain"), "{message}");
    assert_eq!(deployment["status"]["totalInstanceGroups"], 2);
    assert_eq!(tenant.names(OURS, "QuarksStatefulSet", "d").await, ["d-web"]);
    tenant
        .wait_for_event("the group", |_, note| note.contains("'db' is held back"))
        .await;
    // Once it can be converted, its objects are created.
    tenant.apply_manifest("d", &manifest(1, GOOD)).await;
    tenant.wait_until_applied("d").await;
    let db = spec(&tenant, "db").await;
    assert!(db.is_object());
    let services = tenant.names("v1", "Service", "d").await;
    // When it fails again, its objects stay, and the other group follows the manifest.
    tenant.apply_manifest("d", &manifest(2, BAD)).await;
    held_back(&tenant).await;
    assert_eq!(spec(&tenant, "db").await, db);
    assert_eq!(spec(&tenant, "web").await["template"]["spec"]["replicas"], 2);
    let now = tenant.names("v1", "Service", "d").await;
    assert!(
        services.iter().all(|service| now.contains(service)),
        "{services:?} {now:?}"
    );
    tenant.apply_manifest("d", &manifest(2, GOOD)).await;
    let deployment = tenant.wait_until_applied("d").await;
    assert!(is(&deployment, "Converted", "True"), "{:#}", deployment["status"]);
}
