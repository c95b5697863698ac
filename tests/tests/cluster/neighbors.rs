//! Several deployments in one namespace: each has its own objects and values, and none affects the others.

use crate::objects::{OURS, condition, is};
use crate::operator_process::{OperatorProcess, Tenant};
use crate::small_deployment::Small;
use boson_tests::wait_until;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// A deployment with a password in a property.
fn manifest(instances: u32) -> String {
    let small = Small {
        variables: "[{name: pw, type: password}]",
        instances,
        domain: "((pw))",
        ..Small::default()
    };
    small.manifest()
}

/// Creates the deployment `name` with a manifest, ops files and a value of the user, all in Secrets.
async fn deploy_from_secrets(tenant: &Tenant, name: &str, value: &str) {
    let scale = "- {type: replace, path: /instance_groups/name=web/instances, value: 3}\n";
    tenant.secret("private-manifest", "manifest", &manifest(1)).await;
    tenant.secret("private-ops", "ops", scale).await;
    tenant.secret("mine", "password", value).await;
    let mut deployment = tenant.object(name, &[]);
    deployment["spec"]["manifest"] = json!({"type": "secret", "name": "private-manifest"});
    deployment["spec"]["ops"] = json!([{"type": "secret", "name": "private-ops"}]);
    deployment["spec"]["vars"] = json!([{"name": "pw", "secret": "mine"}]);
    tenant.apply(deployment).await;
}

/// The values of a Secret.
async fn values(tenant: &Tenant, name: &str) -> Vec<String> {
    let secret = tenant.get("v1", "Secret", name).await.unwrap_or_default();
    let data = secret["data"].as_object().cloned().unwrap_or_default();
    let decode = |value: Value| serde_json::from_value::<ByteString>(value).unwrap().0;
    data.into_iter()
        .map(|(_, value)| String::from_utf8_lossy(&decode(value)).into_owned())
        .collect()
}

/// Whether a Secret of the deployment, such as the resolved manifest, contains this value.
async fn uses(tenant: &Tenant, deployment: &str, value: &str) -> bool {
    for name in tenant.names("v1", "Secret", deployment).await {
        if values(tenant, &name).await.iter().any(|text| text.contains(value)) {
            return true;
        }
    }
    false
}

async fn replicas(tenant: &Tenant, deployment: &str) -> Value {
    let set = tenant
        .get(OURS, "QuarksStatefulSet", &format!("{deployment}-web"))
        .await;
    set.unwrap_or_default()["spec"]["template"]["spec"]["replicas"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_of_one_namespace_share_nothing() {
    let operator = OperatorProcess::set("neighbors", false, &[]).await;
    let tenant = operator.tenant("shared");
    for name in ["one", "two"] {
        tenant.deploy(name, &manifest(1)).await;
    }
    deploy_from_secrets(&tenant, "private", "a value of the user").await;
    tenant.deploy("broken", "instance_groups: [{name: web}]\n").await;
    for name in ["one", "two", "private"] {
        tenant.wait_until_applied(name).await;
    }
    let broken = tenant
        .wait_for_deployment("broken", "an error", |deployment| is(deployment, "Converted", "False"))
        .await;
    let message = condition(&broken, "Converted").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("'web'"), "{message}");
    assert!(tenant.names(OURS, "QuarksStatefulSet", "broken").await.is_empty());

    // Each has its own password, and the user's value is used as it is.
    let (one, two) = (values(&tenant, "one.var-pw").await, values(&tenant, "two.var-pw").await);
    assert!(one.len() == 1 && one != two, "one password for two deployments");
    assert!(uses(&tenant, "one", &one[0]).await && !uses(&tenant, "two", &one[0]).await);
    assert!(uses(&tenant, "private", "a value of the user").await);
    assert!(tenant.get("v1", "Secret", "private.var-pw").await.is_none());
    assert_eq!(replicas(&tenant, "private").await, 3);

    // A change of one does not change another, also while one fails.
    let before = tenant.get(OURS, "QuarksStatefulSet", "two-web").await.unwrap();
    tenant.apply_manifest("one", &manifest(2)).await;
    tenant
        .wait_for_deployment("one", "a second instance", |deployment| {
            is(deployment, "Applied", "True")
        })
        .await;
    wait_until("the change", async || replicas(&tenant, "one").await == 2).await;
    tenant.delete(OURS, "BOSHDeployment", "one").await;
    tenant.secret("mine", "password", "another value").await;
    wait_until("the use of the new value", async || {
        uses(&tenant, "private", "another value").await
    })
    .await;
    let after = tenant.get(OURS, "QuarksStatefulSet", "two-web").await.unwrap();
    assert_eq!(after["metadata"]["generation"], before["metadata"]["generation"]);
    assert_eq!(values(&tenant, "two.var-pw").await, two);
}
