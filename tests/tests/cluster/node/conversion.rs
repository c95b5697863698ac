//! Both modes of a conversion, in the operator's process and in pods: the same objects, what a change reruns, and
//! reported mistakes.

use crate::objects::{condition, config_map, has_reason, is};
use crate::operator::Environment;
use anyhow::Result;
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::root;
use serde_json::Value;
use std::fs;

/// The QuarksJobs of the conversion.
const JOBS: [&str; 3] = ["bpm-configs-nats", "data-gathering-nats", "var-interpolation-nats"];

/// Loads the releases of the example into the node, as the images of this deployment.
pub fn load_releases(cluster: &Cluster, env: &Environment) -> Result<()> {
    let releases = root().join("docs/examples/nats/releases");
    for (name, tag) in [("messaging", "1.4.0"), ("smoke", "0.3.1")] {
        cluster.load_image(&Image::release(&tagged(env, name, tag), &releases.join(name))?)?;
    }
    Ok(())
}

fn tagged(env: &Environment, release: &str, version: &str) -> String {
    format!("{}/bosh/{release}:ubuntu-jammy-1.584-{version}", env.registry.host())
}

/// The objects of a deployment, without the fields that change on their own.
fn everything(env: &Environment) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for kind in [
        "secret",
        "quarkssecret",
        "quarksstatefulset",
        "statefulset",
        "service",
        "quarksjob",
    ] {
        let list = env.get(kind)?;
        for mut object in list["items"].as_array().cloned().unwrap_or_default() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if kind == "quarksjob" && JOBS.contains(&name) {
                continue;
            }
            let uid = object["metadata"]["uid"].clone();
            let labels = object["metadata"]["labels"].clone();
            object["metadata"] = serde_json::json!({"name": name, "uid": uid, "labels": labels});
            if let Some(members) = object.as_object_mut() {
                members.remove("status");
            }
            all.push(object);
        }
    }
    Ok(all)
}

fn conversion_jobs(env: &Environment) -> Vec<String> {
    let mut names = env.names("quarksjob").unwrap();
    names.retain(|name| name != "nats-smoke-tests");
    names
}

fn message(deployment: &Value) -> String {
    let reported = condition(deployment, "Converted").map(|reported| reported["message"].clone());
    reported
        .and_then(|reported| Some(reported.as_str()?.to_string()))
        .unwrap_or_default()
}

/// One test, because each run of pods takes time: from nothing, the other mode and back, a changed value, and two
/// mistakes.
#[test]
fn pods_convert_as_the_operator_does() {
    let Some(cluster) = with_node().unwrap() else { return };
    let mut env = Environment::with_pods(cluster, "pods").unwrap();
    load_releases(cluster, &env).unwrap();
    env.deploy().unwrap();
    let applied = |deployment: &Value| is(deployment, "Applied", "True") && is(deployment, "Converted", "True");
    env.wait_for_deployment("Applied by jobs", applied).unwrap();
    assert_eq!(conversion_jobs(&env), JOBS);
    // Another controller creates them afterwards.
    env.wait_for_deployment("the StatefulSets of both groups", |_| {
        env.names("statefulset").is_ok_and(|names| names.len() == 2)
    })
    .unwrap();
    let made = everything(&env).unwrap();
    assert!(
        made.iter()
            .any(|object| object["metadata"]["name"] == "nats.bpm.broker-v1")
    );

    for (mode, jobs) in [("InProcess", &[][..]), ("Jobs", &JOBS[..])] {
        env.mode = mode;
        env.apply(&[env.deployment(&["nats-scale"])]).unwrap();
        env.wait_for_deployment(mode, applied).unwrap();
        assert_eq!(conversion_jobs(&env), jobs, "{mode}");
        assert_eq!(everything(&env).unwrap(), made, "{mode}");
    }

    a_changed_value_runs_what_depends_on_it(&env);
    mistakes_are_reported_with_their_place(cluster, &env);
}

fn a_changed_value_runs_what_depends_on_it(env: &Environment) {
    let value = r#"{"stringData":{"value":"example.org"}}"#;
    env.kubectl(&[
        "patch",
        "secret/nats.var-implicit-system-domain",
        "--type=merge",
        "--patch",
        value,
    ])
    .unwrap();
    env.wait_for_deployment("another manifest", |deployment| {
        let names = env.names("secret").unwrap_or_default();
        is(deployment, "Converted", "True") && names.iter().any(|name| name == "nats.desired-manifest-v2")
    })
    .unwrap();
    let digest = |name: &str| {
        let secret = env.get(&format!("secret/{name}")).unwrap();
        secret["metadata"]["annotations"]["quarks.cloudfoundry.org/desired-manifest-digest"].clone()
    };
    let names = env.names("secret").unwrap();
    let newest = |series: &str| {
        names
            .iter()
            .filter(|name| name.starts_with(series))
            .max()
            .cloned()
            .unwrap()
    };
    // Every document is of the new manifest, whether or not its content changed.
    let bpm = digest(&newest("nats.bpm.broker-v"));
    assert!(bpm.is_string());
    for group in ["broker", "gateway", "smoke-tests"] {
        assert_eq!(digest(&newest(&format!("nats.ig-resolved.{group}-v"))), bpm, "{group}");
    }
}

fn mistakes_are_reported_with_their_place(cluster: &Cluster, env: &Environment) {
    let version = |version: &str| {
        let ops = format!("- type: replace\n  path: /releases/name=messaging/version\n  value: {version}\n");
        env.apply(&[
            config_map("version", "ops", &ops),
            env.deployment(&["nats-scale", "version"]),
        ])
        .unwrap();
    };
    let releases = root().join("docs/examples/nats/releases");
    let template = releases.join("messaging/jobs/broker/templates/broker.conf.erb");
    let text = fs::read_to_string(template).unwrap();
    let broken = format!("{}\n<%= p('broker.nothing') %>\n", text.trim_end());
    let image = Image::release(&tagged(env, "messaging", "1.4.1"), &releases.join("messaging")).unwrap();
    let image = image.file("var/vcap/jobs-src/broker/templates/broker.conf.erb", broken);
    cluster.load_image(&image).unwrap();
    version("1.4.1");
    let reported = env
        .wait_for_deployment("the template's error", |deployment| {
            message(deployment).contains("broker.conf.erb")
        })
        .unwrap();
    let place = format!("broker.conf.erb:{}", text.trim_end().lines().count() + 1);
    assert!(message(&reported).contains(&place), "{}", message(&reported));
    assert!(
        message(&reported).contains("Can't find property '[\"broker.nothing\"]'"),
        "{}",
        message(&reported)
    );

    version("9.9.9");
    let reported = env
        .wait_for_deployment("the missing image", |deployment| {
            has_reason(deployment, "Converted", "DeploymentImagePull")
        })
        .unwrap();
    assert!(
        message(&reported).contains("messaging:ubuntu-jammy-1.584-9.9.9"),
        "{}",
        message(&reported)
    );
    version("1.4.0");
    env.wait_for_deployment("the fix", |deployment| {
        is(deployment, "Converted", "True") && is(deployment, "Applied", "True")
    })
    .unwrap();
}
