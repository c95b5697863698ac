//! How pods get the templates that they render: from ConfigMaps, or from containers of their release images where that
//! is not possible. No pod runs here.

use crate::objects::OURS;
use crate::operator_process::{OperatorProcess, Tenant, small_release_with};
use crate::small_deployment::Small;
use boson_tests::wait_until;
use serde_json::Value;

const LABEL: &str = "quarks.cloudfoundry.org/job-sources";
const PODS: &str = "/spec/template/spec/template/spec";
const SHORT: [&str; 1] = ["template-render"];
const LONG: [&str; 3] = ["container-run-copier", "spec-copier-demo", "template-render"];

/// Text that gzip makes only a quarter smaller.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'0' + u8::try_from((state >> 33) % 64).unwrap())
    };
    let line = |text: Vec<char>| text.into_iter().collect::<String>().replace(['<', '%'], "x") + "\n";
    let all: Vec<char> = std::iter::repeat_with(next).take(bytes).collect();
    all.chunks(100).map(|chunk| line(chunk.to_vec())).collect()
}

fn manifest(version: &str, small: Small<'_>) -> String {
    let wanted = format!(r#"{{name: demo, version: "{version}""#);
    small.manifest().replace(r#"{name: demo, version: "1""#, &wanted)
}

/// Names of the group's init containers, and of the ConfigMap that its pods mount.
async fn chain(tenant: &Tenant) -> (Vec<String>, Option<String>) {
    let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
    let pod = group.pointer(PODS).cloned().unwrap_or_default();
    let list = |key: &str| pod[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_string);
    let init = list("initContainers");
    let names = init.iter().filter_map(|one| text(&one["name"]));
    let volumes = list("volumes");
    let volume = volumes.iter().find(|volume| volume["name"] == "job-sources");
    let map = volume.and_then(|volume| text(&volume["configMap"]["name"]));
    (names.collect(), map)
}

async fn maps(tenant: &Tenant) -> Vec<String> {
    let all = tenant.list("v1", "ConfigMap").await;
    let ours = all.iter().filter(|map| map["metadata"]["labels"][LABEL] == "true");
    ours.filter_map(|map| map["metadata"]["name"].as_str().map(str::to_string))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_mount_their_job_sources_and_old_ones_are_deleted() {
    let operator = OperatorProcess::set("sources", false, &[]).await;
    let scratch = tempfile::tempdir().unwrap();
    for (version, text) in [("2", "new text".to_string()), ("3", noise(1_500_000))] {
        let at = scratch.path().join(version);
        small_release_with(&at, ["more", "config/more", &text]);
        let image = format!("demo:ubuntu-jammy-1.1-{version}");
        operator.registry.push_release(&image, &at).unwrap();
    }
    let tenant = operator.tenant("d");
    let change = async |version: &str, domain: &str| {
        let small = Small {
            domain,
            ..Small::default()
        };
        tenant.apply_manifest("d", &manifest(version, small)).await;
    };
    change("1", "example.com").await;
    tenant.deployment("d", &[]).await;
    tenant.wait_until_applied("d").await;
    let (names, first) = chain(&tenant).await;
    let first = first.expect("a ConfigMap");
    assert_eq!(names, SHORT);
    assert_eq!(maps(&tenant).await, std::slice::from_ref(&first));
    let map = tenant.get("v1", "ConfigMap", &first).await.unwrap();
    assert_eq!(map["immutable"], true);
    assert_eq!(map["metadata"]["ownerReferences"][0]["name"], "d");

    tenant.delete("v1", "ConfigMap", &first).await;
    wait_until("the deleted ConfigMap", async || {
        maps(&tenant).await == std::slice::from_ref(&first)
    })
    .await;

    // Other values, the same sources.
    change("1", "other.example.com").await;
    wait_until("the new values", async || {
        let group = tenant.get(OURS, "QuarksStatefulSet", "d-web").await.unwrap_or_default();
        group.to_string().contains("ig-resolved.web-v2")
    })
    .await;
    assert_eq!(chain(&tenant).await.1.as_ref(), Some(&first));

    change("2", "example.com").await;
    wait_until("new sources", async || {
        chain(&tenant).await.1.is_some_and(|now| now != first)
    })
    .await;
    // No pod is ever ready, so the older StatefulSets are deleted.
    wait_until("the end of older pods", async || {
        let sets = tenant.list("apps/v1", "StatefulSet").await;
        !sets.iter().any(|set| set.to_string().contains(&first))
    })
    .await;
    change("2", "third.example.com").await;
    wait_until("garbage collection", async || maps(&tenant).await.len() == 1).await;
    assert_ne!(maps(&tenant).await, [first]);

    // Too large for a ConfigMap.
    change("3", "example.com").await;
    wait_until("containers that copy", async || chain(&tenant).await.0 == LONG).await;
    assert_eq!(chain(&tenant).await.1, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_with_pre_render_scripts_copy_their_job_sources() {
    let operator = OperatorProcess::set("scripted", false, &[]).await;
    let tenant = operator.tenant("d");
    let small = Small {
        quarks: "pre_render_scripts: {jobs: ['true']}",
        ..Small::default()
    };
    tenant.deployed("d", &small.manifest()).await;
    let (names, map) = chain(&tenant).await;
    assert_eq!(
        (names[0].as_str(), &names[1..3]),
        ("logs", &LONG.map(String::from)[..2])
    );
    assert!(names.iter().any(|name| name == "pre-render-app"), "{names:?}");
    assert_eq!((map, maps(&tenant).await), (None, vec![]));
}
