//! Rows about the start of a pod: what Boson's init containers add to the start of the process alone, on a real node.
//!
//! The kubelet reports whole seconds. So the times are those of the API server's audit log and of containerd's log.

use crate::measure::Sample;
use crate::node::Place;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use boson_tests::cluster::Operator;
use boson_tests::cluster::image::Image;
use boson_tests::registry::Server;
use boson_tests::synthetic;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pods of each kind.
const PAIRS: usize = 5;
/// The kubelet checks once in this time whether a container has ended. That is most of what a pod waits for.
const KUBELET_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The image of the release in its registry.
const IMAGE: &str = "shop:ubuntu-jammy-1.584-1.0.0";
/// The program of the job's process, and the container that runs it.
const PROGRAM: &str = "/var/vcap/packages/service/bin/service";
const CONTAINER: &str = "front-service";

/// In turns: a pod of a job with five templates, and one with its process alone.
pub fn start() -> Result<Vec<Row>> {
    let what = "pod: init containers and rendering of 5 templates, added to the process's start";
    let Some(place) = Place::new("bench-start")? else {
        return Ok(vec![Row::left_out(what, "a node needs root")]);
    };
    let pod = prepare(&place)?;
    let bare = alone(&pod)?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for nth in 0..=PAIRS {
        // Pods of users come at any time between two looks; each pod here would come right after the look that found
        // the end of the one before.
        std::thread::sleep(KUBELET_CHECK_INTERVAL * nth as u32 / PAIRS as u32);
        let pair = (
            life(&place, &format!("front-{nth}"), &pod)?,
            life(&place, &format!("bare-{nth}"), &bare)?,
        );
        // The first ones read the images from disk.
        if nth > 0 {
            with.push(pair.0);
            without.push(pair.1);
        }
    }
    let started = |lives: &[Life]| Sample::of(lives.iter().map(Life::start)).median();
    let added = |of: fn(&Life) -> f64| {
        let pairs = with.iter().zip(&without);
        Sample::of(pairs.map(|(with, without)| of(with) - of(without))).median()
    };
    let details = format!(
        "median of {PAIRS} pairs, from the pod's creation: {:.2} s with them, {:.2} s the process alone; until the pod is ready {:.2} s more",
        started(&with),
        started(&without),
        added(|life| life.ready)
    );
    let mut rows = vec![Row::below(what, added(Life::start), 1.5, "s", &details)];
    rows.extend(parts(&with, &without));
    Ok(rows)
}

/// A row for each step before the process.
fn parts(with: &[Life], without: &[Life]) -> Vec<Row> {
    let median = |lives: &[Life], of: &dyn Fn(&Life) -> f64| Sample::of(lives.iter().map(of)).median();
    let sandbox = |life: &Life| life.containers.first().map_or(f64::NAN, |first| first.asked);
    let text = format!(
        "{:.2} s; for the process alone {:.2} s",
        median(with, &sandbox),
        median(without, &sandbox)
    );
    let mut rows = vec![Row::part("  until the first container: volumes, sandbox", &text)];
    let names = with.first().map(|life| life.containers.iter());
    for (nth, container) in names.into_iter().flatten().enumerate() {
        let of = |value: &dyn Fn(&Container) -> f64| {
            median(with, &|life: &Life| life.containers.get(nth).map_or(f64::NAN, value))
        };
        let made = of(&|container| container.started - container.asked);
        let next = |life: &Life| {
            let (this, next) = (life.containers.get(nth)?, life.containers.get(nth + 1)?);
            Some((this.ended.unwrap_or(this.started), next.asked))
        };
        let noticed = median(with, &|life| next(life).map_or(f64::NAN, |(from, to)| to - from));
        let ran = of(&|container| container.ended.map_or(f64::NAN, |ended| ended - container.started));
        let mut text = format!("made in {made:.2} s");
        if !ran.is_nan() {
            text.push_str(&format!(", ran for {ran:.2} s"));
        }
        if !noticed.is_nan() {
            text.push_str(&format!(", {noticed:.2} s until the kubelet asks for the next one"));
        }
        rows.push(Row::part(&format!("  {}", container.name), &text));
    }
    rows
}

/// Loads the images, and lets an operator create everything but the pods. Returns the pod of the group's StatefulSet.
pub fn prepare(place: &Place) -> Result<Value> {
    let (directory, registry) = (tempfile::tempdir()?, Server::start(false)?);
    synthetic::write_job(directory.path())?;
    let release = directory.path().join("release");
    registry.push_release(IMAGE, &release)?;
    let program = "#!/bin/sh\nexec sleep 3600\n";
    let image = format!("{}/bosh/{IMAGE}", registry.host());
    let image = Image::release(&image, &release)?.executable(PROGRAM, program);
    place.cluster.load_image(&image)?;
    let set = converted(place, &registry, &directory.path().join("manifest.yml"))?;
    let mut pod = set.pointer("/spec/template").context("no pod")?.clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = "0".into();
    pod["spec"]["terminationGracePeriodSeconds"] = 0.into();
    Ok(pod)
}

/// The StatefulSet of the deployment, without its pods.
fn converted(place: &Place, registry: &Server, manifest: &Path) -> Result<Value> {
    place.cluster.define()?;
    let mut operator = Operator::new(&place.cluster, &place.namespace)?.registry(registry);
    operator = operator.arguments(["--namespace", &place.namespace]);
    operator = operator.arguments(["--operator-image", place.cluster.operator_image()?]);
    operator.start()?;
    let manifest = fs::read_to_string(manifest)?;
    let conversion = json!({"mode": "InProcess", "registry": format!("{}/bosh", registry.host())});
    place.create(&[
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "manifest"}, "data": {"manifest": manifest}}),
        json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "shop"},
            "spec": {"manifest": {"type": "configmap", "name": "manifest"}, "conversion": conversion}}),
    ])?;
    let mut found = Value::Null;
    let has_set = || {
        let sets: Value = serde_json::from_str(&place.kubectl(&["get", "statefulsets", "--output=json"])?)?;
        found = sets["items"][0].clone();
        Ok(!found.is_null())
    };
    let log = || operator.log();
    operator.wait_until("a StatefulSet", Duration::from_secs(120), has_set, log)?;
    operator.stop()?;
    place.kubectl(&["delete", "statefulsets", "--all", "--cascade=foreground"])?;
    Ok(found)
}

/// The same pod with nothing but the process.
fn alone(pod: &Value) -> Result<Value> {
    let mut pod = pod.clone();
    let containers = pod["spec"]["containers"].as_array().context("no containers")?;
    let ours = containers.iter().find(|container| container["name"] == CONTAINER);
    let ours = ours.context("no container of the process")?;
    let kept = ["name", "image", "resources", "securityContext"].map(|key| (key.to_string(), ours[key].clone()));
    let mut container: Value = kept.into_iter().filter(|(_, value)| !value.is_null()).collect();
    container["command"] = json!([PROGRAM]);
    let spec = pod["spec"].as_object_mut().context("no spec")?;
    spec.remove("initContainers");
    spec.remove("volumes");
    spec.insert("containers".into(), json!([container]));
    Ok(pod)
}

/// Creates a pod, waits for it, deletes it, and returns its times.
fn life(place: &Place, name: &str, pod: &Value) -> Result<Life> {
    let mut pod = pod.clone();
    pod["metadata"]["name"] = name.into();
    place.create(&[pod])?;
    let object = format!("pod/{name}");
    place.wait_for_condition(&object, "condition=Ready")?;
    let ready = Timestamp::now();
    let log = fs::read_to_string(place.cluster.log("containerd"))?;
    let created = created(place, name)?;
    place.kubectl(&["delete", &object, "--force", "--grace-period=0", "--wait=false"])?;
    gone(place, name)?;
    let containers = containers(&log, name, &place.namespace, created)?;
    let has_process = containers.iter().any(|container| container.name == CONTAINER);
    ensure!(has_process, "containerd's log does not have the process of {name}");
    Ok(Life {
        ready: seconds(created, ready),
        containers,
    })
}

/// Waits until containerd has removed the pod, so that this does not slow down the next one.
fn gone(place: &Place, name: &str) -> Result<()> {
    let began = Instant::now();
    let marker = format!("PodSandboxMetadata{{Name:{name},");
    loop {
        let log = fs::read_to_string(place.cluster.log("containerd"))?;
        let sandbox = log.lines().filter(|line| line.contains(&marker)).find_map(id);
        let stopped = sandbox.map(|id| format!("StopPodSandbox for \\\"{id}\\\" returns"));
        if stopped.is_some_and(|stopped| log.contains(&stopped)) {
            return Ok(());
        }
        ensure!(began.elapsed() < Duration::from_secs(60), "{name} does not end");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The start of a pod; all times are seconds since its creation.
struct Life {
    /// When a client saw that it is ready.
    ready: f64,
    /// In the order of their start.
    containers: Vec<Container>,
}

struct Container {
    name: String,
    /// When the kubelet asked for it.
    asked: f64,
    /// When its process ran.
    started: f64,
    /// When its process had ended.
    ended: Option<f64>,
}

// === impl Life ===

impl Life {
    /// When the process ran.
    fn start(&self) -> f64 {
        let process = self.containers.iter().find(|container| container.name == CONTAINER);
        process.map_or(f64::NAN, |process| process.started)
    }
}

/// When the API server got the request for this pod.
fn created(place: &Place, name: &str) -> Result<Timestamp> {
    let log = fs::read_to_string(place.cluster.audit_log())?;
    let request = log.lines().find_map(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        let object = &event["objectRef"];
        let is_it = event["verb"] == "create"
            && object["resource"] == "pods"
            && object["subresource"].is_null()
            && object["name"] == name
            && object["namespace"] == place.namespace.as_str();
        is_it.then(|| event["requestReceivedTimestamp"].as_str()?.parse().ok())?
    });
    request.context("the audit log does not have the pod")
}

/// What containerd's log has about a pod's containers.
fn containers(log: &str, pod: &str, namespace: &str, created: Timestamp) -> Result<Vec<Container>> {
    let of_pod = format!("PodSandboxMetadata{{Name:{pod},");
    let in_namespace = format!("Namespace:{namespace},");
    let sandbox = log
        .lines()
        .filter(|line| line.contains(&of_pod) && line.contains(&in_namespace))
        .find_map(id);
    let sandbox = sandbox.context("no sandbox in containerd's log")?;
    let within = format!("CreateContainer within sandbox \\\"{sandbox}\\\"");
    let mut found = Vec::new();
    for line in log.lines().filter(|line| line.contains(&within)) {
        let Some(id) = id(line) else { continue };
        let name = between(line, "ContainerMetadata{Name:", ",").context("a container has no name")?;
        let asked = format!("for container &ContainerMetadata{{Name:{name},");
        let when = |is: &dyn Fn(&str) -> bool| {
            let line = log.lines().find(|line| is(line))?;
            Some(seconds(created, between(line, "time=\"", "\"")?.parse().ok()?))
        };
        let started = format!("StartContainer for \\\"{id}\\\" returns successfully");
        let ended = format!("id={id}");
        found.push(Container {
            asked: when(&|line| line.contains(&within) && line.contains(&asked)).context("nobody asked")?,
            started: when(&|line| line.contains(&started)).unwrap_or(f64::NAN),
            ended: when(&|line| line.contains("shim disconnected") && line.contains(&ended)),
            name: name.to_string(),
        });
    }
    found.sort_by(|one, other| one.asked.total_cmp(&other.asked));
    Ok(found)
}

/// The new id in the last line about a request.
fn id(line: &str) -> Option<&str> {
    between(line, " returns sandbox id \\\"", "\\\"").or_else(|| between(line, " returns container id \\\"", "\\\""))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(found, _)| found)
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    from.duration_until(to).as_secs_f64()
}
