//! The container of a process: container-run, which reads the description of the process in the pod.

use crate::container_run::{command_of_job, command_of_process};
use crate::containers::environment::{environment, passed_variables};
use crate::containers::lifecycle_scripts::{Members, after_pre_starts};
use crate::containers::{container_probe, resources, security};
use crate::group::job::Job;
use crate::group::ports::{Port, is_container_port_name};
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use crate::process::Process;
use crate::volumes::Volumes;
use boson_document::Tree;
use boson_manifest::names;

/// The container of a process; `first` of its job.
pub fn of_process(group: &Group, volumes: &Volumes, job: &Job, process: &Process, first: bool) -> Tree {
    let command = if job.is_errand {
        command_of_job("errand", job).with_variables(&passed_variables(job))
    } else {
        let command = command_of_process("process", job, process).with_variables(&passed_variables(job));
        Members::of(group).wait_before_stop(command, group)
    };
    let command = after_pre_starts(command, group, job);
    let mut container = object! {
        "name" => name(job, process),
        "image" => job.image.as_str(),
        "command" => command.list(),
        "env" => environment(group, job),
        "resources" => resources::of_process(group, job, process),
        "ports" => if first { ports(group, job) } else { Vec::new() },
        "volumeMounts" => volumes.of_process(group, job, process),
        "securityContext" => security::of_process(job, process),
    };
    for (member, probe) in job.quarks.probes.get(&process.name).into_iter().flatten() {
        let probe = container_probe::of_container(probe, member, group, job, process);
        container.set(member, probe);
    }
    if let Some(startup) = container_probe::startup(&container) {
        container.set("startupProbe", startup);
    }
    let has = |probe: &str| container.get(probe).is_some();
    // Without a probe, the pod would be ready, and a rollout continue, while an inline pre-start script runs or fails.
    let is_service = group.lifecycle == Lifecycle::Service;
    if is_service && job.runs_pre_start_inline() && !has("startupProbe") && !has("readinessProbe") {
        container.set("startupProbe", container_probe::start(job, process));
    }
    compact(container)
}

/// Name of the container of a process.
pub fn name(job: &Job, process: &Process) -> String {
    names::container(&[&job.name, &process.name])
}

/// The group's ports that this job was the first to name.
fn ports(group: &Group, job: &Job) -> Vec<Tree> {
    let tree = |port: &Port| {
        let mut tree = object! { "containerPort" => u32::from(port.number), "protocol" => port.protocol.as_str() };
        if is_container_port_name(&port.name) {
            tree.set("name", port.name.as_str());
        }
        tree
    };
    group
        .ports
        .iter()
        .filter(|port| port.job == job.name)
        .map(tree)
        .collect()
}
