//! A check that fails itself: it fails the conversion, or is skipped and reported.

use super::scene::{Scene, healthy, why_unhealthy};
use crate::guests::Guest;
use crate::objects::{condition, is};
use serde_json::Value;

/// The notes of the events with this reason.
fn notes(scene: &Scene, reason: &str) -> Vec<String> {
    let events = scene.get("events.events.k8s.io").unwrap();
    let events = events["items"].as_array().unwrap().iter();
    let found = events.filter(|event| event["reason"] == reason);
    found.map(|event| event["note"].as_str().unwrap().to_string()).collect()
}

/// Whether the deployment was converted, and with these words in the condition about its plugins.
fn reports(deployment: &Value, words: &str) -> bool {
    let message = |one: &Value| one["message"].as_str().is_some_and(|message| message.contains(words));
    is(deployment, "Converted", "True") && healthy(deployment, "False").is_some_and(message)
}

#[test]
fn a_check_that_traps_is_skipped_and_reported_if_its_description_says_so() {
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_for_deployment("the objects", |deployment| is(deployment, "Applied", "True"));
    let check = Guest::trapping_check("policy");
    let skips = ["--enforce", "--on-failure", "skip"];
    let maps = scene.add("checks", &check, &skips).unwrap();
    let deployment = scene.wait_for_deployment("the skipped check", |deployment| {
        reports(deployment, "; the check is skipped")
    });
    let reported = healthy(&deployment, "False").unwrap();
    assert_eq!(reported["reason"], "PluginTrapped");
    let message = reported["message"].as_str().unwrap();
    assert!(
        message.starts_with("plugin 'policy' ") && message.contains("(sha256:"),
        "{message}"
    );
    // The event has the same text, and there is one.
    scene.wait_until_settled();
    assert_eq!(notes(&scene, "PluginTrapped"), [message]);

    // It stays reported while nothing is converted, and after a restart. The conversion goes on.
    scene.stop().unwrap();
    scene.operator.start().unwrap();
    scene.wait_until_settled();
    let deployment = scene.wait_for_deployment("the report", |deployment| reports(deployment, message));
    assert_eq!(
        condition(&deployment, "Applied").unwrap()["status"],
        "True",
        "{deployment:#}"
    );
    assert_eq!(notes(&scene, "PluginTrapped"), [message]);

    // Without the member it fails the conversion; without the plugin all is well.
    let fails = scene.add("checks", &check, &[]).unwrap();
    assert_ne!(fails, maps);
    let failed = scene.wait_for_deployment("the failure", |deployment| is(deployment, "Converted", "False"));
    assert_eq!(
        condition(&failed, "Converted").unwrap()["reason"],
        "PluginTrapped",
        "{failed:#}"
    );
    let message = why_unhealthy(&failed);
    assert!(
        message.contains("(sha256:") && !message.contains("the check is skipped"),
        "{message}"
    );
    scene.remove(&fails).unwrap();
    scene.wait_for_deployment("the end of the check", |deployment| {
        is(deployment, "Converted", "True") && healthy(deployment, "True").is_some()
    });
}
