//! Limits and requests of containers.
//!
//! Limits: `quarks.run`, else bpm's, else the group's `vm_resources`. Requests: the group's total over its containers,
//! so that a pod of many containers finds a node; never more than the limit. The cloud config can reduce them. Init
//! containers run before all others, so a quota counts the larger of the two: requests of init containers up to the
//! pod's total add nothing.

use crate::group::Group;
use crate::group::cloud::Requests;
use crate::group::job::Job;
use crate::object::{compact, object};
use crate::process::Process;
use boson_document::Tree;
use boson_processes::bytes::{self, mebibytes, quantity};
use boson_processes::cpu::millis;

/// [`Requests::Fraction`] is one of so many parts.
const FRACTION_DIVISOR: u64 = 4;

/// `resources` of a process.
pub fn of_process(group: &Group, job: &Job, process: &Process) -> Tree {
    let mut resources = resources(group, memory(group, job, process), cpu(group, job, process));
    if let Some(given) = process.requests.as_object().filter(|given| !given.is_empty()) {
        let mut requests = resources.members("requests").cloned().unwrap_or_default();
        requests.extend(given.clone());
        resources.set("requests", requests);
    }
    resources
}

/// `resources` of a pre-start script: the VM's, else all that the processes may take together.
pub fn of_script(group: &Group) -> Tree {
    let (memory, cpu): (Vec<_>, Vec<_>) = group
        .all_processes()
        .map(|(job, process)| (memory(group, job, process), cpu(group, job, process)))
        .unzip();
    let cpu = cpu.iter().map(|cpu| cpu.as_deref().and_then(millis));
    let memory = group.ram.map(mebibytes).or_else(|| sum(memory.into_iter()));
    let cpu = group.cpu.map(|cpu| cpu.to_string()).or_else(|| sum(cpu).map(cpus));
    resources(group, memory, cpu)
}

/// `resources` of a container that runs scripts beside the processes: as a pre-start script, but most of the time it
/// waits.
pub fn of_sidecar(group: &Group) -> Tree {
    let mut resources = of_script(group);
    resources.set("requests", object! { "cpu" => "10m", "memory" => "16Mi" });
    resources
}

/// `resources` of the container that shows log files.
pub fn of_logs() -> Tree {
    fixed(["10m", "16Mi"], ["1", "64Mi"])
}

/// `resources` of a container that copies the templates of a release.
pub fn of_copier() -> Tree {
    fixed(["10m", "16Mi"], ["1", "256Mi"])
}

/// `resources` of the container that renders templates: two at a time, 512 MiB each at most.
pub fn of_rendering() -> Tree {
    fixed(["50m", "64Mi"], ["1", "1Gi"])
}

fn fixed(requests: [&str; 2], limits: [&str; 2]) -> Tree {
    let of = |[cpu, memory]: [&str; 2]| object! { "cpu" => cpu, "memory" => memory };
    object! { "limits" => of(limits), "requests" => of(requests) }
}

fn memory(group: &Group, job: &Job, process: &Process) -> Option<u64> {
    let memory = job.quarks.memory.map(mebibytes);
    memory
        .or_else(|| process.limits.memory.as_deref().and_then(bytes::parse))
        .or(group.ram.map(mebibytes))
}

fn cpu(group: &Group, job: &Job, process: &Process) -> Option<String> {
    let cpu = job.quarks.cpus.clone().or_else(|| process.limits.cpu.clone());
    cpu.or(group.cpu.map(|cpu| cpu.to_string()))
}

/// `None` if the list is empty, or one of them has no limit.
fn sum(limits: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let sum: u64 = limits.sum::<Option<u64>>()?;
    (sum > 0).then_some(sum)
}

fn resources(group: &Group, memory: Option<u64>, cpu: Option<String>) -> Tree {
    let containers = u64::try_from(group.processes.max(1)).unwrap_or(u64::MAX);
    let millis_of_vm = group.cpu.map(|total| (total.saturating_mul(1000) / containers).max(1));
    let bytes_of_vm = group.ram.map(|total| mebibytes((total / containers).max(1)));
    let requests = group.cloud.requests;
    let requests = object! {
        "cpu" => request(millis_of_vm, cpu.as_deref().and_then(millis), requests).map(cpus),
        "memory" => request(bytes_of_vm, memory, requests).map(quantity),
    };
    let limits = compact(object! { "cpu" => cpu, "memory" => memory.map(quantity) });
    compact(object! { "limits" => limits, "requests" => compact(requests) })
}

/// The request of a container. `share`: its part of the VM. Kubernetes sets an absent request to the limit, so
/// [`Requests::None`] is zero where there is a limit.
fn request(share: Option<u64>, limit: Option<u64>, requests: Requests) -> Option<u64> {
    let full = share.map(|share| share.min(limit.unwrap_or(u64::MAX)));
    match requests {
        Requests::Full => full,
        Requests::Fraction => full.or(limit).map(|full| (full / FRACTION_DIVISOR).max(1)),
        Requests::None => full.or(limit).map(|_| 0),
    }
}

/// The quantity of so many thousandths.
fn cpus(millis: u64) -> String {
    if millis.is_multiple_of(1000) {
        (millis / 1000).to_string()
    } else {
        format!("{millis}m")
    }
}
