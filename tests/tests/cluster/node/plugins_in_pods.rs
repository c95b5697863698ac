//! Plugins from ConfigMaps, with conversion in pods: the operator's plugins are mounted in the pods of each step, and
//! those pods convert with them.

use super::conversion::load_releases;
use crate::guests::Guest;
use crate::objects::{condition, is};
use crate::operator::Environment;
use crate::plugins::scene::{altered, built_in};
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::with_node;
use boson_tests::compiled::sha256;
use boson_tests::host;
use serde_json::{Value, json};
use std::fs;

/// The text of every rendered template.
const CONTENT: &str = "processes: [{name: other, executable: /bin/other}]";

/// The ConfigMaps that `host plugin pack` writes for a component.
fn packed(stage: &str, component: &[u8]) -> Result<Vec<Value>> {
    let scratch = tempfile::tempdir()?;
    fs::write(scratch.path().join("plugin.wasm"), component)?;
    let packed = host(scratch.path(), ["plugin", "pack", stage, "plugin.wasm"])?;
    ensure!(packed.code == 0, "{}", packed.stderr);
    Ok(crate::shared_cluster::documents(&packed.stdout))
}

/// Like [`packed`] for `links`, written by hand: in this number of ConfigMaps, the first one last.
fn in_parts(name: &str, component: &[u8], parts: usize) -> Vec<Value> {
    let digest = sha256(component);
    let document = format!("name: {name}\ndigest: sha256:{digest}\nparts: {parts}\n");
    let chunks = component.chunks(component.len().div_ceil(parts)).enumerate();
    let mut maps: Vec<Value> = chunks
        .map(|(nth, chunk)| {
            let part = if nth == 0 { name.to_string() } else { format!("{name}-{nth}") };
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": part, "labels": {"quarks.cloudfoundry.org/plugin": "links"},
                    "annotations": if nth == 0 { json!({}) } else { json!({"quarks.cloudfoundry.org/plugin-part-of": name}) },
                },
                "data": if nth == 0 { json!({"plugin.yaml": document}) } else { json!({}) },
                "binaryData": {format!("plugin.wasm.{nth}"): STANDARD.encode(chunk)},
            })
        })
        .collect();
    maps.rotate_left(1);
    maps
}

/// Whether these plugins were used last, and the objects are up to date.
fn by(deployment: &Value, names: &[(&str, &str)]) -> bool {
    let used = deployment["status"]["plugins"].as_array();
    let uses = |(stage, name): &(&str, &str)| {
        used.is_some_and(|used| used.iter().any(|one| one["stage"] == *stage && one["name"] == *name))
    };
    is(deployment, "Applied", "True") && is(deployment, "Converted", "True") && names.iter().all(uses)
}

/// The newest Secret of a series, decoded, as one text.
fn newest(env: &Environment, series: &str) -> Result<String> {
    let names = env.names("secret")?;
    let number = |name: &str| name.strip_prefix(series)?.strip_prefix("-v")?.parse::<u32>().ok();
    let newest = names
        .iter()
        .filter_map(|name| Some((number(name)?, name)))
        .max()
        .context("no version")?;
    let secret = env.get(&format!("secret/{}", newest.1))?;
    let values = secret["data"].as_object().context("no data")?.values();
    values.map(|value| env.decoded(value)).collect()
}

/// The copies that the pods of a step mount, by the volumes of its QuarksJob.
fn carried(env: &Environment, step: &str, plugin: &str) -> Result<usize> {
    let job = env.get(&format!("quarksjob/{step}-nats"))?.to_string();
    let copies = env.names("configmap")?;
    let of = |name: &&String| name.starts_with(&format!("nats.plugin-{plugin}-")) && job.contains(name.as_str());
    Ok(copies.iter().filter(of).count())
}

#[test]
fn pods_convert_by_plugins_from_config_maps() {
    let Some(cluster) = with_node().unwrap() else { return };
    let env = Environment::with_pods(cluster, "carried").unwrap();
    load_releases(cluster, &env).unwrap();
    let component = altered(built_in("links"), "dns_domain_name", "dns_domain_nam3");
    let links = in_parts("other-links", &component, 3);
    env.apply(&links).unwrap();
    env.apply(&packed("render", &Guest::render("other-render", CONTENT)).unwrap())
        .unwrap();
    env.apply(&packed("variables", &Guest::variables("no-variables")).unwrap())
        .unwrap();
    env.deploy().unwrap();
    let all = [
        ("variables", "no-variables"),
        ("links", "other-links"),
        ("render", "other-render"),
    ];
    env.wait_for_deployment("three plugins", |deployment| by(deployment, &all))
        .unwrap();

    let manifest = newest(&env, "nats.desired-manifest").unwrap();
    assert!(
        manifest.contains("((broker_password))"),
        "placeholders stay: {manifest}"
    );
    assert!(
        newest(&env, "nats.ig-resolved.broker")
            .unwrap()
            .contains("dns_domain_nam3")
    );
    assert!(newest(&env, "nats.bpm.broker").unwrap().contains("/bin/other"));
    // The settings, and the component in its three parts.
    assert_eq!(carried(&env, "var-interpolation", "variables").unwrap(), 2);
    assert!(carried(&env, "data-gathering", "links").unwrap() >= 2);
    assert_eq!(carried(&env, "bpm-configs", "render").unwrap(), 2);

    a_missing_part_is_reported(&env);
    deleting_the_plugin_reverts_its_change(&env);
}

fn a_missing_part_is_reported(env: &Environment) {
    let health = |deployment: &Value, status: &str| {
        condition(deployment, "PluginsHealthy")
            .filter(|reported| reported["status"] == status)
            .cloned()
    };
    env.kubectl(&["delete", "configmap/other-links-1"]).unwrap();
    let component = altered(built_in("links"), "dns_domain_name", "dns_domain_nam4");
    let newer = in_parts("other-links", &component, 3);
    env.apply(&newer[1..]).unwrap();
    let deployment = env
        .wait_for_deployment("the missing part", |deployment| health(deployment, "False").is_some())
        .unwrap();
    let reported = health(&deployment, "False").unwrap();
    assert_eq!(reported["reason"], "PluginParts");
    let message = reported["message"].as_str().unwrap();
    assert!(message.contains("other-links"), "{message}");
    assert!(
        by(&deployment, &[("links", "other-links")]),
        "the last good one stays: {deployment:#}"
    );
    env.apply(&newer[..1]).unwrap();
    env.wait_for_deployment("the newer one", |deployment| {
        let resolved = newest(env, "nats.ig-resolved.broker").unwrap_or_default();
        health(deployment, "True").is_some() && resolved.contains("dns_domain_nam4")
    })
    .unwrap();
}

fn deleting_the_plugin_reverts_its_change(env: &Environment) {
    env.kubectl(&[
        "delete",
        "configmap/other-links",
        "configmap/other-links-1",
        "configmap/other-links-2",
    ])
    .unwrap();
    env.wait_for_deployment("the built-in rule", |deployment| by(deployment, &[("links", "links")]))
        .unwrap();
    assert!(
        newest(env, "nats.ig-resolved.broker")
            .unwrap()
            .contains("dns_domain_name")
    );
    assert_eq!(carried(env, "data-gathering", "links").unwrap(), 0);
}
