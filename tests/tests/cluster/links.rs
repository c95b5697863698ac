//! Links for pods that are not part of a deployment: the Secrets of links, the webhook that gives them to pods, and the
//! rollout of the workloads that consume them.

use crate::objects::config_map;
use crate::operator::Environment;
use boson_tests::cluster::{Answer, shared};
use boson_tests::ports::free_port;
use boson_tests::{quiet, wait_until_ok};
use serde_json::{Value, json};

const CONSUMES: &str = "quarks.cloudfoundry.org/consumes";
const DEPLOYMENT: &str = "quarks.cloudfoundry.org/deployment";
pub const DIGEST: &str = "quarks.cloudfoundry.org/links-digest";
pub const BROKER: &str = r#"[{"name": "main-broker", "type": "broker"}]"#;
const GATEWAY: &str = r#"[{"name": "gateway", "type": "gateway"}]"#;

/// An environment whose operator gives links to pods, here and in another namespace.
fn env(name: &str, other: &str) -> Environment {
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let url = format!("https://{address}");
    let arguments = [
        "--webhook-listen",
        &address,
        "--webhook-url",
        &url,
        "--pod-links",
        "--namespace",
        other,
    ];
    Environment::with(name, &arguments).unwrap()
}

/// An environment with the example, converted.
pub fn deployed(name: &str, other: &str) -> Environment {
    let env = env(name, other);
    env.deploy().unwrap();
    env.wait_until_applied().unwrap();
    let configuration = format!("mutatingwebhookconfiguration/boson.{}", env.namespace);
    wait_until_ok("the webhook", || Ok(env.get(&configuration).is_ok()));
    env
}

pub fn pod_spec() -> Value {
    json!({
        "initContainers": [{"name": "init", "image": "example.com/image"}],
        "containers": [{"name": "main", "image": "example.com/image"}],
    })
}

pub fn annotations(deployment: &str, consumes: &str) -> Value {
    json!({DEPLOYMENT: deployment, CONSUMES: consumes})
}

/// A Deployment whose pods consume the link of the broker, and have the label `app` with its name.
pub fn consumer(name: &str, deployment: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels, "annotations": annotations(deployment, BROKER)}, "spec": pod_spec()}}
    })
}

pub fn pod(name: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": pod_spec()})
}

pub fn create(env: &Environment, namespace: &str, object: &Value) -> Answer {
    let arguments = ["--namespace", namespace, "create", "--filename=-"];
    env.cluster.try_kubectl(arguments, &object.to_string()).unwrap()
}

/// Creates a pod that asks for links, as soon as API servers use the webhook.
pub fn wait_until_created(env: &Environment, object: &Value) {
    wait_until_ok("an answer of the webhook", || {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let created = env.cluster.create(&env.namespace, object).is_ok();
        let is_changed = created && env.get(&format!("pod/{name}"))?["metadata"]["annotations"][DIGEST].is_string();
        if created && !is_changed {
            env.kubectl(&["delete", &format!("pod/{name}"), "--wait=false", "--force"])?;
        }
        Ok(is_changed)
    });
}

pub fn generation(env: &Environment, what: &str) -> i64 {
    env.get(what).unwrap()["metadata"]["generation"].as_i64().unwrap()
}

pub fn digest(env: &Environment, what: &str) -> Value {
    env.get(what).unwrap()["spec"]["template"]["metadata"]["annotations"][DIGEST].clone()
}

/// An ops file that sets the user of the broker, which is a property of its link.
pub fn user(name: &str) -> Value {
    let path = "/instance_groups/name=broker/jobs/name=broker/properties/broker/user";
    config_map(
        "more",
        "ops",
        &format!("- {{type: replace, path: {path}, value: {name}}}\n"),
    )
}

fn links(env: &Environment) -> Vec<String> {
    let mut names = env.names("secret").unwrap();
    names.retain(|name| name.starts_with("link-"));
    names
}

#[test]
fn links_become_secrets_that_follow_the_deployment() {
    let env = env("link-secrets", "link-secrets-none");
    env.apply(&[user("first")]).unwrap();
    env.deploy_as(env.deployment(&["nats-scale", "more"])).unwrap();
    env.wait_until_applied().unwrap();
    let secret = env.get("secret/link-nats-broker-main-broker").unwrap();
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["broker.password", "broker.port", "broker.tls.ca", "broker.user"]);
    assert_eq!(env.decoded(&secret["data"]["broker.port"]).unwrap(), "4222");
    assert_eq!(env.decoded(&secret["data"]["broker.user"]).unwrap(), "first");
    let password = &env.get("secret/nats.var-broker-password").unwrap()["data"]["password"];
    assert_eq!(&secret["data"]["broker.password"], password);
    let owner = &secret["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"]),
        (&json!("BOSHDeployment"), &json!("nats"))
    );
    assert_eq!(
        links(&env),
        ["link-nats-broker-main-broker", "link-nats-gateway-gateway"]
    );

    // A change of a property, a deleted Secret, and a changed one.
    env.apply(&[user("second")]).unwrap();
    let read = |env: &Environment, key: &str| {
        let secret = env.get("secret/link-nats-broker-main-broker")?;
        env.decoded(&secret["data"][key])
    };
    wait_until_ok("the new user", || Ok(read(&env, "broker.user")? == "second"));
    env.kubectl(&["delete", "secret/link-nats-broker-main-broker"]).unwrap();
    wait_until_ok("the deleted Secret", || Ok(read(&env, "broker.user")? == "second"));
    let patch = r#"--patch={"stringData": {"broker.user": "wrong"}}"#;
    env.kubectl(&["patch", "secret/link-nats-broker-main-broker", patch])
        .unwrap();
    wait_until_ok("the right value", || Ok(read(&env, "broker.user")? == "second"));

    the_secret_of_another_name_is_obsolete(env);
}

/// A restart writes nothing.
fn the_secret_of_another_name_is_obsolete(mut env: Environment) {
    let rename = "- {type: replace, path: /instance_groups/name=gateway/jobs/name=gateway/provides?, value: {gateway: {as: door}}}\n\
                  - {type: remove, path: /instance_groups/name=broker/jobs/name=broker/consumes/watcher}\n";
    env.apply(&[config_map("more", "ops", rename)]).unwrap();
    wait_until_ok("another name", || {
        Ok(links(&env) == ["link-nats-broker-main-broker", "link-nats-gateway-door"])
    });
    let versions = |env: &Environment| {
        links(env)
            .iter()
            .map(|name| env.get(&format!("secret/{name}")).unwrap()["metadata"]["resourceVersion"].clone())
            .collect::<Vec<_>>()
    };
    let before = versions(&env);
    // Not killed: the lease of a killed one would hold the next one up.
    env.operator.stop().unwrap();
    env.operator.start().unwrap();
    quiet("a restart", &before, || versions(&env));
    env.kubectl(&["delete", "boshdeployment/nats"]).unwrap();
    wait_until_ok("their end", || Ok(links(&env).is_empty()));
}

#[test]
fn pods_get_the_links_that_they_ask_for_or_a_clear_answer() {
    let other = shared().unwrap().namespace("link-pods-other").unwrap();
    let mut env = deployed("link-pods", &other);
    wait_until_created(&env, &pod("asks", &annotations("nats", BROKER)));
    a_pod_has_its_link_in_files_and_variables(&env);
    pods_that_cannot_get_their_links_are_refused(&env, &other);

    // Without the operator: other pods do not depend on it, and a pod that asks gets an answer that names the webhook.
    env.operator.kill();
    created(&env, &pod("unrelated", &json!({"some": "annotation"})));
    created(&env, &pod("conversion", &json!({DEPLOYMENT: "nats"})));
    let later = pod("later", &annotations("nats", BROKER));
    let words = r#"failed calling webhook "links-of-pods.quarks.cloudfoundry.org""#;
    refused(&env, &env.namespace, &later, &[words, "InternalError"]);
    env.operator.start().unwrap();
    wait_until_created(&env, &later);
    let configuration = format!("mutatingwebhookconfiguration/boson.{}", env.namespace);
    let owner = &env.get(&configuration).unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"]),
        (&json!("Namespace"), &json!(env.namespace))
    );
}

fn created(env: &Environment, object: &Value) {
    let answer = create(env, &env.namespace, object);
    assert!(answer.success, "{answer:?}");
}

/// The answer has these words.
fn refused(env: &Environment, namespace: &str, object: &Value, words: &[&str]) {
    let answer = create(env, namespace, object);
    let is_clear = words.iter().all(|words| answer.stderr.contains(*words));
    assert!(!answer.success && is_clear, "{words:?}: {answer:?}");
}

fn a_pod_has_its_link_in_files_and_variables(env: &Environment) {
    let asks = env.get("pod/asks").unwrap();
    let secret = "link-nats-broker-main-broker";
    let volumes = asks["spec"]["volumes"].as_array().unwrap();
    let volume = volumes
        .iter()
        .find(|volume| volume["secret"]["secretName"] == secret)
        .unwrap();
    for list in ["initContainers", "containers"] {
        let container = &asks["spec"][list][0];
        let mounts = container["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]).unwrap();
        assert_eq!(mount["mountPath"], "/quarks/link/nats/broker-main-broker");
        assert_eq!(mount["readOnly"], true);
        let variables = container["env"].as_array().unwrap();
        let names: Vec<&str> = variables.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "LINK_BROKER_PASSWORD",
                "LINK_BROKER_PORT",
                "LINK_BROKER_TLS_CA",
                "LINK_BROKER_USER"
            ]
        );
        assert_eq!(
            variables[0]["valueFrom"]["secretKeyRef"],
            json!({"name": secret, "key": "broker.password"})
        );
    }
    let password = env.get("secret/nats.var-broker-password").unwrap()["data"]["password"].clone();
    assert!(!asks.to_string().contains(&env.decoded(&password).unwrap()));
    assert!(asks["metadata"]["annotations"][DIGEST].is_string());
}

fn pods_that_cannot_get_their_links_are_refused(env: &Environment, other: &str) {
    for (what, deployment, consumes, reason, words) in [
        (
            "json",
            "nats",
            "[{",
            "is invalid",
            "the annotation quarks.cloudfoundry.org/consumes is not JSON (line 1, column 2)",
        ),
        (
            "unknown",
            "nuts",
            BROKER,
            "ServiceUnavailable",
            "has no BOSHDeployment 'nuts', which the annotation quarks.cloudfoundry.org/deployment names; once it does, the pod can be created again as it is",
        ),
        (
            "missing",
            "nats",
            r#"[{"name":"main-broker","type":"broker"},{"name":"db","type":"sql"}]"#,
            "ServiceUnavailable",
            "BOSHDeployment 'nats' provides no link 'db' of type 'sql' with properties; it provides 'gateway' (gateway), 'main-broker' (broker); once it does",
        ),
        (
            "type",
            "nats",
            r#"[{"name":"main-broker","type":"sql"}]"#,
            "is invalid",
            "its link 'main-broker' has the type 'broker'",
        ),
        (
            "alone",
            "",
            BROKER,
            "is invalid",
            "needs the annotation quarks.cloudfoundry.org/deployment",
        ),
    ] {
        let pod = pod(what, &annotations(deployment, consumes));
        refused(env, &env.namespace, &pod, &[words, reason]);
        assert!(env.get(&format!("pod/{what}")).is_err(), "{what}");
    }
    let words = format!("namespace '{other}' has no BOSHDeployment 'nats'");
    refused(env, other, &pod("foreign", &annotations("nats", BROKER)), &[&words]);
}

fn workload(kind: &str, name: &str, consumes: &str) -> Value {
    let labels = json!({"app": name});
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels, "annotations": annotations("nats", consumes)}, "spec": pod_spec()}},
    });
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = name.into();
    }
    object
}

fn generations(env: &Environment) -> [i64; 3] {
    ["deployment/web", "statefulset/store", "deployment/door"].map(|what| generation(env, what))
}

#[test]
fn exactly_the_consumers_of_a_changed_link_roll_and_once() {
    let mut env = deployed("link-rolls", "link-rolls-none");
    env.apply(&[user("nats")]).unwrap();
    env.apply(&[env.deployment(&["nats-scale", "more"])]).unwrap();
    wait_until_created(&env, &pod("bare", &annotations("nats", BROKER)));
    env.apply(&[
        workload("Deployment", "web", BROKER),
        workload("StatefulSet", "store", BROKER),
        workload("Deployment", "door", GATEWAY),
    ])
    .unwrap();
    let has_pods = |name: &str| env.list("pods", &format!("app={name}")).map(|pods| !pods.is_empty());
    for name in ["web", "store", "door"] {
        wait_until_ok(name, || has_pods(name));
    }
    assert_eq!(generations(&env), [1, 1, 1]);

    a_change_of_the_manifest_alone_rolls_nothing(&env);
    // The operator is killed right after it has written the Secret.
    env.apply(&[user("other")]).unwrap();
    wait_until_ok("the new value", || {
        let secret = env.get("secret/link-nats-broker-main-broker")?;
        Ok(env.decoded(&secret["data"]["broker.user"])? == "other")
    });
    env.operator.kill();
    env.operator.start().unwrap();
    for what in ["deployment/web", "statefulset/store"] {
        wait_until_ok(what, || Ok(digest(&env, what).is_string()));
    }
    wait_until_ok("the event of the bare pod", || {
        let events = env.list("events.events.k8s.io", "")?;
        Ok(events
            .iter()
            .any(|event| event["reason"] == "LinkChanged" && event["regarding"]["name"] == "bare"))
    });
    quiet("a link that has changed", &[2, 2, 1], || generations(&env));
    assert_eq!(digest(&env, "deployment/door"), Value::Null);
    let secret = env.get("secret/link-nats-broker-main-broker").unwrap();
    let digest = digest(&env, "deployment/web");
    assert!(!secret.to_string().contains(digest.as_str().unwrap()), "it is keyed");

    // A link that disappears rolls nothing.
    env.kubectl(&["delete", "boshdeployment/nats"]).unwrap();
    wait_until_ok("the end of the Secret", || {
        Ok(env.get("secret/link-nats-broker-main-broker").is_err())
    });
    quiet("the end of a link", &[2, 2, 1], || generations(&env));
}

fn a_change_of_the_manifest_alone_rolls_nothing(env: &Environment) {
    let limits = "- {type: replace, path: /instance_groups/name=broker/jobs/name=broker/properties/broker/limits/connections, value: 7}\n";
    env.apply(&[config_map("more", "ops", limits)]).unwrap();
    wait_until_ok("another manifest", || {
        Ok(env.get("secret/nats.bpm.broker-v1").is_ok()
            && env
                .names("secret")?
                .iter()
                .any(|name| name == "nats.desired-manifest-v2"))
    });
    env.wait_until_applied().unwrap();
    quiet("the same link", &[1, 1, 1], || generations(env));
}
