//! New versions of a plugin: their cases, a trial as a shadow, their change during conversions, and their metrics.

use super::scene::{HOOKED, Scene, healthy, hooked, is_unhealthy, uses, why_unhealthy};
use crate::guests::Guest;
use crate::objects::is;
use anyhow::{Context, Result, ensure};
use boson_tests::host;
use serde_json::{Value, json};
use std::fs;

/// A directory with a case for hooks, and the reply of this one.
fn case_of(scene: &Scene, hook: &[u8]) -> Result<String> {
    let folder = scene.operator.files().join("cases/example");
    fs::create_dir_all(&folder)?;
    let call = json!({"stage": "resources", "function": "transform",
        "view": {"target": "quarks", "manifest": {}, "groups": [], "objects": []}, "context": {}});
    fs::write(folder.join("call.json"), call.to_string())?;
    let file = scene.operator.files().join("plugin.wasm");
    fs::write(&file, hook)?;
    let cases = folder
        .parent()
        .and_then(|cases| cases.to_str())
        .context("a path of text")?;
    let file = file.to_str().context("a path of text")?;
    let tested = host(scene.operator.files(), ["plugin", "test", file, cases, "--update"])?;
    ensure!(tested.code == 0, "{}{}", tested.stdout, tested.stderr);
    Ok(cases.to_string())
}

#[test]
fn a_version_that_fails_its_case_is_rejected_and_the_last_good_one_stays() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let first = Guest::resources("hook", HOOKED);
    let cases = case_of(&scene, &first).unwrap();
    let maps = scene.add("resources", &first, &["--cases", &cases]).unwrap();
    let deployment = scene.wait_until_used("resources", "hook");
    assert!(healthy(&deployment, "True").is_some(), "{deployment:#}");
    let digest = |deployment: &Value| {
        let used = deployment["status"]["plugins"].as_array().unwrap();
        let hook = used.iter().find(|one| one["name"] == "hook");
        hook.map(|hook| hook["digest"].to_string())
    };
    let before = digest(&deployment);

    // `host plugin pack` refuses this; whoever writes the ConfigMap in another way meets the operator.
    let second = Guest::resources("hook", &hooked("c"));
    let file = scene.operator.files().join("plugin.wasm");
    fs::write(&file, &second).unwrap();
    let packed = host(
        scene.operator.files(),
        ["plugin", "pack", "resources", file.to_str().unwrap()],
    )
    .unwrap();
    let mut bad = crate::shared_cluster::documents(&packed.stdout).remove(0);
    let old = crate::shared_cluster::documents(&maps).remove(0);
    bad["binaryData"]["cases.json.zst"] = old["binaryData"]["cases.json.zst"].clone();
    assert!(bad["binaryData"]["cases.json.zst"].is_string());
    scene.apply(&bad.to_string()).unwrap();
    let deployment = scene.wait_for_deployment("the failed case", |deployment| {
        is_unhealthy(deployment, "PluginCaseFailed")
    });
    let message = why_unhealthy(&deployment).to_string();
    for words in [
        "plugin 'hook', sha256:",
        "case 'example' failed",
        "at '/ok/edits/0/add/data/a'",
    ] {
        assert!(message.contains(words), "{message}");
    }
    assert!(!message.contains("\"c\""), "no values: {message}");
    assert_eq!(digest(&deployment), before, "the last good version stays");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    let events = scene.get("events.events.k8s.io").unwrap().to_string();
    assert!(events.contains("PluginCaseFailed"), "no event");

    let cases = case_of(&scene, &second).unwrap();
    scene.add("resources", &second, &["--cases", &cases]).unwrap();
    let deployment = scene.wait_for_deployment("the second version", |deployment| digest(deployment) != before);
    assert!(healthy(&deployment, "True").is_some(), "{deployment:#}");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "c");
}

#[test]
fn a_version_that_traps_in_every_call_is_rejected_or_reported() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.add("resources", &Guest::resources("hook", HOOKED), &[]).unwrap();
    let before = scene.wait_until_used("resources", "hook")["status"]["plugins"].clone();
    let trapping = Guest::trapping("hook");
    let maps = scene.add("resources", &trapping, &[]).unwrap();
    let trapped = |deployment: &Value| is_unhealthy(deployment, "PluginTrapped");
    let deployment = scene.wait_for_deployment("the rejection", trapped);
    assert_eq!(deployment["status"]["plugins"], before, "the last good version stays");
    assert!(is(&deployment, "Applied", "True"), "{deployment:#}");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");

    // Without an earlier version, the conversion fails, and nothing is changed.
    scene.remove(&maps).unwrap();
    scene.wait_until_healthy();
    scene.apply(&maps).unwrap();
    let deployment = scene.wait_for_deployment("the failure", |deployment| {
        trapped(deployment) && is(deployment, "Converted", "False")
    });
    let message = healthy(&deployment, "False").unwrap()["message"].to_string();
    assert!(
        message.contains("plugin 'hook' ") && message.contains("(sha256:"),
        "{message}"
    );
    scene.remove(&maps).unwrap();
    scene.wait_for_deployment("the recovery", |deployment| {
        healthy(deployment, "True").is_some() && is(deployment, "Applied", "True")
    });
}

#[test]
fn a_shadow_plugin_reports_what_it_would_change_and_changes_nothing() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let hook = Guest::resources("hook", HOOKED);
    scene.add("resources", &hook, &[]).unwrap();
    scene.wait_until_used("resources", "hook");
    let before = scene.get("configmap/hooked").unwrap();
    let condition = |deployment: &Value, kind: &str| {
        let all = deployment["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.into_iter().find(|one| one["type"] == kind)
    };
    let shadow = |component: &[u8], status: &'static str, words: &'static str| {
        let maps = scene.add("resources", component, &["--shadow"]).unwrap();
        assert!(maps.contains("name: hook-shadow"), "{maps}");
        let deployment = scene.wait_for_deployment(words, |deployment| {
            condition(deployment, "ShadowPluginsAgree").is_some_and(|one| {
                one["status"] == status && one["message"].as_str().is_some_and(|text| text.contains(words))
            })
        });
        for kind in ["Converted", "Applied", "PluginsHealthy"] {
            assert_eq!(
                condition(&deployment, kind).unwrap()["status"],
                "True",
                "{deployment:#}"
            );
        }
        let used = deployment["status"]["plugins"].as_array().unwrap();
        assert_eq!(
            used.iter().filter(|one| one["stage"] == "resources").count(),
            1,
            "{used:?}"
        );
        (maps, deployment)
    };

    let other = Guest::resources("hook", &hooked("other"));
    let (_, deployment) = shadow(&other, "False", "1 of 1 calls differ: ConfigMap/hooked /data/a");
    let message = condition(&deployment, "ShadowPluginsAgree").unwrap()["message"].to_string();
    assert!(message.contains("shadow plugin 'hook', sha256:"), "{message}");
    assert!(!message.contains("other"), "no values: {message}");
    let events = scene.get("events.events.k8s.io").unwrap().to_string();
    assert!(events.contains("PluginShadowDiffers"), "no event");
    let metrics = scene.operator.ask("/metrics").unwrap();
    let counted = metrics.lines().any(|line| {
        line.starts_with("boson_plugin_shadow_calls_total{")
            && line.contains("reply=\"different\"} ")
            && !line.ends_with(" 0")
    });
    assert!(counted, "{metrics}");

    shadow(&Guest::endless("hook"), "False", "1 of 1 calls failed: plugin-");
    let (maps, _) = shadow(&hook, "True", "no difference in 1 calls");
    assert_eq!(scene.get("configmap/hooked").unwrap(), before, "no effect");
    scene.remove(&maps).unwrap();
    scene.wait_for_deployment("the end of the condition", |deployment| {
        condition(deployment, "ShadowPluginsAgree").is_none()
    });
}

#[test]
fn new_versions_while_a_deployment_is_converted_fail_no_conversion() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.wait_until_used("ops", "ops");
    let conversions = || {
        let metrics = scene.operator.ask("/metrics").unwrap();
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("boson_conversions_total "));
        count.unwrap().trim().parse::<u32>().unwrap()
    };
    let before = conversions();
    for version in 0..=12 {
        // Alone, beside an input that changes, and faster than conversions end.
        let value = version.to_string();
        let hook = Guest::resources("hook", &hooked(&value));
        scene.add("resources", &hook, &[]).unwrap();
        let scale = format!("- type: replace\n  path: /tags?/round\n  value: \"{version}\"\n");
        let ops = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nats-scale"}, "data": {"ops": scale}});
        scene.apply(&ops.to_string()).unwrap();
        if version % 4 == 0 {
            scene.wait_for_hooked(&value);
        }
        let conditions = scene.get("boshdeployment/nats").unwrap()["status"]["conditions"].to_string();
        assert!(
            !conditions.contains("\"PluginRefused\"") && !conditions.contains("\"PluginNotFound\""),
            "{conditions}"
        );
    }
    let deployment = scene.wait_until_healthy();
    assert!(uses(&deployment, "resources", "hook"));
    assert!(conversions() >= before + 4, "{} conversions", conversions() - before);
    let events = scene.get("events.events.k8s.io").unwrap();
    let failed: Vec<&Value> = events["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|event| event["type"] == "Warning" && event["regarding"]["kind"] == "BOSHDeployment")
        .filter(|event| {
            event["reason"]
                .as_str()
                .is_some_and(|reason| reason.starts_with("Plugin"))
        })
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let metrics = scene.operator.ask("/metrics").unwrap();
    assert!(!metrics.contains("boson_plugin_errors_total{"), "{metrics}");
}

#[test]
fn the_metrics_of_a_version_begin_and_end_with_its_use() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let maps = scene
        .add("resources", &Guest::resources("metered", HOOKED), &[])
        .unwrap();
    let deployment = scene.wait_until_used("resources", "metered");
    let used = deployment["status"]["plugins"].as_array().unwrap();
    let hook = used.iter().find(|one| one["name"] == "metered").unwrap();
    let digest = &hook["digest"].as_str().unwrap()[..12];
    let labels = format!("{{stage=\"resources\",plugin=\"metered\",digest=\"sha256:{digest}\"");
    let metrics = scene.operator.ask("/metrics").unwrap();
    let value = |name: &str| {
        let line = metrics
            .lines()
            .find(|line| line.starts_with(&format!("{name}{labels}")))?;
        line.rsplit_once(' ')?.1.parse::<f64>().ok()
    };
    for name in ["calls_total", "fuel_total", "memory_bytes", "seconds_count"] {
        let value = value(&format!("boson_plugin_{name}"));
        assert!(value.is_some_and(|value| value > 0.0), "{name}: {value:?}\n{metrics}");
    }
    assert!(!metrics.contains("boson_plugin_errors_total{"), "{metrics}");
    let rules = metrics
        .lines()
        .filter(|line| line.starts_with("boson_plugin_calls_total{"));
    assert_eq!(rules.count(), 6, "the built-in rules are counted, too: {metrics}");

    scene.remove(&maps).unwrap();
    let ended = || Ok(!scene.operator.ask("/metrics")?.contains(digest));
    scene.wait_until("the end of its series", ended);
}
