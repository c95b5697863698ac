//! The container of a process.

use crate::group::{Group, Lifecycle};
use crate::job::Job;
use crate::object::{compact, object};
use crate::ports::{Port, is_container_port_name};
use crate::process::{POD_IP, Process};
use crate::volumes::Volumes;
use crate::{resources, security};
use boson_deployment::labels;
use boson_deployment::names;
use boson_document::Tree;
use indexmap::IndexMap;

/// The container of a process; `first` of its job.
pub fn of_process(group: &Group, volumes: &Volumes, job: &Job, process: &Process, first: bool) -> Tree {
    let workdir = if process.workdir.is_empty() {
        format!("/var/vcap/jobs/{}", job.name)
    } else {
        process.workdir.clone()
    };
    let mut container = object! {
        "name" => name(job, process),
        "image" => job.image.as_str(),
        "command" => vec![literal(&process.executable)],
        "args" => process.args.iter().map(|text| literal(text)).collect::<Vec<_>>(),
        "workingDir" => workdir,
        "env" => environment(group, job, process),
        "resources" => resources::of_process(group, job, process),
        "ports" => if first { ports(group, job) } else { Vec::new() },
        "volumeMounts" => volumes.of_process(group, job, process),
        "lifecycle" => if first && group.lifecycle == Lifecycle::Service { job.scripts.lifecycle(&job.name) } else { None },
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

/// A text that Kubernetes leaves as it is, but for the one that stands for the pod's address: `$(` and `$$` are its syntax.
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

/// The environment of a process: what BPM gives, over what the pod tells, under what `quarks.envs` says.
///
/// Of `quarks.envs`, fields of the pod and keys of Secrets come before what BPM gives: Kubernetes expands `$(NAME)` for names before it only.
pub fn environment(group: &Group, job: &Job, process: &Process) -> Vec<Tree> {
    let mut env: IndexMap<String, Tree> = IndexMap::new();
    let mut put = |entry: Tree| {
        if let Some(name) = entry.str("name").map(str::to_string) {
            env.insert(name, entry);
        }
    };
    common(group).into_iter().for_each(&mut put);
    let sources = job.quarks.envs.iter().filter(|env| env.get("valueFrom").is_some());
    sources.cloned().for_each(&mut put);
    let data = format!("/var/vcap/data/{}", job.name);
    let path = format!(
        "/var/vcap/jobs/{}/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.",
        job.name
    );
    let defaults = [
        ("TMPDIR", format!("{data}/tmp")),
        ("LANG", "en_US.UTF-8".into()),
        ("PATH", path),
        ("HOME", data),
    ];
    defaults
        .iter()
        .for_each(|(name, value)| put(text(name, &literal(value))));
    process
        .env
        .iter()
        .for_each(|(name, value)| put(text(name, &literal(value))));
    job.quarks.envs.iter().cloned().for_each(&mut put);
    env.into_values().collect()
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

    /// What Kubernetes makes of a text, with one variable known.
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
