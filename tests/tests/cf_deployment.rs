//! The files beside docs/examples/cf-deployment convert a manifest in the shape of cf-deployment's, and the conversion
//! leaves out none of its instance groups, jobs and addons.

#![allow(clippy::unwrap_used, reason = "in the functions that tests share, too")]

use boson_tests::cf_deployment::{self, has_process, list, releases, text, write_release};
use boson_tests::{host, root};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Agents that ops/errands.yml removes from errands.
const AGENTS: [&str; 4] = [
    "loggregator_agent",
    "loggr-forwarder-agent",
    "loggr-syslog-agent",
    "prom_scraper",
];

/// The jobs with processes that pods of a group must run.
fn expected(manifest: &Value, group: &Value) -> BTreeSet<String> {
    let is_errand = group["lifecycle"] == "errand";
    let own = list(&group["jobs"]).iter().map(|job| text(&job["name"]));
    let addons = list(&manifest["addons"]).iter().flat_map(|addon| list(&addon["jobs"]));
    let agents = addons
        .map(|job| text(&job["name"]))
        .filter(|name| !is_errand || !AGENTS.contains(name));
    own.chain(agents)
        .filter(|job| has_process(job))
        .map(String::from)
        .collect()
}

/// The jobs whose processes the containers of a pod run.
fn jobs_of(pod: &Value) -> BTreeSet<String> {
    let job = |container: &Value| {
        let words: Vec<&str> = list(&container["command"]).iter().map(text).collect();
        let at = words.iter().position(|word| *word == "--job")?;
        words.get(at + 1).map(ToString::to_string)
    };
    list(&pod["containers"]).iter().filter_map(job).collect()
}

#[test]
fn every_group_job_and_addon_of_its_shape_is_converted() {
    let example = root().join("docs/examples/cf-deployment");
    let directory = tempfile::tempdir().unwrap();
    let copied = std::process::Command::new("cp")
        .args(["-r"])
        .arg(example.join("."))
        .arg(directory.path())
        .status();
    assert!(copied.unwrap().success());
    let manifest = cf_deployment::manifest().unwrap();
    fs::write(directory.path().join("cf-deployment.yml"), &manifest).unwrap();
    let manifest: Value = serde_yaml::from_str(&manifest).unwrap();
    let mut arguments: Vec<String> = ["convert", "cf-deployment.yml", "--target", "quarks"]
        .map(String::from)
        .into();
    for variable in [
        "system_domain=cf.example.com",
        "storage_class=standard",
        "zone1=eu-1a",
        "zone2=eu-1b",
    ] {
        arguments.extend(["-v".into(), variable.into()]);
    }
    for (name, jobs) in releases(&manifest) {
        // Its aliases are read from the manifest.
        if name != "bosh-dns-aliases" {
            write_release(&directory.path().join("releases").join(&name), &name, &jobs).unwrap();
            arguments.extend(["--release".into(), format!("releases/{name}")]);
        }
    }
    let ran = host(directory.path(), &arguments).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let objects: Vec<Value> = serde_yaml::Deserializer::from_str(&ran.stdout)
        .map(|document| Value::deserialize(document).unwrap())
        .collect();
    for group in list(&manifest["instance_groups"]) {
        let (name, kind) = if group["lifecycle"] == "errand" {
            (text(&group["name"]), "QuarksJob")
        } else {
            (text(&group["name"]), "QuarksStatefulSet")
        };
        let is_of_group = |object: &&Value| {
            object["kind"] == kind
                && object["metadata"]["labels"]["quarks.cloudfoundry.org/instance-group-name"] == name
        };
        let object = objects
            .iter()
            .find(is_of_group)
            .unwrap_or_else(|| panic!("no {kind} of '{name}'"));
        let pod = &object["spec"]["template"]["spec"]["template"]["spec"];
        assert_eq!(jobs_of(pod), expected(&manifest, group), "jobs of '{name}'");
    }
    let warnings: BTreeSet<&str> = ran.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    eprintln!("{}", ran.stderr);
    assert!(warnings.len() < 10, "{warnings:#?}");
}
