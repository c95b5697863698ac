//! Links while the rest of the namespace changes: a workload that another controller of the operator owns, pods that
//! come and go quickly, and deployments that provide a link of the same name.

use crate::links::{
    BROKER, DIGEST, annotations, consumer, deployed, digest, generation, pod, pod_spec, user, wait_until_created,
};
use crate::operator::Environment;
use boson_tests::{QUIET_DURATION, quiet, wait_until_ok};
use serde_json::{Value, json};

/// An environment with the example, once the API server calls the webhook: earlier pods would get no links.
fn with_webhook(name: &str) -> Environment {
    let env = deployed(name, &format!("{name}-none"));
    wait_until_created(&env, &pod("first", &annotations("nats", BROKER)));
    env
}

/// A QuarksStatefulSet of a user, whose pods consume the link of the broker.
fn quarks_stateful_set(word: &str) -> Value {
    let labels = json!({"app": "store"});
    let mut spec = pod_spec();
    spec["containers"][0]["env"] = json!([{"name": "WORD", "value": word}]);
    json!({
        "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksStatefulSet", "metadata": {"name": "store"},
        "spec": {"template": {"metadata": {"labels": labels}, "spec": {
            "replicas": 1, "serviceName": "store", "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations("nats", BROKER)}, "spec": spec}}}}
    })
}

/// The StatefulSets of `store`, with their generations and digests of links.
fn sets(env: &Environment) -> Vec<(String, i64, Value)> {
    let names = env.names("statefulset").unwrap();
    let names = names.into_iter().filter(|name| name.starts_with("store"));
    let state = |name: String| {
        let what = format!("statefulset/{name}");
        (name, generation(env, &what), digest(env, &what))
    };
    names.map(state).collect()
}

/// The user of the broker, as the link of the deployment has it.
fn user_of(env: &Environment, deployment: &str) -> anyhow::Result<String> {
    let secret = env.get(&format!("secret/link-{deployment}-broker-main-broker"))?;
    env.decoded(&secret["data"]["broker.user"])
}

fn has_pod(env: &Environment, set: &str) -> bool {
    let digest = |pod: &Value| pod["metadata"]["annotations"][DIGEST].is_string();
    env.get(&format!("pod/{set}-0")).is_ok_and(|pod| digest(&pod))
}

#[test]
fn a_set_that_the_operator_owns_rolls_once_and_keeps_the_digest_of_its_links() {
    let mut env = with_webhook("link-owned");
    env.apply(&[user("first")]).unwrap();
    env.apply(&[env.deployment(&["nats-scale", "more"])]).unwrap();
    wait_until_ok("the first user", || Ok(user_of(&env, "nats")? == "first"));
    env.apply(&[quarks_stateful_set("one")]).unwrap();
    wait_until_ok("the pod", || Ok(has_pod(&env, "store-v1")));
    assert_eq!(sets(&env), [("store-v1".into(), 1, Value::Null)]);

    env.apply(&[user("second")]).unwrap();
    wait_until_ok("the digest", || Ok(digest(&env, "statefulset/store-v1").is_string()));
    let rolled = sets(&env);
    assert_eq!((rolled.len(), rolled[0].1), (1, 2), "{rolled:?}");
    // Another controller of the operator writes this StatefulSet. A restart reconciles everything.
    quiet("another controller", &rolled, || sets(&env));
    // Not killed: the lease of a killed one would hold the next one up.
    env.operator.stop().unwrap();
    env.operator.start().unwrap();
    quiet("a restart", &rolled, || sets(&env));
    // That controller writes it again: a change without a new version of the set.
    env.kubectl(&["label", "quarksstatefulset/store", "team=x"]).unwrap();
    env.kubectl(&[
        "label",
        "statefulset/store-v1",
        "app.kubernetes.io/managed-by=other",
        "--overwrite",
    ])
    .unwrap();
    quiet("a label", &rolled, || sets(&env));

    // A new version of the set: its pods get the present links when they are created, so it does not roll again.
    env.apply(&[quarks_stateful_set("two")]).unwrap();
    wait_until_ok("the new version", || Ok(has_pod(&env, "store-v2")));
    quiet("a new version", &1, || generation(&env, "statefulset/store-v2"));
}

#[test]
fn deployments_that_provide_a_link_of_the_same_name_never_give_the_link_of_the_other() {
    let env = with_webhook("link-two");
    env.apply(&[user("other")]).unwrap();
    let mut second = env.deployment(&["nats-scale", "more"]);
    second["metadata"]["name"] = "second".into();
    env.apply(&[
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "second.var-implicit-system-domain"},
            "stringData": {"value": "example.com"}}),
        second,
    ])
    .unwrap();
    wait_until_ok("the links of both", || {
        Ok(env.get("secret/link-second-broker-main-broker").is_ok())
    });
    assert_ne!(user_of(&env, "nats").unwrap(), "other");
    assert_eq!(user_of(&env, "second").unwrap(), "other");
    for deployment in ["nats", "second"] {
        env.apply(&[consumer(deployment, deployment)]).unwrap();
        let pod = || -> anyhow::Result<Value> {
            let pods = env.list("pods", &format!("app={deployment}"))?;
            Ok(pods.into_iter().next().unwrap_or_default())
        };
        wait_until_ok("its pod", || Ok(pod()?["spec"]["volumes"].is_array()));
        let pod = pod().unwrap();
        let volumes = pod["spec"]["volumes"].as_array().unwrap().iter();
        let secrets: Vec<&Value> = volumes.map(|one| &one["secret"]["secretName"]).collect();
        let wanted = json!(format!("link-{deployment}-broker-main-broker"));
        assert!(secrets.contains(&&wanted), "{secrets:?}");
    }
    // Only the consumers of the deployment that has changed roll.
    env.apply(&[user("third")]).unwrap();
    wait_until_ok("the digest", || Ok(digest(&env, "deployment/second").is_string()));
    quiet("the link of another deployment", &[1, 2], || {
        ["nats", "second"].map(|name| generation(&env, &format!("deployment/{name}")))
    });
}

#[test]
fn changes_in_quick_succession_roll_to_the_last_content_and_a_restored_secret_rolls_nothing() {
    let env = with_webhook("link-quick");
    env.apply(&[user("u0")]).unwrap();
    env.apply(&[env.deployment(&["nats-scale", "more"])]).unwrap();
    wait_until_ok("the first user", || Ok(user_of(&env, "nats")? == "u0"));
    env.apply(&[consumer("web", "nats")]).unwrap();
    let pods = || env.list("pods", "app=web").unwrap();
    wait_until_ok("the pod", || Ok(!pods().is_empty()));
    for number in 1..=5 {
        env.apply(&[user(&format!("u{number}"))]).unwrap();
    }
    wait_until_ok("the last user", || Ok(user_of(&env, "nats")? == "u5"));
    wait_until_ok("the digest", || Ok(digest(&env, "deployment/web").is_string()));
    std::thread::sleep(QUIET_DURATION);
    let web = || (generation(&env, "deployment/web"), digest(&env, "deployment/web"));
    let rolled = web();
    assert!(rolled.0 <= 3, "changes within a few seconds are one: {rolled:?}");
    let of_pod = |pod: &Value| pod["metadata"]["annotations"][DIGEST] == rolled.1;
    wait_until_ok("a pod with the last content", || Ok(pods().iter().any(of_pod)));

    // The Secret is deleted and written again with the same content.
    env.kubectl(&["delete", "secret/link-nats-broker-main-broker"]).unwrap();
    wait_until_ok("the Secret again", || Ok(user_of(&env, "nats")? == "u5"));
    quiet("a Secret that is written again", &rolled, web);
    // The deployment is deleted and created again. Its generated values are retained, so the content is the same.
    env.kubectl(&["delete", "boshdeployment/nats"]).unwrap();
    wait_until_ok("the end of the Secret", || {
        Ok(env.get("secret/link-nats-broker-main-broker").is_err())
    });
    env.apply(&[env.deployment(&["nats-scale", "more"])]).unwrap();
    wait_until_ok("the same link", || Ok(user_of(&env, "nats")? == "u5"));
    quiet("a deployment that is created again", &rolled, web);
}
