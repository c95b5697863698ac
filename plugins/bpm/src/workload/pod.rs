//! The template of a group's pods.

use crate::containers::{container, init, lifecycle_scripts, logs, security};
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use crate::volumes::Volumes;
use crate::workload::zone;
use boson_document::Tree;

/// `template` of a StatefulSet or Job; `restart_policy` if the workload does not set it.
pub fn template(group: &Group, volumes: &Volumes, restart_policy: Option<&str>) -> Tree {
    let containers = group.jobs.iter().flat_map(|job| {
        let numbered = job.processes.iter().enumerate();
        numbered.map(move |(index, process)| container::of_process(group, volumes, job, process, index == 0))
    });
    let mut spec = object! {
        "initContainers" => init::containers(group, volumes),
        "containers" => containers.chain(logs::last_container(group)).collect::<Vec<_>>(),
        "volumes" => volumes.list(group),
        "securityContext" => security::of_pod(group.sysctls.clone()),
        "terminationGracePeriodSeconds" => lifecycle_scripts::grace(group),
        // Scripts of BOSH signal processes by their numbers.
        "shareProcessNamespace" => group.jobs_with_sidecar().next().map(|_| true),
        // Variables that Kubernetes makes of Services (`NATS_PORT=tcp://...`) change how some releases behave.
        "enableServiceLinks" => false,
        "imagePullSecrets" => pull_secrets(group),
        "restartPolicy" => restart_policy,
        // BOSH jobs do not use the Kubernetes API. A group that names a ServiceAccount, or sets this field, gets a
        // token.
        "automountServiceAccountToken" => (!group.settings.pod.contains_key("serviceAccountName")).then_some(false),
    };
    for (key, value) in &group.settings.pod {
        spec.set(key, value.clone());
    }
    if group.lifecycle != Lifecycle::Service && !group.zones.is_empty() {
        let zones: Vec<String> = group.zones.iter().map(|az| group.cloud.zone(az)).collect();
        let affinity = zone::pinned(spec.get("affinity"), &zones);
        spec.set("affinity", affinity);
    }
    if let Some(address) = &group.settings.dns {
        spec.set("dnsPolicy", "None");
        spec.set("dnsConfig", dns(group, address));
    }
    object! { "metadata" => group.metadata.unnamed(), "spec" => compact(spec) }
}

fn pull_secrets(group: &Group) -> Vec<Tree> {
    let mut out = group.settings.pull_secrets.clone();
    for name in &group.pull_secrets {
        let entry = object! { "name" => name.as_str() };
        if !out.contains(&entry) {
            out.push(entry);
        }
    }
    out
}

fn dns(group: &Group, address: &str) -> Tree {
    let domain = &group.deployment.cluster_domain;
    let searches = vec![
        format!("{}.svc.{domain}", group.deployment.namespace),
        format!("svc.{domain}"),
        domain.clone(),
    ];
    let options = vec![object! { "name" => "ndots", "value" => "5" }];
    object! { "nameservers" => vec![address], "searches" => searches, "options" => options }
}
