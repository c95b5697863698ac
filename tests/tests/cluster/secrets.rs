//! The QuarksSecret controller from the user's view: against an API server, through its public interface.

use crate::objects::MONITORED;
use crate::operator_tasks::OperatorTasks;
use anyhow::ensure;
use boson_api::QuarksSecret;
use boson_cluster::namespaces::Namespaces;
use boson_tests::cluster::shared;
use boson_tests::{is_quiet, wait_for_value};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const CHAIN: &str = r"
{spec: {type: certificate, secretName: root, request: {certificate: {commonName: root, isCA: true, keyLength: 2048}}}, metadata: {name: root}}
---
{spec: {type: tls, secretName: leaf, request: {certificate: {commonName: leaf, keyLength: 2048, CARef: {name: root, key: certificate},
  CAKeyRef: {name: root, key: private_key}}}}, metadata: {name: leaf}}
---
{spec: {type: password, secretName: word}, metadata: {name: word}}
---
{spec: {type: basic-auth, secretName: login, request: {basic-auth: {username: admin}}}, metadata: {name: login}}
---
{spec: {type: templatedconfig, secretName: config, request: {templatedConfig: {type: helm, templates: {a.yml: 'p: {{ .Values.p | quote }}'},
  values: {p: {name: word, key: password}}}}}, metadata: {name: config}}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_secrets_is_generated_rotated_and_recreated() {
    let env = OperatorTasks::set("life").await;
    let operator = env.operator("one");
    let all = ["root", "leaf", "word", "login", "config"];
    env.apply(CHAIN).await;
    env.wait_until_ready(&all).await;
    let word = env.text("word", "password").await;
    assert_eq!(
        env.text("config", "a.yml").await,
        Some(format!("p: \"{}\"", word.unwrap()))
    );
    assert_eq!(env.text("login", "username").await.as_deref(), Some("admin"));
    assert_eq!(env.text("leaf", "ca").await, env.text("root", "certificate").await);

    env.is_idle().await;

    a_rotated_ca_signs_its_certificates_again(&env).await;
    // A deleted Secret is recreated.
    env.api::<Secret>()
        .delete("login", &DeleteParams::default())
        .await
        .unwrap();
    env.wait_for_change("login", "password", &None).await;

    a_secret_of_a_user_stays(&env).await;
    operator.stop().await;
}

/// Their keys stay.
async fn a_rotated_ca_signs_its_certificates_again(env: &OperatorTasks) {
    let (root, leaf, key, word) = (
        env.text("root", "private_key").await,
        env.text("leaf", "tls.crt").await,
        env.text("leaf", "tls.key").await,
        env.text("word", "password").await,
    );
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some("rotate".into()),
            labels: Some([("quarks.cloudfoundry.org/secret-rotation".to_string(), "yes".to_string())].into()),
            ..ObjectMeta::default()
        },
        data: Some([("secrets".to_string(), r#"["root", "word", "unknown"]"#.to_string())].into()),
        ..ConfigMap::default()
    };
    env.api::<ConfigMap>()
        .create(&PostParams::default(), &map)
        .await
        .unwrap();
    env.wait_for_change("root", "private_key", &root).await;
    env.wait_for_change("leaf", "tls.crt", &leaf).await;
    let new_word = env.wait_for_change("word", "password", &word).await.unwrap();
    env.wait_for_change("config", "a.yml", &Some(format!("p: \"{}\"", word.unwrap())))
        .await;
    assert_eq!(env.text("config", "a.yml").await, Some(format!("p: \"{new_word}\"")));
    assert_eq!(env.text("leaf", "tls.key").await, key);
    // The old CA is removed in the last step.
    wait_for_value("one CA", async || {
        let (trusted, root) = (env.text("leaf", "ca").await, env.text("root", "certificate").await);
        ensure!(trusted == root && env.text("root", "transitional.certificate").await.is_none());
        Ok(())
    })
    .await;
}

async fn a_secret_of_a_user_stays(env: &OperatorTasks) {
    let mine = Secret {
        metadata: ObjectMeta {
            name: Some("mine".into()),
            ..ObjectMeta::default()
        },
        string_data: Some([("password".to_string(), "CANARY".to_string())].into()),
        ..Secret::default()
    };
    env.api::<Secret>().create(&PostParams::default(), &mine).await.unwrap();
    env.apply("{spec: {type: password, secretName: mine}, metadata: {name: mine}}")
        .await;
    env.wait_until_ready(&["mine"]).await;
    assert_eq!(env.text("mine", "password").await.as_deref(), Some("CANARY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_secret_is_named_and_used_as_soon_as_it_exists() {
    let env = OperatorTasks::set("missing").await;
    let operator = env.operator("one");
    let (root, leaf) = CHAIN
        .split_once("---")
        .map(|(root, rest)| (root, rest.split("---").next().unwrap()))
        .unwrap();
    env.apply(leaf).await;
    env.wait_for_object("leaf", "the reason", |object: &QuarksSecret| {
        let status = object.status.clone().unwrap_or_default();
        status
            .conditions
            .iter()
            .any(|condition| condition.message == "there is no Secret 'root'")
    })
    .await;
    env.apply(root).await;
    env.wait_until_ready(&["root", "leaf"]).await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_operators_at_once_and_kills_regenerate_nothing() {
    let env = OperatorTasks::set("kills").await;
    let names: Vec<String> = (0..20).map(|number| format!("p{number}")).collect();
    let texts: Vec<String> = names
        .iter()
        .map(|name| format!("{{spec: {{type: password, secretName: {name}}}, metadata: {{name: {name}}}}}"))
        .collect();
    let mut first_versions: BTreeMap<String, Secret> = BTreeMap::new();
    let (one, other) = (env.operator("one"), env.operator("other"));
    env.apply(&texts.join("\n---\n")).await;
    let mut operators = vec![one, other];
    for round in 0..6 {
        tokio::time::sleep(Duration::from_millis(50 + 40 * round)).await;
        for (name, secret) in env.values().await {
            let before = first_versions.entry(name.clone()).or_insert_with(|| secret.clone());
            assert_eq!(before.data, secret.data, "{name} has another value");
        }
        operators.remove(0).kill().await;
        operators.push(env.operator(&format!("next-{round}")));
    }
    env.wait_until_ready(&names.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    for (name, secret) in env.values().await {
        let before = first_versions.entry(name.clone()).or_insert_with(|| secret.clone());
        assert_eq!(before.data, secret.data, "{name} has another value");
    }
    assert_eq!(first_versions.len(), names.len());
    for operator in operators {
        operator.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_written_to_consenting_namespaces_and_updated() {
    let (env, target) = (OperatorTasks::set("from").await, OperatorTasks::set("to").await);
    let operator = env.operator("one");
    let to = &target.namespace;
    let original = format!(
        "{{spec: {{type: password, secretName: s, copies: [{{name: s, namespace: {to}}}]}}, metadata: {{name: shared}}}}"
    );
    env.apply(&original).await;
    env.wait_for_object("shared", "no copy", |object: &QuarksSecret| {
        object
            .status
            .as_ref()
            .is_some_and(|status| status.copied == Some(false))
    })
    .await;
    assert_eq!(target.text("s", "password").await, None);

    let placeholder = Secret {
        metadata: ObjectMeta {
            name: Some("s".into()),
            annotations: Some(
                [(
                    "quarks.cloudfoundry.org/secret-copy-of".to_string(),
                    format!("{}/shared", env.namespace),
                )]
                .into(),
            ),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".into()),
        ..Secret::default()
    };
    target
        .api::<Secret>()
        .create(&PostParams::default(), &placeholder)
        .await
        .unwrap();
    // This operator does not serve the other namespace: it notices the consent at the next reconcile of the original.
    let poke = json!({"metadata": {"labels": {"poke": "1"}}});
    env.api::<QuarksSecret>()
        .patch("shared", &PatchParams::default(), &Patch::Merge(poke))
        .await
        .unwrap();
    let copy = target.wait_for_change("s", "password", &None).await;
    assert_eq!(copy, env.text("s", "password").await);

    // Without copies there is nothing to report about them, and the condition is set once.
    env.apply("{spec: {type: password, secretName: s}, metadata: {name: shared}}")
        .await;
    env.wait_for_object("shared", "no copies", |object: &QuarksSecret| {
        let status = object.status.as_ref();
        status.is_some_and(|status| status.copied.is_none() && status.conditions.len() == 1)
    })
    .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named_in_the_condition() {
    let env = OperatorTasks::set("rights").await;
    let rules = json!([
        {"apiGroups": ["quarks.cloudfoundry.org"], "resources": ["quarkssecrets", "quarkssecrets/status"], "verbs": ["*"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
    ]);
    let role = json!({"metadata": {"name": "weak"}, "rules": rules});
    let subjects = json!([{"kind": "User", "name": "weak", "apiGroup": "rbac.authorization.k8s.io"}]);
    let role_ref = json!({"kind": "Role", "name": "weak", "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": "weak"}, "subjects": subjects, "roleRef": role_ref});
    let now = PostParams::default();
    let (role, binding): (Role, RoleBinding) = (
        serde_json::from_value(role).unwrap(),
        serde_json::from_value(binding).unwrap(),
    );
    env.api::<Role>().create(&now, &role).await.unwrap();
    env.api::<RoleBinding>().create(&now, &binding).await.unwrap();

    let file = Kubeconfig::read_from(shared().unwrap().kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.auth_info.impersonate = Some("weak".into());
    let operator = env.operator_through(Client::try_from(config).unwrap(), "weak");
    env.apply("{spec: {type: password, secretName: s}, metadata: {name: s}}")
        .await;
    let expected =
        "the operator may not get secrets: the ClusterRole 'boson' has no such rule, or is not bound in this namespace";
    env.wait_for_object("s", "the reason", |object: &QuarksSecret| {
        let status = object.status.clone().unwrap_or_default();
        status.conditions.iter().any(|condition| condition.message == expected)
    })
    .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_is_served_once_it_has_the_label() {
    let env = OperatorTasks::set("label").await;
    let id = env.namespace.clone();
    let operator = env.operator_for(env.client.clone(), Namespaces::Monitored(id.clone()), "one");
    env.apply("{spec: {type: password, secretName: s}, metadata: {name: s}}")
        .await;
    is_quiet("a namespace without the label", &None, env.text("s", "password")).await;
    shared()
        .unwrap()
        .label_namespace(&env.namespace, MONITORED, &id)
        .unwrap();
    env.wait_until_ready(&["s"]).await;
    operator.stop().await;
}
