//! Canaries: a second version of a plugin for some deployments, which is stopped when conversions fail because of it.

use super::scene::{HOOKED, Scene, healthy, hooked, is_unhealthy};
use crate::guests::Guest;
use crate::objects::is;
use serde_json::Value;

/// The reason of a stopped canary.
fn is_stopped(deployment: &Value) -> bool {
    is_unhealthy(deployment, "PluginCanaryStopped")
}

/// The digests of the plugins of `resources`.
fn digests(deployment: &Value) -> Vec<Value> {
    let used = deployment["status"]["plugins"].as_array().into_iter().flatten();
    let of_stage = used.filter(|one| one["stage"] == "resources");
    of_stage.map(|one| one["digest"].clone()).collect()
}

#[test]
fn a_canary_is_for_its_deployments_and_takes_over_with_100_percent() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let first = Guest::resources("hook", HOOKED);
    scene.add("resources", &first, &[]).unwrap();
    let before = digests(&scene.wait_until_used("resources", "hook"));
    let second = Guest::resources("hook", &hooked("c"));
    let canary = |options: &[&str]| {
        let maps = scene.add("resources", &second, options).unwrap();
        assert!(maps.contains("name: hook-canary"), "{maps}");
        maps
    };

    canary(&["--canary-deployment", "cf"]);
    scene.wait_until_settled();
    let deployment = scene.wait_until_healthy();
    assert_eq!(digests(&deployment), before, "it is for another deployment");

    canary(&["--canary", "0", "--canary-deployment", "nats"]);
    let deployment = scene.wait_for_deployment("the canary", |deployment| digests(deployment) != before);
    assert_eq!(digests(&deployment).len(), 1, "one of both versions");
    scene.wait_for_hooked("c");
    scene.wait_for_deployment("the comparison", |deployment| {
        is(deployment, "ShadowPluginsAgree", "False")
    });

    let maps = canary(&["--canary", "0"]);
    scene.wait_for_deployment("the abort", |deployment| digests(deployment) == before);
    scene.wait_for_hooked("b");

    canary(&["--canary", "100"]);
    scene.wait_for_hooked("c");
    scene.add("resources", &second, &[]).unwrap();
    scene.wait_for_deployment("the same version", |deployment| {
        is(deployment, "ShadowPluginsAgree", "True")
    });
    scene.remove(&maps).unwrap();
    scene.wait_until_settled();
    let deployment = scene.wait_until_healthy();
    assert_ne!(digests(&deployment), before);
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "c");
}

#[test]
fn a_canary_that_fails_is_stopped_also_after_a_restart_until_it_is_changed() {
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let first = Guest::resources("hook", HOOKED);
    scene.add("resources", &first, &[]).unwrap();
    let before = digests(&scene.wait_until_used("resources", "hook"));
    scene
        .add("resources", &Guest::trapping("hook"), &["--canary", "100"])
        .unwrap();
    let stopped = |scene: &Scene| {
        let deployment = scene.wait_for_deployment("the stop", |deployment| {
            is_stopped(deployment) && is(deployment, "Applied", "True")
        });
        assert_eq!(digests(&deployment), before, "the first version");
        let message = healthy(&deployment, "False").unwrap()["message"].to_string();
        assert!(
            message.contains("1 of 1 deployments failed") && message.contains("PluginTrapped"),
            "{message}"
        );
        assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
        let metrics = scene.operator.ask("/metrics").unwrap();
        assert!(metrics.contains("boson_plugin_canaries_stopped 1\n"), "{metrics}");
    };
    stopped(&scene);
    let events = scene.get("events.events.k8s.io").unwrap().to_string();
    assert!(events.contains("PluginCanaryStopped"), "no event");
    let recorded = || {
        let map = scene.get("configmap/hook-canary")?;
        Ok(!map["metadata"]["annotations"]["quarks.cloudfoundry.org/plugin-canary-stopped"].is_null())
    };
    scene.wait_until("the record", recorded);

    scene.stop().unwrap();
    scene.operator.start().unwrap();
    scene.wait_until_settled();
    stopped(&scene);
    let metrics = scene.operator.ask("/metrics").unwrap();
    assert!(
        !metrics.contains("boson_plugin_errors_total{"),
        "it was not called again: {metrics}"
    );

    let second = Guest::resources("hook", &hooked("c"));
    scene.add("resources", &second, &["--canary", "100"]).unwrap();
    scene.wait_for_hooked("c");
    scene.wait_until_healthy();
}
