//! A deployment whose links others use is deleted: `kubectl` warns, and nothing blocks the deletion. What names it
//! afterwards gets an event.

use crate::links::{BROKER, DIGEST, annotations, consumer, create, deployed, pod, wait_until_created};
use crate::objects::config_map;
use crate::operator::Environment;
use anyhow::{Result, ensure};
use boson_tests::cluster::Answer;
use boson_tests::{WAIT_TIMEOUT, wait_until_ok};
use serde_json::{Value, json};

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

/// The answer to a deletion that is only tried. A review that would take too long, on a busy machine, is asked for
/// again.
fn try_delete(env: &Environment, name: &str) -> Answer {
    let look = || {
        let answer = delete(env, name, &["--dry-run=server"]);
        ensure!(!answer.stderr.contains("was not checked"), "{answer:?}");
        Ok(answer)
    };
    env.operator.wait_for_value("a review", WAIT_TIMEOUT, look).unwrap()
}

/// The events about an object: reason and note.
fn events(env: &Environment, kind: &str, name: &str) -> Result<Vec<(String, String)>> {
    let events = env.list("events.events.k8s.io", "")?;
    let about = |event: &&Value| event["regarding"]["kind"] == kind && event["regarding"]["name"] == name;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let found = events.iter().filter(about);
    Ok(found
        .map(|event| (text(&event["reason"]), text(&event["note"])))
        .collect())
}

/// A second deployment of the example, which uses the link of the first, and a workload that does.
fn with_consumers(name: &str) -> Environment {
    let env = deployed(name, &format!("{name}-none"));
    wait_until_created(&env, &pod("first", &annotations("nats", BROKER)));
    env.kubectl(&["delete", "pod/first", "--force"]).unwrap();
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
    wait_until_ok("a pod with links", || {
        Ok(env
            .list("pods", "app=web")?
            .iter()
            .any(|pod| pod.to_string().contains(DIGEST)))
    });
    wait_until_ok("the shared link", || {
        let second = env.get("boshdeployment/second")?;
        let mut inputs = second["status"]["inputs"].as_array().into_iter().flatten();
        Ok(inputs.any(|input| input["kind"] == "link" && input["name"] == "deployment/nats"))
    });
    env
}

#[test]
fn deleting_a_deployment_whose_links_are_used_warns_and_is_never_refused() {
    let mut env = with_consumers("link-deletion");
    let answer = try_delete(&env, "nats");
    assert!(answer.success, "{answer:?}");
    for warning in [
        "Warning: other deployments use its links; they keep the last values, and cannot be updated without it: second",
        "Warning: pods use its links; new pods of their workloads are refused without it: Deployment/web",
    ] {
        assert!(answer.stderr.contains(warning), "{answer:?}");
    }
    pods_that_have_ended_use_no_link(&env);
    // Nobody uses the links of this one.
    let answer = try_delete(&env, "second");
    assert!(answer.success && !answer.stderr.contains("Warning"), "{answer:?}");
    let reviews = env.operator.ask("/metrics").unwrap();
    assert!(
        reviews.contains(r#"resource="deletions",outcome="warned""#),
        "{reviews}"
    );

    // Its consumers report that it is gone; when it is created again, its Secret and its workload are not in error any
    // more.
    assert!(delete(&env, "nats", &[]).success);
    wait_until_ok("the event of the workload", || {
        let events = events(&env, "Deployment", "web")?;
        Ok(events.iter().any(|(reason, note)| {
            reason == "LinksUnknownDeployment" && note.contains("names the BOSHDeployment 'nats', but namespace")
        }))
    });
    env.apply(&[env.deployment(&["nats-scale", "share"])]).unwrap();
    wait_until_ok("the end of the error", || {
        let events = events(&env, "Deployment", "web")?;
        Ok(events.iter().any(|(reason, _)| reason == "LinksDeploymentFound"))
    });

    // An operator that is not available blocks no deletion.
    env.operator.kill();
    let answer = delete(&env, "nats", &[]);
    assert!(answer.success && !answer.stderr.contains("Warning"), "{answer:?}");
    assert!(env.get("boshdeployment/nats").is_err());
}

/// Pods without a workload are named as long as they run.
fn pods_that_have_ended_use_no_link(env: &Environment) {
    const USED: &str = "Warning: pods use its links; new pods of their workloads are refused without it: ";
    let users = || {
        let answer = try_delete(env, "nats");
        let mut lines = answer.stderr.lines();
        lines.find_map(|line| Some(line.strip_prefix(USED)?.to_string()))
    };
    let phases = [("failed", "Failed"), ("succeeded", "Succeeded")];
    for (name, _) in phases {
        let created = create(env, &env.namespace, &pod(name, &annotations("nats", BROKER)));
        assert!(created.success, "{created:?}");
    }
    assert_eq!(users().as_deref(), Some("Deployment/web, Pod/failed, Pod/succeeded"));
    for (name, phase) in phases {
        let patch = format!("--patch={}", json!({"status": {"phase": phase}}));
        env.kubectl(&[
            "patch",
            &format!("pod/{name}"),
            "--subresource=status",
            "--type=merge",
            &patch,
        ])
        .unwrap();
    }
    assert_eq!(users().as_deref(), Some("Deployment/web"));
}

#[test]
fn native_objects_that_name_an_unknown_deployment_get_one_event_each() {
    let env = deployed("link-unknown", "link-unknown-none");
    let annotations = |deployment: &str| {
        json!({"quarks.cloudfoundry.org/deployment-name": deployment,
            "quarks.cloudfoundry.org/provides": r#"{"name":"db","type":"sql"}"#})
    };
    let secret = |name: &str, deployment: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "annotations": annotations(deployment)},
            "stringData": {"password": "not-shown"}})
    };
    env.apply(&[
        secret("good", "nats"),
        secret("unknown", "nuts"),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "unrelated",
            "annotations": {"quarks.cloudfoundry.org/deployment-name": "nuts"}}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "service", "annotations": annotations("nuts")},
            "spec": {"selector": {"app": "db"}, "ports": [{"port": 5432}]}}),
    ])
    .unwrap();
    let note = format!(
        "quarks.cloudfoundry.org/deployment-name names the BOSHDeployment 'nuts', but namespace '{}' has none of that \
         name; it provides a link to no deployment",
        env.namespace
    );
    let wanted = [("LinksUnknownDeployment".to_string(), note)];
    for (kind, name) in [("Secret", "unknown"), ("Service", "service")] {
        wait_until_ok(name, || Ok(events(&env, kind, name)? == wanted));
    }
    for name in ["good", "unrelated"] {
        assert_eq!(events(&env, "Secret", name).unwrap(), [], "{name}");
    }
    let mut nuts = env.deployment(&["nats-scale"]);
    nuts["metadata"]["name"] = "nuts".into();
    env.apply(&[nuts]).unwrap();
    for (kind, name) in [("Secret", "unknown"), ("Service", "service")] {
        wait_until_ok("the end of the error", || {
            let events = events(&env, kind, name)?;
            Ok(events.len() == 2 && events.iter().any(|(reason, _)| reason == "LinksDeploymentFound"))
        });
    }
}
