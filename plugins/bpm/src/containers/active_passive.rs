//! Active/passive probes: beside each container that has one, a sidecar of the same image runs its command, and tells
//! the operator whether the pod is active: see `container-run active`.

use crate::codes;
use crate::container_run;
use crate::containers::container;
use crate::containers::environment::environment;
use crate::containers::{resources, security};
use crate::group::job::Job;
use crate::group::probe;
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use crate::process::Process;
use crate::volumes::Volumes;
use boson_document::{Report, Tree};
use boson_manifest::labels::{ACTIVE_PASSIVE_PORT, FIRST_ACTIVE_PASSIVE_PORT, MAX_ACTIVE_PASSIVE_PORTS};
use boson_manifest::names;
use std::collections::HashSet;

/// The flags of the sidecar with what they are without a field of the probe. Kubernetes' defaults would take half a
/// minute to find that a pod is no longer active.
const FLAGS: [(&str, &str, i64); 5] = [
    ("--delay", "initialDelaySeconds", 0),
    ("--period", "periodSeconds", 2),
    ("--timeout", "timeoutSeconds", 1),
    ("--successes", "successThreshold", 1),
    ("--failures", "failureThreshold", 2),
];

/// A container with its probe.
struct Probed<'g> {
    job: &'g Job,
    process: &'g Process,
    probe: &'g Tree,
}

/// Whether the pods of a group are active or passive.
pub fn is_used(group: &Group) -> bool {
    probed(group).next().is_some()
}

/// The name of the sidecar of a process.
pub fn name(job: &Job, process: &Process) -> String {
    names::container(&["active", &job.name, &process.name])
}

/// The sidecars of a group's pods.
pub fn sidecars(group: &Group, volumes: &Volumes) -> Vec<Tree> {
    let numbered = (FIRST_ACTIVE_PASSIVE_PORT..).zip(probed(group));
    numbered
        .map(|(port, one)| sidecar(group, volumes, &one, port))
        .collect()
}

/// Probes of no container, without a command, or with wrong values; ports that are not free.
pub fn check(group: &Group, report: &mut Report) {
    let containers: HashSet<String> = group
        .all_processes()
        .map(|(job, one)| container::name(job, one))
        .collect();
    for job in &group.jobs {
        let place = job.place.at("properties").at("quarks").at("activePassiveProbes");
        for (name, probe) in &job.quarks.active_passive {
            let place = place.at(name);
            if !containers.contains(name) {
                // Without the probe that was meant, all pods would serve.
                let text = format!("Active/passive probe of '{name}': the pod has no container of this name");
                report
                    .error(codes::PROBE, &place, text)
                    .suggest(name, containers.iter().map(String::as_str));
            }
            if words(probe).is_some() {
                probe::check(probe, probe::ACTIVE_PASSIVE, &place, report);
            } else {
                let text = format!("Active/passive probe of '{name}' must be `exec: {{command: [..]}}`");
                report.error(codes::PROBE, &place, text);
            }
        }
    }
    let count = u16::try_from(probed(group).count()).unwrap_or(u16::MAX);
    if count > MAX_ACTIVE_PASSIVE_PORTS {
        let text = format!(
            "Instance group '{}' has {count} active/passive probes; at most {MAX_ACTIVE_PASSIVE_PORTS} are possible",
            group.name
        );
        report.error(codes::PROBE, &group.place, text);
    }
    let used = FIRST_ACTIVE_PASSIVE_PORT..FIRST_ACTIVE_PASSIVE_PORT.saturating_add(count);
    for port in group.ports.iter().filter(|port| used.contains(&port.number)) {
        let (number, name) = (port.number, &group.name);
        let text = format!("Port {number} of instance group '{name}' is needed for its active/passive probes");
        report.error(codes::PROBE, &group.place, text);
    }
}

fn probed(group: &Group) -> impl Iterator<Item = Probed<'_>> {
    let is_service = group.lifecycle == Lifecycle::Service;
    let of = |name: &str| group.jobs.iter().find_map(|job| job.quarks.active_passive.get(name));
    group
        .all_processes()
        .filter(move |_| is_service)
        .filter_map(move |(job, process)| {
            let probe = of(&container::name(job, process))?;
            Some(Probed { job, process, probe })
        })
}

fn words(probe: &Tree) -> Option<Vec<&str>> {
    let words = probe.get("exec")?.get("command")?.as_array()?;
    let words: Option<Vec<&str>> = words.iter().map(Tree::as_str).collect();
    words.filter(|words| !words.is_empty())
}

fn sidecar(group: &Group, volumes: &Volumes, probed: &Probed<'_>, port: u16) -> Tree {
    let Probed { job, process, probe } = *probed;
    let mut command = container_run::command("active").with("--port", port);
    for (flag, field, default) in FLAGS {
        // As in Kubernetes, zero stands for the default.
        let value = probe.i64(field).filter(|value| *value > 0);
        command = command.with(flag, value.unwrap_or(default));
    }
    for word in words(probe).unwrap_or_default() {
        command = command.with("--word", word);
    }
    let port = object! { "name" => ACTIVE_PASSIVE_PORT, "containerPort" => u32::from(port), "protocol" => "TCP" };
    compact(object! {
        "name" => name(job, process),
        "image" => job.image.as_str(),
        "restartPolicy" => "Always",
        "command" => command.list(),
        "env" => environment(group, job),
        "resources" => resources::of_sidecar(group),
        "ports" => vec![port],
        "volumeMounts" => volumes.of_process(group, job, process),
        "securityContext" => security::of_process(job, process),
    })
}
