//! Rows about commands that look at a deployment with many pods.

use crate::measure::{Sample, host, process};
use crate::operator::{RELEASE, map};
use crate::rollout::make_ready;
use crate::site::Site;
use crate::table::Row;
use anyhow::Result;
use boson_tests::synthetic;
use std::fs;
use std::time::Duration;
use tokio::runtime::Runtime;

const GROUPS: usize = 50;
const INSTANCES: usize = 10;
const RUNS: usize = 5;
/// Until all pods exist.
const WAIT_TIMEOUT: Duration = Duration::from_secs(900);
const COMMANDS: [&[&str]; 8] = [
    &["instances"],
    &["instances", "--details"],
    &["instances", "--ps"],
    &["deployments"],
    &["status"],
    &["disks"],
    &["errands"],
    &["graph"],
];

pub fn commands() -> Result<Vec<Row>> {
    let mut site = Site::new("bench-commands")?;
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), GROUPS)?;
    site.registry.push_release(RELEASE, &directory.path().join("release"))?;
    site.start()?;
    let runtime = Runtime::new()?;
    let client = runtime.block_on(site.client())?;
    let kubelet = runtime.spawn(make_ready(client, site.namespace().to_string()));
    let manifest = fs::read_to_string(directory.path().join("manifest.yml"))?;
    let instances = format!("  instances: {INSTANCES}");
    let lines = manifest.lines().map(|line| {
        if line.starts_with("  instances: ") { instances.as_str() } else { line }
    });
    let manifest = lines.collect::<Vec<_>>().join("\n");
    site.apply(&[map("manifest", &manifest), site.deployment("d", "manifest")])?;
    let pods = GROUPS * INSTANCES;
    site.until("all pods", WAIT_TIMEOUT, |site| {
        let names = site.kubectl(&["get", "pods", "--output=name"])?;
        Ok(names.lines().count() == pods)
    })?;
    let mut measured = Vec::new();
    for words in COMMANDS {
        let mut walls = Vec::new();
        for _ in 0..RUNS {
            let mut command = host(directory.path(), words)?;
            if words[0] != "deployments" {
                command.args(["-d", "d"]);
            }
            command.args(["--namespace", site.namespace()]);
            walls.push(process(command.env("KUBECONFIG", site.kubeconfig()))?.wall / 1e3);
        }
        measured.push((words.join(" "), Sample::of(walls).median()));
    }
    kubelet.abort();
    measured.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<String> = measured
        .iter()
        .map(|(words, seconds)| format!("{words} {seconds:.2} s"))
        .collect();
    let slowest = measured.first().map_or(f64::NAN, |(_, seconds)| *seconds);
    Ok(vec![Row::below(
        "commands: the slowest with 500 pods",
        slowest,
        2.0,
        "s",
        &format!("medians of {RUNS}: {}", parts.join(", ")),
    )])
}
