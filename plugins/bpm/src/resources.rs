//! Limits and requests of containers.
//!
//! Limits: `quarks.run`, else bpm's, else the group's `vm_resources`. Requests: the group's total over its containers, so that a pod of
//! many containers finds a node; never more than the limit.

use crate::bytes::{self, mebibytes, quantity};
use crate::group::Group;
use crate::job::Job;
use crate::object::{compact, object};
use crate::process::Process;
use boson_document::{Map, Tree};

/// `resources` of a process.
pub fn of_process(group: &Group, job: &Job, process: &Process) -> Tree {
    let memory = job.quarks.memory.map(mebibytes);
    let memory = memory
        .or_else(|| process.limits.memory.as_deref().and_then(bytes::parse))
        .or(group.ram.map(mebibytes));
    let cpu = job
        .quarks
        .cpus
        .clone()
        .or_else(|| process.limits.cpu.clone())
        .or(group.cpu.map(|cpu| cpu.to_string()));
    let mut resources = resources(group, memory, cpu);
    if let Some(given) = process.requests.as_object().filter(|given| !given.is_empty()) {
        let mut requests = resources
            .get("requests")
            .and_then(Tree::as_object)
            .cloned()
            .unwrap_or_default();
        requests.extend(given.clone());
        resources.set("requests", requests);
    }
    resources
}

/// `resources` of an init container.
pub fn of_init(group: &Group) -> Tree {
    resources(group, group.ram.map(mebibytes), group.cpu.map(|cpu| cpu.to_string()))
}

fn resources(group: &Group, memory: Option<u64>, cpu: Option<String>) -> Tree {
    let containers = u64::try_from(group.processes.max(1)).unwrap_or(u64::MAX);
    let mut requests = Map::new();
    if let (Some(total), limit) = (group.cpu, cpu.as_deref().and_then(millis)) {
        let share = (total.saturating_mul(1000) / containers)
            .max(1)
            .min(limit.unwrap_or(u64::MAX));
        requests.insert(
            "cpu".into(),
            if share.is_multiple_of(1000) {
                (share / 1000).to_string()
            } else {
                format!("{share}m")
            }
            .into(),
        );
    }
    if let (Some(total), limit) = (group.ram, memory) {
        let share = mebibytes((total / containers).max(1)).min(limit.unwrap_or(u64::MAX));
        requests.insert("memory".into(), quantity(share).into());
    }
    let limits = compact(object! { "cpu" => cpu, "memory" => memory.map(quantity) });
    compact(object! { "limits" => limits, "requests" => requests })
}

/// Thousandths of a CPU, rounded down; `None` for a quantity of another shape.
fn millis(quantity: &str) -> Option<u64> {
    if let Some(millis) = quantity.strip_suffix('m') {
        return millis.parse().ok();
    }
    let cpus: f64 = quantity.parse().ok()?;
    (0.0..1e12).contains(&cpus).then_some((cpus * 1000.0) as u64)
}

/// Is it a quantity of CPUs: a number, or thousandths?
pub fn is_cpu(quantity: &str) -> bool {
    quantity.bytes().next().is_some_and(|b| b.is_ascii_digit()) && millis(quantity).is_some()
}
