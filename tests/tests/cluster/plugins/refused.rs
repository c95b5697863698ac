//! Plugins that the operator does not use: from other namespaces, damaged, hostile, too large, or without a permission.

use super::scene::{HOOKED, Scene, healthy, is_unhealthy, uses, why_unhealthy};
use crate::guests::Guest;
use crate::objects::has_reason;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::compiled::sha256;
use serde_json::{Value, json};
use std::fs;

#[test]
fn only_plugins_of_allowed_namespaces_are_used() {
    let scene = Scene::with(|_, here, there| {
        let arguments = ["--namespace", here, "--namespace", there, "--plugins", "operator"];
        Ok(arguments.map(String::from).into())
    });
    let scene = scene.unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");
    let maps = scene.add("ops", &Guest::ops("no-ops"), &[]).unwrap();
    let refused = is_refused(&scene, "PluginNotAllowed");
    assert!(uses(&refused, "ops", "ops"), "{refused:#}");
    let message = why_unhealthy(&refused);
    assert!(
        message.contains("the operator does not use plugins from this namespace"),
        "{message}"
    );

    let own = scene
        .add_in(&scene.own, "ops", &Guest::ops("no-ops"), &["--deployment", "nats"])
        .unwrap();
    scene.wait_until_used("ops", "no-ops");
    scene.remove(&maps).unwrap();
    scene.wait_until_healthy();
    scene.remove_in(&scene.own, &own).unwrap();
    scene.wait_until_used("ops", "ops");
}

#[test]
fn a_bad_plugin_is_refused_and_reported_and_the_last_good_one_stays() {
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    // A plugin of another namespace would serve a deployment of this name, if it were allowed.
    scene
        .add_in(&scene.there, "resources", &Guest::resources("foreign", HOOKED), &[])
        .unwrap();
    let good = scene
        .add_in(&scene.own, "resources", &Guest::resources("hook", HOOKED), &[])
        .unwrap();
    let deployment = scene.wait_until_used("resources", "hook");
    assert!(!uses(&deployment, "resources", "foreign"), "{deployment:#}");
    assert!(healthy(&deployment, "True").is_some());

    let at = good.find("sha256:").unwrap();
    let (digest, other) = (&good[at..at + 71], format!("sha256:{}", "0".repeat(64)));
    let with = |from: &str, to: &str| good.replace(from, to);
    let of_ops = with("plugin: resources", "plugin: ops").replace("order: 0", "replaces: ops");
    for (bad, reason, words) in [
        (
            with(digest, &other),
            "PluginDigest",
            "its description contains sha256:0000",
        ),
        (with("digest:", "digets:"), "PluginDocument", "unknown member 'digets'"),
        (
            with("plugin.yaml:", "plugin.yml:"),
            "PluginNoDocument",
            "there is no key 'plugin.yaml'",
        ),
        (
            with("plugin: resources", "plugin: resourses"),
            "PluginStage",
            "'resourses'",
        ),
        (of_ops, "PluginOtherStage", "of the stage 'resources'"),
    ] {
        scene.apply_in(&scene.own, &bad).unwrap();
        let deployment = is_refused(&scene, reason);
        let reported = why_unhealthy(&deployment);
        assert!(reported.contains(words), "{reported}");
        assert!(
            uses(&deployment, "resources", "hook"),
            "{reason}: the last good one stays"
        );
        let events = scene.get("events.events.k8s.io").unwrap().to_string();
        assert!(events.contains(reason), "no event for {reason}");
    }
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    corrupted_bytes_are_reported_at_once(&scene, &good);

    a_lost_plugin_is_used_again_once_it_is_good(&mut scene, &good, &with(digest, &other));
}

/// After a restart the last good one is lost: running objects are not changed until the plugin is fixed.
fn a_lost_plugin_is_used_again_once_it_is_good(scene: &mut Scene, good: &str, bad: &str) {
    scene.apply_in(&scene.own, bad).unwrap();
    is_refused(scene, "PluginDigest");
    scene.operator.kill();
    scene.operator.start().unwrap();
    scene.wait_for_deployment("the loss", |deployment| {
        has_reason(deployment, "Converted", "PluginLost")
    });
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    scene.apply_in(&scene.own, good).unwrap();
    scene.wait_for_deployment("health", |deployment| {
        healthy(deployment, "True").is_some() && uses(deployment, "resources", "hook")
    });
}

fn is_refused(scene: &Scene, reason: &str) -> Value {
    scene.wait_for_deployment(reason, |deployment| is_unhealthy(deployment, reason))
}

/// The description is unchanged, and the bytes are not: that is reported before the next restart.
fn corrupted_bytes_are_reported_at_once(scene: &Scene, good: &str) {
    let mut corrupted = crate::shared_cluster::documents(good).remove(0);
    let parts = corrupted["binaryData"].as_object_mut().unwrap().values_mut();
    parts.for_each(|part| *part = "AAAA".into());
    scene.apply_in(&scene.own, good).unwrap();
    scene.wait_until_healthy();
    scene.apply_in(&scene.own, &corrupted.to_string()).unwrap();
    let deployment = scene.wait_for_deployment("the corrupted parts", |deployment| {
        healthy(deployment, "False").is_some()
    });
    assert!(uses(&deployment, "resources", "hook"), "the last good one stays");
}

/// A ConfigMap with an unchecked component.
fn unchecked(name: &str, stage: &str, component: &[u8]) -> String {
    let digest = sha256(component);
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"quarks.cloudfoundry.org/plugin": stage}},
        "data": {"plugin.yaml": format!("name: {name}\ndigest: sha256:{digest}\n")},
        "binaryData": {"plugin.wasm": STANDARD.encode(component)},
    })
    .to_string()
}

#[test]
fn a_hostile_component_blocks_no_deployment_and_leaves_nothing() {
    let mut scene = Scene::new().unwrap();
    let home = scene.operator.files().join("cache");
    scene.stop().unwrap();
    scene.operator.set("XDG_CACHE_HOME", Some(home.clone().into()));
    let import = format!(r#"(component (import "{}" (func)))"#, "a".repeat(60_000));
    let hostile = unchecked("hostile", "ops", &wat::parse_str(import).unwrap());
    scene.apply_in(&scene.there, &hostile).unwrap();
    scene.apply_in(&scene.own, &hostile).unwrap();
    scene.operator.start().unwrap();
    scene.deploy().unwrap();
    let deployment = scene.wait_for_deployment("the refusal", |deployment| is_unhealthy(deployment, "PluginRefused"));
    let reported = why_unhealthy(&deployment);
    assert!(
        reported.contains("imports function 'aaaa") && reported.len() < 1000,
        "{reported}"
    );
    scene.add("resources", &Guest::resources("hook", HOOKED), &[]).unwrap();
    scene.wait_until_used("resources", "hook");
    let cached = fs::read_dir(home.join("boson/compiled")).unwrap().count();
    assert_eq!(cached, 1, "the hook's machine code and nothing else");
}

/// In a directory in memory, all machine code counts: two such components exceed the memory of a namespace.
#[test]
fn machine_code_is_counted_and_a_refused_plugin_is_loaded_once_there_is_memory() {
    let mut scene = Scene::new().unwrap();
    scene.stop().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    scene.operator.set("XDG_CACHE_HOME", Some(memory.path().into()));
    scene.operator.set("BOSON_MAX_MEMORY", Some("512Mi".into()));
    scene.operator.start().unwrap();
    scene.deploy().unwrap();
    let hook = |name: &str| Guest::large(name, &HOOKED.replace("hooked", &format!("hooked-{name}")), 5 << 20);
    let first = scene.add("resources", &hook("first"), &[]).unwrap();
    scene.wait_until_used("resources", "first");
    scene.add("resources", &hook("second"), &[]).unwrap();
    let deployment = is_refused(&scene, "PluginNoMemory");
    let reported = why_unhealthy(&deployment);
    assert!(
        reported.contains("plugin 'second'") && reported.contains("all plugins of a namespace may use 7 MiB"),
        "{reported}"
    );
    assert!(uses(&deployment, "resources", "first"));
    scene.remove(&first).unwrap();
    scene.wait_until_used("resources", "second");
    scene.wait_until_healthy();
}

#[test]
fn a_hook_can_neither_add_plugins_nor_privileges_of_pods() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let plugin: Value = serde_json::from_str(&unchecked("evil", "ops", &Guest::ops("evil"))).unwrap();
    let pod = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "i"}]}});
    let workload = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evil"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": pod},
    });
    for (object, reason) in [(plugin, "BundleReservedMark"), (workload, "BundlePrivilege")] {
        let maps = scene
            .add("resources", &Guest::resources("hook", &object.to_string()), &[])
            .unwrap();
        scene.wait_for_deployment(reason, |deployment| has_reason(deployment, "Converted", reason));
        assert!(scene.get("configmap/evil").is_err() && scene.get("deployment.apps/evil").is_err());
        scene.remove(&maps).unwrap();
        scene.wait_for_deployment("the end of the hook", |deployment| {
            !uses(deployment, "resources", "hook") && healthy(deployment, "True").is_some()
        });
    }
}
