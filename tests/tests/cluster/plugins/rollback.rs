//! `host plugin history` and `host plugin rollback`.

use super::scene::{Scene, healthy, hooked, uses};
use crate::guests::Guest;
use anyhow::ensure;
use boson_tests::WAIT_TIMEOUT;

/// Waits until the versions of the plugin `hook` that were active have these states, and are kept; returns their
/// numbers. While parts of a version are being applied one after the other, versions may be rejected.
fn wait_for_history(scene: &Scene, wanted: &[&str]) -> Vec<String> {
    let look = || {
        let shown = scene.plugin(&["history", "hook"]).stdout;
        let rows = shown
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect::<Vec<&str>>());
        let rows: Vec<Vec<&str>> = rows.filter(|cells| cells[2] != "rejected").collect();
        let states: Vec<&str> = rows.iter().map(|cells| cells[2]).collect();
        let are_kept = rows.iter().all(|cells| cells[5] == "yes");
        ensure!(states == wanted && are_kept, "{shown}");
        Ok(rows.iter().map(|cells| cells[1].to_string()).collect())
    };
    scene
        .operator
        .wait_for_value(&format!("{wanted:?}"), WAIT_TIMEOUT, look)
        .unwrap()
}

fn rolls_back(scene: &Scene, more: &[&str]) -> String {
    let back = scene.plugin(&[&["rollback", "hook"], more].concat());
    assert_eq!(back.code, 0, "{}", back.stderr);
    back.stdout
}

fn is_refused(scene: &Scene, words: &[&str], why: &str) {
    let refused = scene.plugin(words);
    assert!(refused.code == 1 && refused.stderr.contains(why), "{}", refused.stderr);
}

#[test]
fn one_command_rolls_back_to_an_earlier_version() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    // The first version has two parts, and the second one part.
    let first = Guest::large("hook", &hooked("1"), 1 << 20);
    let first = scene.add("resources", &first, &["--uncompressed"]).unwrap();
    scene.wait_for_hooked("1");
    wait_for_history(&scene, &["active"]);
    is_refused(&scene, &["rollback", "hook"], "keeps no other version");
    let second = scene
        .add("resources", &Guest::resources("hook", &hooked("2")), &[])
        .unwrap();
    scene.cluster.delete(&scene.namespace, "configmap/hook-1").unwrap();
    scene.wait_for_hooked("2");
    let numbers = wait_for_history(&scene, &["superseded", "active"]);

    let said = rolls_back(&scene, &[]);
    assert!(
        said.starts_with("plugin 'hook' rolled back to revision 1 (sha256:"),
        "{said}"
    );
    scene.wait_for_hooked("1");
    wait_for_history(&scene, &["superseded", "active"]);
    let deployment = scene.wait_until_healthy();
    assert!(uses(&deployment, "resources", "hook"));

    // A part that the version does not have is deleted.
    rolls_back(&scene, &["--to-revision", &numbers[1]]);
    assert!(scene.get("configmap/hook-1").is_err());
    scene.wait_for_hooked("2");

    // After a rejected version, the last good one.
    scene
        .apply(&second.replace("digest: sha256:", "digest: sha256:00"))
        .unwrap();
    scene.wait_for_deployment("the rejection", |deployment| healthy(deployment, "False").is_some());
    rolls_back(&scene, &[]);
    scene.wait_until_healthy();
    scene.wait_for_hooked("2");

    // kubectl meets no conflict with the command.
    let arguments = [
        "--namespace",
        &scene.namespace,
        "apply",
        "--server-side",
        "--filename=-",
    ];
    let applied = scene.cluster.try_kubectl(arguments, &first).unwrap();
    assert!(applied.success, "{}", applied.stderr);
    scene.wait_for_hooked("1");

    let all = scene.plugin(&["history"]).stdout;
    assert!(all.contains("PluginDocument") && all.contains("  rejected  "), "{all}");
    is_refused(&scene, &["rollback", "other"], "there is no ConfigMap");
    is_refused(&scene, &["rollback", "hook", "--to-revision", "99"], "no revision 99");
}
