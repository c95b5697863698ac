//! Objects of a custom resource that an administrator allows. The operator is installed as `deploy/listed` does it, and
//! never restarted: not when the definition is created, and not when the documented RBAC rules are added.

use crate::installed::Installed;
use crate::objects::condition;
use crate::operator::example_of;
use crate::plugin_objects::plugin_of;
use crate::shared_cluster::documents;
use anyhow::{Context, Result, ensure};
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::{Operator, shared};
use boson_tests::{host, root};
use serde_json::{Value, json};
use std::fs;

const KIND: &str = "external-secrets.io/v1alpha1/PushSecret";
const OBJECT: &str = "pushsecrets.external-secrets.io/nats.var-broker-password";

/// As much of the kind as the test needs.
fn definition(group: &str, [plural, kind, scope]: [&str; 3]) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let spec = json!({"type": "object", "properties": {"refreshInterval": {"type": "string"}, "selector": open}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope, "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}],
        },
    })
}

/// Applies objects that are in no namespace, or name theirs.
fn apply(objects: &[Value]) -> Result<()> {
    shared()?.apply("", objects)
}

fn define(group: &str, names: [&str; 3]) -> Result<()> {
    apply(&[definition(group, names)])?;
    shared()?.wait_until_established()
}

/// The RBAC rules of docs/plugins.md, for this installation.
fn documented_rules(it: &Installed) -> Result<Vec<Value>> {
    let page = fs::read_to_string(root().join("docs/plugins.md"))?;
    let mut blocks = page.split("```yaml\n").filter_map(|part| part.split("```").next());
    let block = blocks.find(|block| block.contains("boson-push-secrets"));
    let mut objects = documents(block.context("the page has no such rules")?);
    ensure!(objects.len() == 2, "a role and its binding: {objects:#?}");
    objects[1]["metadata"]["namespace"] = it.namespaces[0].clone().into();
    objects[1]["subjects"][0]["namespace"] = it.system.clone().into();
    Ok(objects)
}

/// Packs the plugin, and creates or deletes its ConfigMaps.
fn plugin(it: &Installed, verb: &[&str], namespace: &str) -> Result<()> {
    let object = json!({
        "apiVersion": "external-secrets.io/v1alpha1", "kind": "PushSecret", "metadata": {"name": "nats.var-broker-password"},
        "spec": {"refreshInterval": "1h", "selector": {"secret": {"name": "nats.var-broker-password"}}},
    });
    let files = it.operator.files();
    fs::write(files.join("push.wasm"), plugin_of("push", &[object]))?;
    let packed = host(files, ["plugin", "pack", "resources", "push.wasm", "--name", "push"])?;
    ensure!(packed.code == 0, "{}", packed.stderr);
    let arguments = [&["--namespace", namespace], verb, &["--filename=-"]].concat();
    let answer = it.cluster.try_kubectl(&arguments, &packed.stdout)?;
    ensure!(answer.success, "{}", answer.stderr);
    Ok(())
}

const ADD: &[&str] = &["apply", "--server-side"];

fn deploy(it: &Installed) -> Result<()> {
    it.apply_all(&example_of(&it.registry, &[])?)
}

/// Waits until the deployment reports this reason with this text.
fn wait_for_reason(it: &Installed, reason: &str, text: &str) -> Result<()> {
    it.wait_until(&format!("{reason}: {text}"), || {
        let status = it.get("boshdeployment/nats")?["status"].clone();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let mut conditions = conditions.filter(|one| one["status"] == "False");
        let has_reason = conditions.any(|one| one["reason"] == reason);
        Ok(has_reason && status["message"].as_str().is_some_and(|message| message.contains(text)))
    })
}

fn wait_until_applied(it: &Installed) -> Result<()> {
    it.wait_until("Applied", || {
        let deployment = it.get("boshdeployment/nats")?;
        Ok(condition(&deployment, "Applied").is_some_and(|one| one["status"] == "True"))
    })
}

/// The operator, with the kind allowed to the plugin of its own namespace, and a deployment.
fn scene() -> Result<Installed> {
    let mut it = Installed::with_rules("additional", |_, _| true)?;
    it.operator.kill();
    it.operator
        .set("BOSON_ALLOWED_KINDS", Some(format!("push:{KIND}").into()));
    it.start(false)?;
    deploy(&it)?;
    wait_until_applied(&it)?;
    Ok(it)
}

#[test]
fn an_allowed_custom_resource_is_applied_owned_and_deleted_once_it_is_defined_and_permitted() {
    let it = scene().unwrap();
    let (own, here) = (it.system.clone(), it.namespaces[0].clone());

    // The users of the namespace chose this name: the permission is not theirs.
    plugin(&it, ADD, &here).unwrap();
    let help = format!("--allow-kind {here}/push:{KIND}");
    wait_for_reason(&it, "BundleKindNotAllowed", &help).unwrap();
    plugin(&it, &["delete"], &here).unwrap();
    wait_until_applied(&it).unwrap();

    plugin(&it, ADD, &own).unwrap();
    let missing = "PushSecret 'nats.var-broker-password': the API server does not know this kind";
    wait_for_reason(&it, "DeploymentKindUnavailable", missing).unwrap();
    define("external-secrets.io", ["pushsecrets", "PushSecret", "Namespaced"]).unwrap();
    let forbidden = "the operator may not list pushsecrets.external-secrets.io";
    wait_for_reason(&it, "DeploymentKindUnavailable", forbidden).unwrap();
    apply(&documented_rules(&it).unwrap()).unwrap();
    wait_until_applied(&it).unwrap();

    let object = it.get(OBJECT).unwrap();
    let uid = it.uid("boshdeployment/nats").unwrap();
    assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], uid, "{object:#}");
    assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/managed-by"], "boson");

    let change = json!({"spec": {"refreshInterval": "1s"}}).to_string();
    it.kubectl(&["patch", OBJECT, "--type=merge", "--patch", &change])
        .unwrap();
    it.wait_until("the change to be reverted", || {
        Ok(it.get(OBJECT)?["spec"]["refreshInterval"] == "1h")
    })
    .unwrap();
    let before = it.uid(OBJECT).unwrap();
    it.kubectl(&["delete", OBJECT]).unwrap();
    it.wait_until("a new object", || {
        let now = it.uid(OBJECT)?;
        Ok(!now.is_empty() && now != before)
    })
    .unwrap();

    plugin(&it, &["delete"], &own).unwrap();
    it.wait_until_there(OBJECT, false).unwrap();
    plugin(&it, ADD, &own).unwrap();
    it.wait_until_there(OBJECT, true).unwrap();
    it.kubectl(&["delete", "boshdeployment/nats"]).unwrap();
    it.wait_until_there(OBJECT, false).unwrap();
}

#[test]
fn the_operator_does_not_start_with_a_kind_that_has_no_namespace() {
    let cluster = shared().unwrap();
    define("scopes.example.com", ["everywheres", "Everywhere", "Cluster"]).unwrap();
    let namespace = cluster.namespace("cluster-scoped").unwrap();
    let operator = Operator::new(cluster, &namespace).unwrap();
    let mut operator = operator.arguments(["--allow-kind", "scopes.example.com/v1alpha1/Everywhere"]);
    operator.start().unwrap();
    let wanted = "--allow-kind scopes.example.com/v1alpha1/Everywhere: objects of this kind are in no namespace";
    let said = || Ok(operator.log().contains(wanted));
    operator
        .wait_until("the reason", WAIT_TIMEOUT, said, String::new)
        .unwrap();
}
