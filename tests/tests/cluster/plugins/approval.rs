//! Approval of updates of plugins, with a real API server and the real operator.

use crate::guests::Guest;
use crate::plugins::scene::{Scene, hooked};

/// An operator that requires approvals, with a deployment.
fn scene() -> Scene {
    let scene = Scene::with(|_, here, there| {
        let arguments = ["--namespace", here, "--namespace", there, "--plugin-updates", "approve"];
        Ok(arguments.map(String::from).into())
    });
    let scene = scene.unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");
    scene
}

/// Applies a plugin whose object has this value.
fn add(scene: &Scene, value: &str, more: &[&str]) {
    let plugin = Guest::resources("hook", &hooked(value));
    scene.add("resources", &plugin, more).unwrap();
}

fn succeeds(scene: &Scene, words: &[&str]) -> String {
    let ran = scene.plugin(words);
    assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
    ran.stdout
}

fn restart(scene: &mut Scene) {
    scene.operator.kill();
    scene.operator.start().unwrap();
}

/// The digest in the command that a message contains.
fn digest(message: &str) -> String {
    let (_, rest) = message.split_once("--digest ").unwrap();
    rest.split('`').next().unwrap().to_string()
}

#[test]
fn an_update_waits_for_its_approval_while_the_last_good_version_stays() {
    let scene = scene();
    add(&scene, "1", &["--deployment", "nats"]);
    let first = scene.wait_for_refusal("PluginNotApproved", "it gains the name 'hook'; the stage 'resources'");
    assert!(first.contains("all namespaces; deployments: 'nats'"), "{first}");
    assert!(scene.get("configmap/hooked").is_err(), "it was used");
    let shown = succeeds(&scene, &["approve", "hook", "--dry-run"]);
    assert!(shown.starts_with("plugin 'hook' is not approved\n"), "{shown}");
    assert!(shown.contains(&digest(&first)), "{shown}");
    assert!(scene.get("pluginapproval/hook").is_err(), "--dry-run");
    let shown = succeeds(&scene, &["approve", "hook"]);
    assert!(shown.starts_with("plugin 'hook' approved\n"), "{shown}");
    scene.wait_for_hooked("1");
    scene.wait_until_healthy();

    // Another component.
    add(&scene, "2", &["--deployment", "nats"]);
    let second = scene.wait_for_refusal("PluginNotApproved", "it gains the component sha256:");
    assert!(!second.contains("deployments:"), "only what is new: {second}");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "1");
    let history = || succeeds(&scene, &["history", "hook"]);
    let recorded = || Ok(history().contains("  pending  "));
    scene.wait_until("its record", recorded);
    let other = scene.plugin(&["approve", "hook", "--digest", &digest(&first)]);
    assert!(
        other.code == 1 && other.stderr.contains("has changed: its digest is"),
        "{}",
        other.stderr
    );
    succeeds(&scene, &["approve", "hook", "--digest", &digest(&second)]);
    scene.wait_for_hooked("2");
    scene.wait_until_healthy();

    // It differs only by serving fewer deployments.
    add(
        &scene,
        "2",
        &["--deployment", "nats", "--in-namespace", &scene.namespace],
    );
    let narrower = || Ok(!history().contains("  pending  ") && history().matches("  superseded  ").count() == 2);
    scene.wait_until("the narrower version", narrower);
    scene.wait_until_healthy();
    let shown = succeeds(&scene, &["approve", "hook"]);
    assert!(shown.starts_with("plugin 'hook' is approved already\n"), "{shown}");

    // More deployments.
    add(&scene, "2", &[]);
    scene.wait_for_refusal("PluginNotApproved", "it gains all deployments");

    // An earlier version was approved.
    add(&scene, "1", &["--deployment", "nats"]);
    scene.wait_for_hooked("1");
    scene.wait_until_healthy();
}

#[test]
fn after_a_restart_a_version_that_waits_is_not_used_and_nothing_changes() {
    let mut scene = scene();
    add(&scene, "1", &[]);
    scene.wait_for_refusal("PluginNotApproved", "it gains");
    succeeds(&scene, &["approve", "hook"]);
    scene.wait_for_hooked("1");
    restart(&mut scene);
    scene.wait_until_healthy();

    add(&scene, "2", &[]);
    scene.wait_for_refusal("PluginNotApproved", "it gains the component sha256:");
    restart(&mut scene);
    scene.wait_for_refusal(
        "PluginNotApproved",
        "plugin 'hook' was used and waits for an approval; nothing is changed",
    );
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "1");
    succeeds(&scene, &["rollback", "hook"]);
    scene.wait_until_healthy();
    scene.wait_for_hooked("1");

    // Without its approval, the version in use is no longer used. Objects stay.
    scene.kubectl(&["delete", "pluginapproval/hook"]).unwrap();
    scene.wait_for_refusal("PluginNotApproved", "plugin 'hook' was used and waits for an approval");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "1");
    succeeds(&scene, &["approve", "hook", "--only"]);
    scene.wait_until_healthy();
}

#[test]
fn users_who_write_plugins_cannot_approve_them() {
    let scene = scene();
    let may = |user: &str, what: &str| {
        let asked = [
            "--namespace",
            &scene.namespace,
            "auth",
            "can-i",
            "create",
            what,
            "--as",
            user,
        ];
        scene.cluster.try_kubectl(asked, "").unwrap().success
    };
    let bind = |role: &str, user: &str| {
        let (kind, of) = (format!("--clusterrole={role}"), format!("--user={user}"));
        scene.kubectl(&["create", "rolebinding", user, &kind, &of]).unwrap();
    };
    bind("edit", "author");
    assert!(may("author", "configmaps"));
    assert!(!may("author", "pluginapprovals.quarks.cloudfoundry.org"));
}
