//! Environment variables of containers.

use crate::group::job::Job;
use crate::group::{Group, Lifecycle};
use crate::object::object;
use boson_document::Tree;
use boson_manifest::labels;

/// Variables of every container that runs something of a job. `$(POD_IP)` refers to the first, so that it must come
/// before all others.
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

/// Variables of the container that are passed to processes and scripts of the job. container-run sets all others, as
/// under BPM.
pub fn passed_variables(job: &Job) -> Vec<String> {
    let common = ["POD_IP", "POD_ORDINAL", "AZ_INDEX", "REPLICAS"]
        .into_iter()
        .chain(OF_ZONE);
    let own = job.quarks.envs.iter().filter(|env| is_of_container(env));
    let own = own.filter_map(|env| env.str("name"));
    let names: indexmap::IndexSet<&str> = common.chain(own).collect();
    names.into_iter().map(String::from).collect()
}

/// The environment of a container that runs something of a job. Values of `quarks.envs` may be secret, so they are in
/// no workload: container-run reads them from the pod's files. Kubernetes expands references to other variables.
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
