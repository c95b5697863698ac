//! Mistakes in links: each is reported with the object and the key, nothing of it is applied, and it disappears once it
//! is fixed.

use crate::links::{BROKER, annotations, create, deployed, pod, wait_until_created};
use crate::native_links::{Consumer, GROUP, MANIFEST, secret, set};
use crate::objects::{OURS, condition, config_map};
use boson_tests::{root, wait_until_ok};
use serde_json::{Value, json};
use std::fs;

/// A wrong object, the reason of the condition, and what its message says.
struct Mistake {
    object: Value,
    reason: &'static str,
    words: &'static [&'static str],
}

/// An object that provides the link `other` to the deployment, with these other members.
fn other(kind: &str, provides: &str, more: Value) -> Value {
    let annotations = json!({format!("{GROUP}/deployment-name"): "d", format!("{GROUP}/provides"): provides});
    let mut object =
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "wrong", "annotations": annotations}});
    let members = more.as_object().cloned().unwrap_or_default();
    object.as_object_mut().unwrap().extend(members);
    object
}

fn mistakes() -> Vec<Mistake> {
    const OTHER: &str = r#"{"name":"other","type":"other"}"#;
    let data = |key: &str, value: &str| json!({"data": {key: value}});
    let mut json_value = other("Secret", OTHER, data("port", "bm90LXNob3duOg=="));
    json_value["metadata"]["annotations"][format!("{GROUP}/json-value")] = "true".into();
    vec![
        Mistake {
            object: other("Secret", r#"{"name":"other""#, data("a", "YQ==")),
            reason: "NativeLinkAnnotation",
            words: &["Secret 'wrong'", "quarks.cloudfoundry.org/provides", "is not JSON"],
        },
        Mistake {
            object: other("Secret", r#"{"name":"other"}"#, data("a", "YQ==")),
            reason: "NativeLinkAnnotation",
            words: &[
                "Secret 'wrong'",
                "quarks.cloudfoundry.org/provides",
                "has no member 'type'",
            ],
        },
        Mistake {
            object: other("Secret", OTHER, json!({})),
            reason: "NativeLinkNoData",
            words: &["Secret 'wrong'", "has no data"],
        },
        Mistake {
            object: other(
                "Secret",
                OTHER,
                json!({"data": {"nats": "YQ==", "nats.password": "YQ=="}}),
            ),
            reason: "NativeLinkKey",
            words: &["Secret 'wrong'", "'nats.password'"],
        },
        Mistake {
            object: other("Secret", OTHER, data("password", "/w==")),
            reason: "NativeLinkValue",
            words: &["Secret 'wrong'", "'password'", "is not UTF-8 text"],
        },
        Mistake {
            object: json_value,
            reason: "NativeLinkValue",
            words: &["Secret 'wrong'", "'port'", "is not JSON"],
        },
        Mistake {
            object: other("Service", OTHER, json!({"spec": {"ports": [{"port": 4222}]}})),
            reason: "NativeLinkNoEndpoints",
            words: &["Service 'wrong'", "neither a selector nor endpoints"],
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_native_objects_name_object_and_key_and_change_nothing() {
    let operator = set("link-mistakes").await;
    let consumer = Consumer::new(&operator, "mistakes").await;
    let tenant = &consumer.tenant;
    tenant.apply(secret("nats-secret", "not-shown", json!({}))).await;
    tenant.deployment("d", &[]).await;
    consumer.wait_for_link("the link", |link| !link.is_null()).await;
    let before = consumer.workload("client").await;
    for Mistake { object, reason, words } in mistakes() {
        let kind = object["kind"].as_str().unwrap().to_string();
        tenant.apply(object).await;
        let message = consumer.wait_for_failure(reason).await;
        for word in words {
            assert!(message.contains(word), "{reason}: {message}");
        }
        assert!(!message.contains("not-shown"), "{message}");
        assert_eq!(consumer.workload("client").await, before, "{reason}");
        tenant.delete("v1", &kind, "wrong").await;
        tenant.wait_until_applied("d").await;
    }

    // The wrong type, and the right link in the namespace of another tenant.
    let elsewhere = operator.tenant("elsewhere");
    elsewhere.apply(secret("nats-secret", "not-shown", json!({}))).await;
    let wrong_type = json!({format!("{GROUP}/provides"): r#"{"name":"nats","type":"sql"}"#});
    tenant.apply(secret("nats-secret", "not-shown", wrong_type)).await;
    let message = consumer.wait_for_failure("LinksUnresolved").await;
    assert!(message.contains("link 'nats' with type 'nats'"), "{message}");
    assert_eq!(consumer.workload("client").await, before);

    // A deployment of another tenant is not one of this namespace.
    elsewhere.deployment("p", &[]).await;
    let named = "{name: client, release: native, consumes: {nats: {from: main, deployment: p}}}";
    let manifest = MANIFEST.replace("{name: client, release: native}", named);
    tenant.apply_manifest("d", &manifest).await;
    let message = consumer.wait_for_failure("LinksUnknownDeployment").await;
    assert!(
        message.contains("from deployment 'p', but the deployment does not exist"),
        "{message}"
    );
    assert_eq!(consumer.workload("client").await, before);
    tenant.delete(OURS, "BOSHDeployment", "d").await;
}

/// A deployment with the link of a job of the fixture `keys`.
fn keys(job: &str, properties: &str) -> String {
    format!(
        r#"releases: [{{name: demo, version: "1", url: registry.example.com/demo}}]
stemcells: [{{alias: default, os: ubuntu-jammy, version: "1.1"}}]
instance_groups:
- name: one
  instances: 1
  stemcell: default
  jobs: [{{name: {job}, release: demo, properties: {properties}}}]
"#
    )
}

#[test]
fn links_that_a_pod_or_a_secret_cannot_hold_are_refused_with_their_keys() {
    let env = deployed("link-keys", "link-keys-none");
    let release = root().join("tests/fixtures/releases/keys");
    env.registry.push_release("demo:ubuntu-jammy-1.1-1", &release).unwrap();
    let mut deployment = env.deployment(&[]);
    deployment["metadata"]["name"] = "keys".into();
    deployment["spec"]["manifest"]["name"] = "keys-manifest".into();
    env.apply(&[
        config_map("keys-manifest", "manifest", &keys("twins", "{a: {b: one}, a_b: two}")),
        deployment,
    ])
    .unwrap();
    let link = "secret/link-keys-twins-twins";
    wait_until_ok("the link", || Ok(env.get(link).is_ok()));
    wait_until_created(&env, &pod("first", &annotations("nats", BROKER)));
    let twins = annotations("keys", r#"[{"name": "twins", "type": "twins"}]"#);
    let answer = create(&env, &env.namespace, &pod("twins", &twins));
    assert!(!answer.success && answer.stderr.contains("is invalid"), "{answer:?}");
    let words = "key 'a.b' of the link 'twins' of type 'twins' and key 'a_b' of the link 'twins' of type 'twins' both \
                 become the variable LINK_A_B";
    assert!(answer.stderr.contains(words), "{answer:?}");
    assert!(env.get("pod/twins").is_err());

    // A link above the limit of a Secret: the one that exists stays.
    let before = env.get(link).unwrap()["metadata"]["resourceVersion"].clone();
    let large = fs::read_to_string(root().join("tests/golden/links/secret-too-large/manifest.yml")).unwrap();
    env.apply(&[config_map("keys-manifest", "manifest", &large)]).unwrap();
    wait_until_ok("the error", || {
        let keys = env.get("boshdeployment/keys")?;
        let message = |kind: &str| condition(&keys, kind).and_then(|one| one["message"].as_str());
        let messages: Vec<&str> = ["Converted", "Applied"].into_iter().filter_map(message).collect();
        Ok(messages.iter().any(|message| {
            message.contains("convert-link-invalid")
                && message.contains("Secret 'link-keys-server-server'")
                && message.contains("'port.d' has 1436331 of them")
        }))
    });
    assert_eq!(env.get(link).unwrap()["metadata"]["resourceVersion"], before);
    assert!(env.get("secret/link-keys-server-server").is_err());
}
