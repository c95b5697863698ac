//! The operator with the memory limit of `deploy/` converts a deployment as large as cf-deployment: its groups, jobs
//! and addons, 3,000 lines, twelve anchors and 44 aliases.

use crate::objects::{condition, config_map, is};
use crate::operator::Environment;
use boson_tests::cf_deployment::{self, list, releases, write_release};
use boson_tests::cluster::{peak, shared};
use boson_tests::root;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// The keys of its certificates take most of it, on a busy machine.
const CONVERSION_TIMEOUT: Duration = Duration::from_secs(600);
const ANCHORS: usize = 12;
const ALIASES: usize = 44;
/// Lines of the properties of a job.
const PROPERTIES: usize = 60;

/// The memory limit of the operator's container, in bytes.
fn limit() -> u64 {
    let file = fs::read_to_string(root().join("deploy/operator/operator.yaml")).unwrap();
    let deployed: Value = serde_yaml::from_str(&file).unwrap();
    let container = &deployed["spec"]["template"]["spec"]["containers"][0];
    let memory = container["resources"]["limits"]["memory"].as_str().unwrap();
    memory.strip_suffix("Gi").unwrap().parse::<u64>().unwrap() << 30
}

/// The manifest with properties for all jobs: anchors first, then aliases of them, then others.
fn manifest() -> String {
    let mut manifest: Value = serde_yaml::from_str(&cf_deployment::manifest().unwrap()).unwrap();
    for group in manifest["instance_groups"].as_array_mut().unwrap() {
        for job in group["jobs"].as_array_mut().unwrap() {
            if job["properties"].is_null() {
                job["properties"] = json!({"given": "PLACE"});
            }
        }
    }
    let text = serde_yaml::to_string(&manifest).unwrap();
    let mut parts = text.split("PLACE");
    let mut whole = parts.next().unwrap().to_string();
    for (nth, part) in parts.enumerate() {
        let line = whole.lines().last().unwrap();
        let indent = " ".repeat(line.len() - line.trim_start().len() + 2);
        let of = nth % ANCHORS;
        if (ANCHORS..ANCHORS + ALIASES).contains(&nth) {
            whole.push_str(&format!("*given_{of}"));
        } else {
            if nth < ANCHORS {
                whole.push_str(&format!("&given_{of}"));
            }
            for key in 0..PROPERTIES {
                whole.push_str(&format!("\n{indent}key_{key}: the value {key} of the properties {nth}"));
            }
        }
        whole.push_str(part);
    }
    whole
}

#[test]
#[allow(
    clippy::print_stderr,
    reason = "libtest shows the measured memory where it is asked for"
)]
fn the_operator_as_shipped_converts_cf_deployment_within_its_limit() {
    let limit = limit();
    let other = shared().unwrap().namespace("cf-beside").unwrap();
    let Some(env) = Environment::limited("cf", limit, &other, &["--webhook-listen", "off"]).unwrap() else {
        return;
    };
    let manifest = manifest();
    assert_eq!(manifest.matches("*given_").count(), ALIASES);
    assert!(manifest.lines().count() > 2_500, "{} lines", manifest.lines().count());
    let parsed: Value = serde_yaml::from_str(&manifest).unwrap();
    push_releases(&env, &parsed);
    env.apply(&objects(&env, &manifest)).unwrap();
    let applied = || {
        let deployment = env.get("boshdeployment/cf")?;
        let converted = condition(&deployment, "Converted").cloned().unwrap_or_default();
        assert_ne!(converted["status"], "False", "{converted}");
        Ok(is(&deployment, "Applied", "True"))
    };
    env.operator
        .wait_until("cf-deployment", CONVERSION_TIMEOUT, applied, || env.everything())
        .unwrap();

    let services = list(&parsed["instance_groups"]).iter();
    let services = services.filter(|group| group["lifecycle"] != "errand").count();
    assert_eq!(env.names("quarksstatefulset").unwrap().len(), services);
    let most = peak(env.operator.process().unwrap()).unwrap();
    eprintln!("the operator took {} MiB of {} MiB", most >> 20, limit >> 20);
    assert!(most < limit / 2, "{} MiB", most >> 20);
    assert_eq!(env.operator.limit().unwrap().killed().unwrap(), 0);
}

fn push_releases(env: &Environment, manifest: &Value) {
    let versions: Vec<(&str, &str)> = list(&manifest["releases"])
        .iter()
        .filter_map(|release| Some((release["name"].as_str()?, release["version"].as_str()?)))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for (name, jobs) in releases(manifest) {
        // Its aliases are read from the manifest.
        if name == "bosh-dns-aliases" {
            continue;
        }
        let place = folder.path().join(&name);
        write_release(&place, &name, &jobs).unwrap();
        let (_, version) = versions.iter().find(|(one, _)| *one == name).unwrap();
        let image = format!("{name}:ubuntu-noble-1.425-{version}");
        env.registry.push_release(&image, &place).unwrap();
    }
}

/// The manifest, its ops files and its given values.
fn objects(env: &Environment, manifest: &str) -> Vec<Value> {
    let example = root().join("docs/examples/cf-deployment");
    let read = |path: &str| fs::read_to_string(example.join(path)).unwrap();
    let given = [
        ("system-domain", "cf.example.com"),
        ("storage-class", "standard"),
        ("zone1", "eu-1a"),
        ("zone2", "eu-1b"),
    ];
    let mut objects: Vec<Value> = given
        .iter()
        .map(|(name, value)| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("cf.var-implicit-{name}")},
                "stringData": {"value": value}})
        })
        .collect();
    let ops = ["ports", "ports-mysql", "errands"];
    objects.extend(ops.map(|name| config_map(name, "ops", &read(&format!("ops/{name}.yml")))));
    let mut deployment = env.deployment_of("cf", "cf", &ops);
    deployment["spec"]["cloudConfig"] = json!({"type": "configmap", "name": "cloud"});
    objects.extend([
        config_map("cf", "manifest", manifest),
        config_map("cloud", "cloud-config", &read("cloud-config.yml")),
        deployment,
    ]);
    objects
}
