//! The container of a process: the process wrapper, which reads the description of the process in the pod.

use crate::group::{Group, Lifecycle};
use crate::job::Job;
use crate::object::{compact, object};
use crate::ports::{Port, is_container_port_name};
use crate::process::Process;
use crate::scripts::Members;
use crate::volumes::Volumes;
use crate::wrapper::{self, Wrapped};
use crate::{resources, security};
use boson_document::Tree;
use boson_manifest::labels;
use boson_manifest::names;
use boson_processes::POD_IP;

/// The container of a process; `first` of its job.
pub fn of_process(group: &Group, volumes: &Volumes, job: &Job, process: &Process, first: bool) -> Tree {
    let command = if job.is_errand {
        wrapper::command("errand", Wrapped::job(job)).passing(&passed(job))
    } else {
        let command = wrapper::command("process", Wrapped::process(job, process)).passing(&passed(job));
        Members::of(group).stopping(command, group)
    };
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
        container.set(member, probe.clone());
    }
    compact(container)
}

/// Name of the container of a process.
pub fn name(job: &Job, process: &Process) -> String {
    names::container(&[&job.name, &process.name])
}

/// Escapes a text for Kubernetes, whose syntax has `$(` and `$$`, except for the placeholder of the pod's address.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(POD_IP) {
            out.push_str(POD_IP);
            rest = after;
            continue;
        }
        out.push_str(if rest[1..].starts_with(['$', '(']) { "$$" } else { "$" });
        rest = &rest[1..];
    }
    out + rest
}

/// Variables of every container that runs something of a job. `$(POD_IP)` refers to the first, so that it must come before all others.
pub fn common(group: &Group) -> Vec<Tree> {
    let mut out = vec![
        field("POD_IP", "status.podIP"),
        ordinal(group, "POD_ORDINAL"),
        text("AZ_INDEX", "1"),
    ];
    if group.settings.replicas_env != Some(false) {
        out.push(replicas(group, "REPLICAS"));
    }
    out
}

/// A variable with this text.
pub fn text(name: &str, value: &str) -> Tree {
    object! { "name" => name, "value" => value }
}

/// A variable with the value of a field of the pod.
pub fn field(name: &str, path: &str) -> Tree {
    let source = object! { "fieldRef" => object! { "fieldPath" => path } };
    object! { "name" => name, "valueFrom" => source }
}

/// A variable with the ordinal of the pod in its zone.
pub fn ordinal(group: &Group, name: &str) -> Tree {
    match group.lifecycle {
        Lifecycle::Service => field(name, &format!("metadata.labels['{}']", labels::KUBERNETES_POD_INDEX)),
        Lifecycle::Errand | Lifecycle::AutoErrand => text(name, "0"),
    }
}

/// A variable with the number of instances in a zone. As text it would restart every pod when the group is scaled.
pub fn replicas(group: &Group, name: &str) -> Tree {
    if group.lifecycle != Lifecycle::Service {
        return text(name, "1");
    }
    let key = object! { "name" => group.resolved_secret.as_str(), "key" => "replicas", "optional" => true };
    object! { "name" => name, "valueFrom" => object! { "secretKeyRef" => key } }
}

/// Variables with the zone, which are added per StatefulSet: see the documentation of this crate.
const OF_ZONE: [&str; 3] = ["KUBE_AZ", "BOSH_AZ", "CF_OPERATOR_AZ"];

/// Variables of the container that are passed to processes and scripts of the job. The wrapper sets all others, as under BPM.
pub fn passed(job: &Job) -> Vec<String> {
    let common = ["POD_IP", "POD_ORDINAL", "AZ_INDEX", "REPLICAS"]
        .into_iter()
        .chain(OF_ZONE);
    let own = job.quarks.envs.iter().filter(|env| is_of_container(env));
    let own = own.filter_map(|env| env.str("name"));
    let names: indexmap::IndexSet<&str> = common.chain(own).collect();
    names.into_iter().map(String::from).collect()
}

/// The environment of a container that runs something of a job. Values of `quarks.envs` may be secret, so they are in no workload: the wrapper reads
/// them from the pod's files. Kubernetes expands references to other variables.
pub fn environment(group: &Group, job: &Job) -> Vec<Tree> {
    let own = job.quarks.envs.iter().filter(|env| is_of_container(env));
    // Two entries of one name would be refused.
    let all = common(group).into_iter().chain(own.cloned());
    let env: indexmap::IndexMap<String, Tree> = all
        .map(|entry| (entry.str("name").unwrap_or_default().to_string(), entry))
        .collect();
    env.into_values().collect()
}

/// Whether Kubernetes must set it.
fn is_of_container(env: &Tree) -> bool {
    !boson_processes::document::is_by_value(env)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_would_expand_is_escaped_but_the_address() {
        for (text, expected) in [
            ("plain", "plain"),
            ("$HOME $", "$HOME $"),
            ("$(HOME)", "$$(HOME)"),
            ("a$$b", "a$$$b"),
            ("http://$(POD_IP):80", "http://$(POD_IP):80"),
            ("$$(POD_IP)", "$$$(POD_IP)"),
        ] {
            assert_eq!(literal(text), expected, "{text}");
            assert_eq!(
                expanded(expected),
                text.replace(POD_IP, "10.0.0.1").replace("$$10", "$10"),
                "{text}"
            );
        }
    }

    /// The text as Kubernetes expands it, with one variable.
    fn expanded(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let (written, length) = match rest.as_bytes().get(1) {
                Some(b'$') => ("$", 2),
                Some(b'(') if rest.starts_with(POD_IP) => ("10.0.0.1", POD_IP.len()),
                _ => ("$", 1),
            };
            out.push_str(written);
            rest = &rest[length..];
        }
        out + rest
    }
}
