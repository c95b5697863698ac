//! What the operator writes onto pods: labels with their ordinal and the version of their deployment, and the
//! annotation that starts post-deploy scripts. And tags, which are annotations of all objects. No pod runs here.

use crate::operator_process::{OperatorProcess, Tenant, small_release_with};
use crate::small_deployment::Small;
use anyhow::ensure;
use boson_tests::wait_for_value;
use serde_json::Value;

const ORDINAL: &str = "quarks.cloudfoundry.org/pod-ordinal";
const VERSION: &str = "quarks.cloudfoundry.org/deployment-version";
const POST_DEPLOY: &str = "quarks.cloudfoundry.org/post-deploy";

fn manifest(domain: &str) -> String {
    let small = Small {
        variables: "[{name: word, type: password}]",
        instances: 2,
        group: "tags: {tier: front}",
        domain,
        ..Small::default()
    };
    let manifest = small
        .manifest()
        .replace(r#"{name: demo, version: "1""#, r#"{name: demo, version: "2""#);
    format!("tags: {{team: blue}}\n{manifest}")
}

/// Name, ordinal, version and post-deploy annotation of each pod.
async fn pods(tenant: &Tenant) -> Vec<String> {
    let mut pods = Vec::new();
    for pod in tenant.list("v1", "Pod").await {
        let metadata = &pod["metadata"];
        if metadata["deletionTimestamp"].is_null() {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
            pods.push(format!(
                "{} {} {} {}",
                text(&metadata["name"]),
                text(&metadata["labels"][ORDINAL]),
                text(&metadata["labels"][VERSION]),
                text(&metadata["annotations"][POST_DEPLOY])
            ));
        }
    }
    pods.sort();
    pods
}

/// Waits for these pods, with the work of kubelets if they are to get ready.
async fn wait_for_pods(tenant: &Tenant, ready: bool, wanted: &[&str]) {
    wait_for_value(&format!("{wanted:#?}"), async || {
        if ready {
            tenant.pods_are_ready().await;
        }
        let found = pods(tenant).await;
        let groups = tenant
            .list("quarks.cloudfoundry.org/v1alpha1", "QuarksStatefulSet")
            .await;
        ensure!(found == wanted, "{found:#?} {groups:#?}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_get_labels_and_the_annotation_of_their_deployment_and_everything_gets_its_tags() {
    let operator = OperatorProcess::set("marked", false, &[]).await;
    let scratch = tempfile::tempdir().unwrap();
    let script = ["post-deploy", "bin/post-deploy", "#!/bin/bash\n"];
    small_release_with(scratch.path(), script);
    operator
        .registry
        .push_release("demo:ubuntu-jammy-1.1-2", scratch.path())
        .unwrap();
    let tenant = operator.tenant("pods");
    tenant.deploy("d", &manifest("example.com")).await;
    wait_for_pods(&tenant, false, &["d-web-v1-0 0 1 -", "d-web-v1-1 1 1 -"]).await;
    wait_for_pods(&tenant, true, &["d-web-v1-0 0 1 1", "d-web-v1-1 1 1 1"]).await;
    tenant
        .wait_for_deployment("d", "the version in the status", |deployment| {
            deployment["status"]["postDeploy"] == "1"
        })
        .await;
    tags(&tenant).await;

    // Another pod of the same version is no change of the deployment.
    tenant.delete("v1", "Pod", "d-web-v1-1").await;
    wait_for_pods(&tenant, true, &["d-web-v1-0 0 1 1", "d-web-v1-1 1 1 -"]).await;

    tenant.apply_manifest("d", &manifest("example.org")).await;
    wait_for_pods(&tenant, true, &["d-web-v2-0 0 2 2", "d-web-v2-1 1 2 2"]).await;
}

async fn tags(tenant: &Tenant) {
    for (name, of_group) in [
        ("d.with-ops", false),
        ("d.desired-manifest-v1", false),
        ("d.ig-resolved.web-v1", true),
        ("d.bpm.web-v1", true),
        ("d.var-word", false),
    ] {
        let secret = tenant.get("v1", "Secret", name).await.unwrap_or_default();
        let annotations = &secret["metadata"]["annotations"];
        assert_eq!(annotations["team"], "blue", "{name}: {annotations:#}");
        assert_eq!(annotations["tier"] == "front", of_group, "{name}: {annotations:#}");
    }
    for (api_version, kind) in [("v1", "Service"), ("v1", "Pod"), ("apps/v1", "StatefulSet")] {
        for object in tenant.list(api_version, kind).await {
            let annotations = &object["metadata"]["annotations"];
            assert_eq!(annotations["team"], "blue", "{kind}: {annotations:#}");
        }
    }
}
