//! Rows about commands that look at a deployment with many pods, or work in many instances.

use crate::measure::{Sample, host, process};
use crate::node::Place;
use crate::operator::{RELEASE, map};
use crate::pod_start;
use crate::rollout::make_ready;
use crate::site::Site;
use crate::table::Row;
use anyhow::{Result, ensure};
use boson_manifest::labels;
use boson_tests::synthetic;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;

const GROUPS: usize = 50;
const INSTANCES: usize = 10;
/// Running at the same time.
const PODS: usize = 50;
const RUNS: usize = 5;
/// Until the deployment or all pods are ready.
const READY_TIMEOUT: Duration = Duration::from_secs(900);
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
        if line.starts_with("  instances: ") {
            instances.as_str()
        } else {
            line
        }
    });
    let manifest = lines.collect::<Vec<_>>().join("\n");
    site.apply(&[map("manifest", &manifest), site.deployment("d", "manifest")])?;
    let ready = "--output=jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
    // The operator and the API server would still be busy with the pods.
    site.wait_until("the deployment", READY_TIMEOUT, |site| {
        Ok(site.kubectl(&["get", "boshdeployments", "d", ready])? == "True")
    })?;
    let pods = site.kubectl(&["get", "pods", "--output=name"])?.lines().count();
    ensure!(pods == GROUPS * INSTANCES, "{pods} pods");
    let mut measured = Vec::new();
    for words in COMMANDS {
        let here = ["--namespace", site.namespace()];
        let deployment = ["-d", "d"].into_iter().filter(|_| words[0] != "deployments");
        let arguments: Vec<&str> = words.iter().copied().chain(deployment).chain(here).collect();
        measured.push((
            words.join(" "),
            median(directory.path(), &site.kubeconfig(), &arguments)?,
        ));
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

/// Seconds of a command.
fn median(directory: &Path, kubeconfig: &Path, arguments: &[&str]) -> Result<f64> {
    let mut walls = Vec::new();
    for _ in 0..RUNS {
        let mut command = host(directory, arguments)?;
        walls.push(process(command.env("KUBECONFIG", kubeconfig))?.wall / 1e3);
    }
    Ok(Sample::of(walls).median())
}

/// Commands in running pods, which need no operator.
pub fn in_instances() -> Result<Vec<Row>> {
    let what = format!("commands: in {PODS} instances");
    let Some(place) = Place::new("bench-instances")? else {
        return Ok(vec![Row::left_out(&what, "a node needs root")]);
    };
    let template = pod_start::prepare(&place)?;
    let pods: Vec<Value> = (0..PODS).map(|nth| pod(&template, nth)).collect();
    place.create(&pods)?;
    let timeout = format!("--timeout={}s", READY_TIMEOUT.as_secs());
    place.kubectl(&["wait", "pods", "--all", "--for=condition=Ready", &timeout])?;
    let directory = tempfile::tempdir()?;
    let mut rows = Vec::new();
    for words in [
        &["ssh", "front", "-c", "true"][..],
        &["logs", "front", "--num", "10"],
        &["logs", "front"],
    ] {
        let here = ["-d", "shop", "--namespace", &place.namespace];
        let arguments: Vec<&str> = words[..1].iter().chain(&here).chain(&words[1..]).copied().collect();
        let seconds = median(directory.path(), &place.cluster.kubeconfig(), &arguments)?;
        let what = format!("{what}, host {}", words.join(" "));
        rows.push(Row::below(&what, seconds, 10.0, "s", &format!("median of {RUNS}")));
    }
    Ok(rows)
}

/// All render the files of the first instance, and together they need no more than the node has.
fn pod(template: &Value, nth: usize) -> Value {
    let mut pod = template.clone();
    pod["metadata"]["name"] = format!("shop-front-{nth}").into();
    pod["metadata"]["labels"][labels::KUBERNETES_POD_INDEX] = nth.to_string().into();
    for kind in ["initContainers", "containers"] {
        for container in pod["spec"][kind].as_array_mut().into_iter().flatten() {
            container["resources"]["requests"] = json!({"cpu": "1m", "memory": "1Mi"});
            for variable in container["env"].as_array_mut().into_iter().flatten() {
                if variable["name"] == "POD_ORDINAL" {
                    *variable = json!({"name": "POD_ORDINAL", "value": "0"});
                }
            }
        }
    }
    pod
}
