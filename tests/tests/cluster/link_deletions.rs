//! A deployment whose links others use is deleted: `kubectl` warns, and nothing blocks the deletion.

use crate::links::{DIGEST, consumer, deployed, until};
use crate::operator::{Environment, config_map};
use boson_tests::cluster::Answer;
use serde_json::json;

/// Shares the link of the broker.
const SHARE: &str = "- type: replace
  path: /instance_groups/name=broker/jobs/name=broker/provides/broker
  value: {as: main-broker, shared: true}
";

/// Takes it from the other deployment. A link of a deployment with the manifest's own name is a link of itself.
const USE: &str = "- {type: replace, path: /name, value: second}
- type: replace
  path: /instance_groups/name=gateway/jobs/name=gateway/consumes/broker
  value: {from: main-broker, deployment: nats}
";

/// Deletes a deployment, or only tries to.
fn delete(env: &Environment, name: &str, more: &[&str]) -> Answer {
    let what = format!("boshdeployment/{name}");
    let arguments = ["--namespace", &env.namespace, "delete", &what, "--wait=false"];
    let arguments = arguments.iter().chain(more);
    env.cluster.try_kubectl(arguments, "").unwrap()
}

/// A second deployment of the example, which uses the link of the first, and a workload that does.
fn with_consumers(name: &str) -> Environment {
    let env = deployed(name, &format!("{name}-none"));
    let mut second = env.deployment(&["nats-scale", "use"]);
    second["metadata"]["name"] = "second".into();
    env.apply(&[
        config_map("share", "ops", SHARE),
        config_map("use", "ops", USE),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "second.var-implicit-system-domain"},
            "stringData": {"value": "example.com"}}),
        env.deployment(&["nats-scale", "share"]),
        second,
        consumer("web", "nats"),
    ])
    .unwrap();
    until("a pod with links", || {
        let pods = env.kubectl(&["get", "pods", "--selector=app=web", "--output=json"])?;
        Ok(pods.contains(DIGEST))
    });
    until("the shared link", || {
        let second = env.get("boshdeployment/second")?;
        let mut inputs = second["status"]["inputs"].as_array().into_iter().flatten();
        Ok(inputs.any(|input| input["kind"] == "link" && input["name"] == "deployment/nats"))
    });
    env
}

#[test]
fn deleting_a_deployment_whose_links_are_used_warns_and_is_never_refused() {
    let mut env = with_consumers("link-deletion");
    let answer = delete(&env, "nats", &["--dry-run=server"]);
    assert!(answer.success, "{answer:?}");
    for warning in [
        "Warning: other deployments use its links; they keep the last values, and cannot be updated without it: second",
        "Warning: pods use its links; new pods of their workloads are refused without it: Deployment/web",
    ] {
        assert!(answer.stderr.contains(warning), "{answer:?}");
    }
    // Nobody uses the links of this one.
    let answer = delete(&env, "second", &["--dry-run=server"]);
    assert!(answer.success && !answer.stderr.contains("Warning"), "{answer:?}");
    let reviews = env.operator.ask("/metrics").unwrap();
    assert!(
        reviews.contains(r#"resource="deletions",outcome="warned""#),
        "{reviews}"
    );

    // An operator that is not available blocks no deletion.
    env.operator.kill();
    let answer = delete(&env, "nats", &[]);
    assert!(answer.success && !answer.stderr.contains("Warning"), "{answer:?}");
    assert!(env.get("boshdeployment/nats").is_err());
}
