//! What a plugin of each stage changes, also around a built-in rule and after a restart.

use super::scene::{HOOKED, Scene, altered, built_in, healthy, uses};
use crate::guests::Guest;
use crate::objects::condition;
use boson_tests::cluster::Operator;
use boson_tests::wrapper::wrapper;
use serde_json::Value;
use std::fs;

#[test]
fn a_plugin_of_each_stage_changes_the_output_and_its_deletion_reverts_the_change() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let before = scene.wait_until_used("ops", "ops");
    assert!(healthy(&before, "True").is_some(), "{before:#}");
    assert!(scene.manifest().contains("connections: 5000"));

    an_ops_plugin_is_answered_by_the_host(&scene);
    variables_stay_placeholders(&scene);
    links_have_another_property(&scene);
    pods_render_by_the_same_rule(&scene);
    settings_reach_the_rule(&scene);
    an_object_is_added(&scene);
}

fn an_ops_plugin_is_answered_by_the_host(scene: &Scene) {
    let plugin = Guest::ops_with_wasi("no-ops");
    let maps = scene.add("ops", &plugin, &[]).unwrap();
    let used = scene.wait_until_used("ops", "no-ops")["status"]["plugins"].clone();
    for one in used.as_array().unwrap() {
        // The host's answers to WASI are part of what runs.
        let is_answered = one["runs"]
            .as_str()
            .is_some_and(|runs| runs.len() == 64 && one["digest"] != runs);
        assert_eq!(is_answered, one["name"] == "no-ops", "{one}");
    }
    assert!(
        !scene.manifest().contains("connections: 5000"),
        "operations have no effect now"
    );
    scene.remove(&maps).unwrap();
    scene.wait_until_used("ops", "ops");
    assert!(scene.manifest().contains("connections: 5000"));
}

fn variables_stay_placeholders(scene: &Scene) {
    let (plugin, options) = (Guest::variables("no-variables"), ["--deployment", "nats"]);
    let maps = scene.add_in(&scene.own, "variables", &plugin, &options).unwrap();
    scene.wait_until_used("variables", "no-variables");
    assert!(
        scene.newest("nats.desired-manifest").contains("((broker_password))"),
        "placeholders stay"
    );
    scene.remove_in(&scene.own, &maps).unwrap();
    scene.wait_until_used("variables", "variables");
}

fn links_have_another_property(scene: &Scene) {
    let links = altered(built_in("links"), "dns_domain_name", "dns_domain_nam3");
    let options = ["--name", "other-links", "--uncompressed"];
    let maps = scene.add_in(&scene.own, "links", &links, &options).unwrap();
    scene.wait_until_used("links", "other-links");
    assert!(scene.newest("nats.ig-resolved.broker").contains("dns_domain_nam3"));
    scene.remove_in(&scene.own, &maps).unwrap();
    scene.wait_until_used("links", "links");
}

fn pods_render_by_the_same_rule(scene: &Scene) {
    let content = "processes: [{name: other, executable: /bin/other}]";
    let plugin = Guest::render("other-render", content);
    let maps = scene.add("render", &plugin, &[]).unwrap();
    scene.wait_until_used("render", "other-render");
    assert!(scene.newest("nats.bpm.broker").contains("/bin/other"));
    let broker = || scene.get("quarksstatefulset/nats-broker").unwrap().to_string();
    let set = broker();
    assert!(set.contains("render=/var/run/boson/plugins/render"), "{set}");
    let all = scene.list("configmap", "").unwrap();
    let names = all.iter().filter_map(|map| map["metadata"]["name"].as_str());
    let copies = names.filter(|name| name.starts_with("nats.plugin-"));
    assert_eq!(copies.count(), 2, "the settings, and the component");
    scene.remove(&maps).unwrap();
    scene.wait_until_used("render", "render");
    let set = broker();
    assert!(!set.contains("plugins/render"), "{set}");
}

fn settings_reach_the_rule(scene: &Scene) {
    let settings = scene.operator.files().join("settings.yml");
    fs::write(&settings, "uids: {messaging: 4711}\n").unwrap();
    let options = ["--name", "other-bpm", "--settings", settings.to_str().unwrap()];
    let maps = scene.add_in(&scene.own, "bpm", &built_in("bpm"), &options).unwrap();
    scene.wait_until_used("bpm", "other-bpm");
    let set = scene.get("quarksstatefulset/nats-broker").unwrap().to_string();
    assert!(set.contains("4711"), "{set}");
    scene.remove_in(&scene.own, &maps).unwrap();
    scene.wait_until_used("bpm", "bpm");
}

fn an_object_is_added(scene: &Scene) {
    let plugin = Guest::resources("hook", HOOKED);
    let maps = scene.add("resources", &plugin, &[]).unwrap();
    scene.wait_until_used("resources", "hook");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    scene.remove(&maps).unwrap();
    scene.wait_for_deployment("the end of the hook", |deployment| {
        !uses(deployment, "resources", "hook")
    });
    assert!(scene.get("configmap/hooked").is_err());
}

#[test]
fn a_restart_converts_with_the_same_plugins_and_changes_nothing() {
    let mut scene = Scene::monitored("plugins-restart").unwrap();
    scene.deploy().unwrap();
    let settings = scene.operator.files().join("settings.yml");
    fs::write(&settings, "uids: {messaging: 4711}\n").unwrap();
    let settings = ["--name", "mine", "--settings", settings.to_str().unwrap()].map(String::from);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    scene.add("bpm", &built_in("bpm"), &settings).unwrap();
    scene.add("resources", &Guest::resources("hook", HOOKED), &[]).unwrap();
    scene.wait_until_used("bpm", "mine");
    scene.wait_until_used("resources", "hook");
    let before = scene.wait_until_settled();
    let mut other = Operator::new(scene.cluster, &scene.own)
        .unwrap()
        .registry(&scene.registry);
    other = other.arguments(["--monitored-id", "plugins-restart"]);
    for round in 0..5 {
        scene.operator.stop().unwrap();
        other.start().unwrap();
        scene.operator.start().unwrap();
        // The leader reconciles the deployment again.
        let has_converted = |operator: &Operator| {
            let metrics = operator.ask("/metrics").unwrap_or_default();
            metrics.lines().any(|line| {
                line.strip_prefix("boson_conversions_total ")
                    .is_some_and(|count| count != "0")
            })
        };
        scene.wait_until("a conversion", || {
            Ok(has_converted(&scene.operator) || has_converted(&other))
        });
        assert_eq!(scene.wait_until_settled(), before, "round {round}");
        other.stop().unwrap();
    }
}

#[test]
fn a_wrapper_leaves_the_work_to_the_rule_and_a_check_fails_a_conversion_once_it_is_enforced() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("bpm", "bpm");
    let made = || {
        let mut versions = scene.wait_until_settled();
        versions.retain(|name, _| name.starts_with("Quarks") || name.starts_with("Service "));
        assert!(versions.len() > 5, "{versions:?}");
        versions
    };
    let before = made();
    let maps = scene
        .add("bpm", &Guest::bpm_wrapper("around"), &["--order", "1"])
        .unwrap();
    assert!(maps.contains("wraps: bpm"), "{maps}");
    let deployment = scene.wait_until_used("bpm", "around");
    assert!(
        uses(&deployment, "bpm", "bpm"),
        "the rule is listed, too: {deployment:#}"
    );
    assert_eq!(made(), before, "the same objects");

    let converted = |status: &'static str, reason: Option<&'static str>| {
        move |deployment: &Value| {
            condition(deployment, "Converted")
                .is_some_and(|one| one["status"] == status && reason.is_none_or(|reason| one["reason"] == reason))
        }
    };
    let check = Guest::check("policy", "policy-odd", "this is odd");
    scene.add("checks", &check, &[]).unwrap();
    let deployment = scene.wait_until_used("checks", "policy");
    assert!(converted("True", None)(&deployment), "a warning: {deployment:#}");
    let maps = scene.add("checks", &check, &["--enforce"]).unwrap();
    let failed = scene.wait_for_deployment("the error of the check", converted("False", Some("PolicyOdd")));
    assert!(failed.to_string().contains("this is odd"), "{failed:#}");
    scene.remove(&maps).unwrap();
    scene.wait_for_deployment("the end of the check", converted("True", None));
    assert_eq!(made(), before, "the same objects");
}

#[test]
fn only_the_pods_of_the_groups_that_a_wrapper_is_for_get_it() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("render", "render");
    let spec = |group: &str| scene.get(&format!("quarksstatefulset/nats-{group}")).unwrap()["spec"].clone();
    let [broker, gateway] = ["broker", "gateway"].map(spec);
    let around = wrapper("render", "templates", &["render"], 1, "").unwrap();
    let options = ["--name", "around", "--instance-group", "broker"];
    let maps = scene.add("render", &around, &options).unwrap();
    assert!(maps.contains("instanceGroups:"), "{maps}");
    scene.wait_until_used("render", "around");
    let with = spec("broker").to_string();
    assert!(with.contains("render:around=/var/run/boson/plugins/render"), "{with}");
    assert_eq!(spec("gateway"), gateway, "its pods do not restart");
    scene.remove(&maps).unwrap();
    scene.wait_for_deployment("the end of the wrapper", |deployment| {
        !uses(deployment, "render", "around")
    });
    assert_eq!(spec("broker"), broker);
}
