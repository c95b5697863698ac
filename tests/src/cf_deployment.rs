//! A manifest in the shape of cf-deployment's, and releases with its jobs.

mod needs;
pub mod report;

use crate::root;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Jobs whose programs or files others use. The jobs `*-buildpack` are more of them.
const WITHOUT_PROCESSES: [&str; 7] = [
    "bosh-dns-aliases",
    "bpm",
    "cf-cli-8-linux",
    "cfdot",
    "cflinuxfs4-rootfs-setup",
    "garden-cni",
    "silk-cni",
];
/// Jobs of each release, by name.
pub type Releases = BTreeMap<String, BTreeMap<String, Job>>;

/// A job of a release, as the manifest uses it.
#[derive(Debug, Default)]
pub struct Job {
    provides: BTreeSet<String>,
    consumes: BTreeSet<String>,
}

/// The manifest.
///
/// # Errors
/// It cannot be read.
pub fn manifest() -> Result<String> {
    Ok(fs::read_to_string(root().join("tests/cf-deployment/manifest.yml"))?)
}

/// The items of a list; none if it is something else.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text; empty if it is something else.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether the job runs a process.
pub fn has_process(job: &str) -> bool {
    !WITHOUT_PROCESSES.contains(&job) && !job.ends_with("-buildpack")
}

/// All releases, each with its jobs.
pub fn releases(manifest: &Value) -> Releases {
    let mut releases = Releases::new();
    let owners = list(&manifest["instance_groups"])
        .iter()
        .chain(list(&manifest["addons"]));
    for used in owners.flat_map(|owner| list(&owner["jobs"])) {
        let release = releases.entry(text(&used["release"]).into()).or_default();
        let job = release.entry(text(&used["name"]).into()).or_default();
        for (key, links) in [("provides", &mut job.provides), ("consumes", &mut job.consumes)] {
            links.extend(
                used[key]
                    .as_object()
                    .into_iter()
                    .flat_map(|links| links.keys().cloned()),
            );
        }
    }
    releases
}

/// A release directory of jobs with one process each, whose argument differs between instances, and with what some jobs
/// need of a VM.
///
/// # Errors
/// The files cannot be written.
pub fn write_release(directory: &Path, name: &str, jobs: &BTreeMap<String, Job>) -> Result<()> {
    let links =
        |names: &BTreeSet<String>| -> Value { names.iter().map(|name| json!({"name": name, "type": name})).collect() };
    for (job, used) in jobs {
        let place = directory.join("jobs").join(job);
        fs::create_dir_all(place.join("templates"))?;
        let needs = needs::of(job);
        let mut templates = json!({"given.json": "config/given.json"});
        fs::write(place.join("templates/given.json"), "<%= p('given', nil).to_json %>\n")?;
        fs::write(place.join("monit"), "")?;
        if has_process(job) {
            templates["bpm.yml"] = "config/bpm.yml".into();
            let more = needs.process.replace("NAME", job);
            let bpm =
                format!("processes:\n- name: {job}\n  executable: /bin/{job}\n  args: [\"<%= spec.id %>\"]\n{more}");
            fs::write(place.join("templates/bpm.yml"), bpm)?;
        }
        for (destination, text) in needs.files {
            let file = destination.replace('/', "-");
            fs::write(place.join("templates").join(&file), text)?;
            templates[file] = (*destination).into();
        }
        for package in needs.packages {
            let place = directory.join("packages").join(package);
            fs::create_dir_all(&place)?;
            fs::write(place.join("spec"), json!({"name": package, "files": []}).to_string())?;
        }
        let mut properties = json!({"given": {}});
        for (name, default) in needs.properties {
            properties[*name] = json!({"default": serde_json::from_str::<Value>(default)?});
        }
        let spec = json!({
            "name": job, "templates": templates, "packages": needs.packages, "properties": properties,
            "provides": links(&used.provides), "consumes": links(&used.consumes)
        });
        fs::write(place.join("spec"), spec.to_string())?;
    }
    fs::create_dir_all(directory.join("config"))?;
    fs::write(directory.join("config/final.yml"), format!("name: {name}\n"))?;
    Ok(())
}
