//! Several deployments in one namespace: each has its own objects and values, and none affects the others.

use crate::desk::{Desk, Room, condition, is};
use crate::small::Small;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

const OURS: &str = "quarks.cloudfoundry.org/v1alpha1";

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
async fn deploy_from_secrets(room: &Room, name: &str, value: &str) {
    let scale = "- {type: replace, path: /instance_groups/name=web/instances, value: 3}\n";
    room.secret("private-manifest", "manifest", &manifest(1)).await;
    room.secret("private-ops", "ops", scale).await;
    room.secret("mine", "password", value).await;
    let spec = json!({
        "manifest": {"type": "secret", "name": "private-manifest"},
        "ops": [{"type": "secret", "name": "private-ops"}],
        "vars": [{"name": "pw", "secret": "mine"}],
        "conversion": {"mode": "InProcess", "registry": format!("{}/bosh", room.registry)}
    });
    room.apply(json!({"apiVersion": OURS, "kind": "BOSHDeployment", "metadata": {"name": name}, "spec": spec}))
        .await;
}

/// The values of a Secret.
async fn values(room: &Room, name: &str) -> Vec<String> {
    let secret = room.get("v1", "Secret", name).await.unwrap_or_default();
    let data = secret["data"].as_object().cloned().unwrap_or_default();
    let decode = |value: Value| serde_json::from_value::<ByteString>(value).unwrap().0;
    data.into_iter()
        .map(|(_, value)| String::from_utf8_lossy(&decode(value)).into_owned())
        .collect()
}

/// Whether a Secret of the deployment, such as the resolved manifest, contains this value.
async fn uses(room: &Room, deployment: &str, value: &str) -> bool {
    for name in room.names("v1", "Secret", deployment).await {
        if values(room, &name).await.iter().any(|text| text.contains(value)) {
            return true;
        }
    }
    false
}

async fn replicas(room: &Room, deployment: &str) -> Value {
    let set = room.get(OURS, "QuarksStatefulSet", &format!("{deployment}-web")).await;
    set.unwrap_or_default()["spec"]["template"]["spec"]["replicas"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_of_one_namespace_share_nothing() {
    let desk = Desk::set("neighbors", false, &[]).await;
    let room = desk.room("shared");
    for name in ["one", "two"] {
        room.config_map(&format!("{name}-manifest"), "manifest", &manifest(1))
            .await;
        room.deployment(name, &[]).await;
    }
    deploy_from_secrets(&room, "private", "a value of the user").await;
    room.config_map("broken-manifest", "manifest", "instance_groups: [{name: web}]\n")
        .await;
    room.deployment("broken", &[]).await;
    for name in ["one", "two", "private"] {
        room.applied(name).await;
    }
    let broken = room
        .until("broken", "an error", |deployment| is(deployment, "Converted", "False"))
        .await;
    let message = condition(&broken, "Converted").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("'web'"), "{message}");
    assert!(room.names(OURS, "QuarksStatefulSet", "broken").await.is_empty());

    // Each has its own password, and the user's value is used as it is.
    let (one, two) = (values(&room, "one.var-pw").await, values(&room, "two.var-pw").await);
    assert!(one.len() == 1 && one != two, "one password for two deployments");
    assert!(uses(&room, "one", &one[0]).await && !uses(&room, "two", &one[0]).await);
    assert!(uses(&room, "private", "a value of the user").await);
    assert!(room.get("v1", "Secret", "private.var-pw").await.is_none());
    assert_eq!(replicas(&room, "private").await, 3);

    // A change of one does not change another, also while one fails.
    let before = room.get(OURS, "QuarksStatefulSet", "two-web").await.unwrap();
    room.config_map("one-manifest", "manifest", &manifest(2)).await;
    room.until("one", "a second instance", |deployment| {
        is(deployment, "Applied", "True")
    })
    .await;
    let began = std::time::Instant::now();
    while replicas(&room, "one").await != 2 {
        assert!(began.elapsed() < crate::desk::PATIENCE, "the change is not applied");
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
    room.delete(OURS, "BOSHDeployment", "one").await;
    room.secret("mine", "password", "another value").await;
    let began = std::time::Instant::now();
    while !uses(&room, "private", "another value").await {
        assert!(began.elapsed() < crate::desk::PATIENCE, "the new value is not used");
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
    let after = room.get(OURS, "QuarksStatefulSet", "two-web").await.unwrap();
    assert_eq!(after["metadata"]["generation"], before["metadata"]["generation"]);
    assert_eq!(values(&room, "two.var-pw").await, two);
}
