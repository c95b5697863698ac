//! `host plugin history` and `host plugin rollback`.

use super::scene::{HOOKED, Scene, healthy, uses};
use crate::guests::Guest;
use boson_tests::WAIT_TIMEOUT;
use boson_tests::{Ran, host};

/// Runs `host plugin` in the namespace of the deployment.
fn plugin_command(scene: &Scene, words: &[&str]) -> Ran {
    let kubeconfig = scene.cluster.kubeconfig();
    let place = ["--namespace", &scene.here, "--kubeconfig", kubeconfig.to_str().unwrap()];
    let words = ["plugin"].iter().chain(words).chain(&place);
    host(scene.operator.files(), words).unwrap()
}

/// Waits until the versions of the plugin `hook` that were active have these states, and are kept; returns their
/// numbers. While parts of a version are being applied one after the other, versions may be rejected.
fn has_history(scene: &Scene, wanted: &[&str]) -> Vec<String> {
    let mut numbers = Vec::new();
    let look = || {
        let shown = plugin_command(scene, &["history", "hook"]).stdout;
        let rows = shown
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect::<Vec<&str>>());
        let rows: Vec<Vec<&str>> = rows.filter(|cells| cells[2] != "rejected").collect();
        numbers = rows.iter().map(|cells| cells[1].to_string()).collect();
        let states: Vec<&str> = rows.iter().map(|cells| cells[2]).collect();
        Ok(states == wanted && rows.iter().all(|cells| cells[5] == "yes"))
    };
    let log = || scene.operator.log();
    scene
        .operator
        .until(&format!("{wanted:?}"), WAIT_TIMEOUT, look, log)
        .unwrap();
    numbers
}

#[test]
fn one_command_rolls_back_to_an_earlier_version() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let hooked = |value: &str| HOOKED.replace("\"b\"", &format!("\"{value}\""));
    let has = |value: &'static str| {
        let what = format!("the object of version {value}");
        let look = || Ok(scene.get("configmap/hooked").is_ok_and(|map| map["data"]["a"] == value));
        scene
            .operator
            .until(&what, WAIT_TIMEOUT, look, || scene.operator.log())
            .unwrap();
    };
    // The first version has two parts, and the second one part.
    let first = Guest::large("hook", &hooked("1"), 1 << 20);
    let first = scene
        .add(&scene.here, "resources", &first, &["--uncompressed"])
        .unwrap();
    has("1");
    has_history(&scene, &["active"]);
    let none = plugin_command(&scene, &["rollback", "hook"]);
    assert!(
        none.code == 1 && none.stderr.contains("keeps no other version"),
        "{}",
        none.stderr
    );
    let second = scene
        .add(&scene.here, "resources", &Guest::resources("hook", &hooked("2")), &[])
        .unwrap();
    scene
        .cluster
        .kubectl(["--namespace", &scene.here, "delete", "configmap", "hook-1"])
        .unwrap();
    has("2");
    let numbers = has_history(&scene, &["superseded", "active"]);

    let back = plugin_command(&scene, &["rollback", "hook"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(
        back.stdout
            .starts_with("plugin 'hook' rolled back to revision 1 (sha256:"),
        "{}",
        back.stdout
    );
    has("1");
    has_history(&scene, &["superseded", "active"]);
    let deployment = scene.wait("health", |deployment| healthy(deployment, "True").is_some());
    assert!(uses(&deployment, "resources", "hook"));

    // A part that the version does not have is deleted.
    let back = plugin_command(&scene, &["rollback", "hook", "--to-revision", &numbers[1]]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(scene.get("configmap/hook-1").is_err());
    has("2");

    // After a rejected version, the last good one.
    scene
        .apply(&scene.here, &second.replace("digest: sha256:", "digest: sha256:00"))
        .unwrap();
    scene.wait("the rejection", |deployment| healthy(deployment, "False").is_some());
    let back = plugin_command(&scene, &["rollback", "hook"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    scene.wait("health", |deployment| healthy(deployment, "True").is_some());
    has("2");

    // kubectl meets no conflict with the command.
    let arguments = ["--namespace", &scene.here, "apply", "--server-side", "--filename=-"];
    let applied = scene.cluster.try_kubectl(arguments, &first).unwrap();
    assert!(applied.success, "{}", applied.stderr);
    has("1");

    let all = plugin_command(&scene, &["history"]).stdout;
    assert!(all.contains("PluginDocument") && all.contains("  rejected  "), "{all}");
    let unknown = plugin_command(&scene, &["rollback", "other"]);
    assert!(
        unknown.code == 1 && unknown.stderr.contains("there is no ConfigMap"),
        "{}",
        unknown.stderr
    );
    let unknown = plugin_command(&scene, &["rollback", "hook", "--to-revision", "99"]);
    assert!(
        unknown.code == 1 && unknown.stderr.contains("no revision 99"),
        "{}",
        unknown.stderr
    );
}
