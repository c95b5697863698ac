//! What runs a group: a QuarksStatefulSet or a QuarksJob.

pub mod pod;
pub mod services;
pub mod zone;

use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use crate::volumes::{self, Volumes};
use boson_document::{Map, Tree};
use boson_manifest::labels;
use boson_manifest::names::NameError;

/// The workload.
///
/// # Errors
/// A name that Kubernetes cannot have.
pub fn of_group(group: &Group, volumes: &Volumes) -> Result<Tree, NameError> {
    match group.lifecycle {
        Lifecycle::Service => stateful_set(group, volumes),
        Lifecycle::Errand => job(group, volumes, "manual", "Never"),
        Lifecycle::AutoErrand => job(group, volumes, "once", "OnFailure"),
    }
}

fn stateful_set(group: &Group, volumes: &Volumes) -> Result<Tree, NameError> {
    let (replicas, max_replicas) = (group.layout().replicas(), group.layout().max_replicas());
    let is_even = replicas.iter().all(|count| *count == max_replicas);
    let set = compact(object! {
        "replicas" => max_replicas,
        "serviceName" => group.names.service(&group.name)?,
        // In parallel: members of a cluster wait for each other, and in sequence they would wait forever.
        "podManagementPolicy" => "Parallel",
        "selector" => object! { "matchLabels" => group.selector() },
        "template" => pod::template(group, volumes, None),
        "volumeClaimTemplates" => volumes::claim_templates(group),
    });
    let mut metadata = group.metadata.clone();
    metadata.annotations.extend(group.rollout.clone());
    let mut spec = compact(object! {
        "zones" => group.zones.clone(),
        "zoneReplicas" => (!is_even).then_some(replicas),
        "zoneValues" => group.cloud.zone_values(&group.zones),
        "zoneNodeLabel" => (!group.zones.is_empty()).then_some(zone::NODE_LABEL),
        "updateOnConfigChange" => true,
        "injectReplicasEnv" => group.settings.replicas_env,
        "activePassiveProbes" => active_passive(group),
    });
    spec.set("template", object! { "metadata" => metadata.unnamed(), "spec" => set });
    object(group, "QuarksStatefulSet", spec)
}

fn active_passive(group: &Group) -> Map {
    group
        .jobs
        .iter()
        .flat_map(|job| job.quarks.active_passive.clone())
        .collect()
}

fn job(group: &Group, volumes: &Volumes, strategy: &str, restart_policy: &str) -> Result<Tree, NameError> {
    // A failed errand stays failed, as in BOSH, unless the user says otherwise.
    let retries = group.settings.backoff_limit.or((strategy == "manual").then_some(0));
    let job = compact(
        object! { "backoffLimit" => retries, "template" => pod::template(group, volumes, Some(restart_policy)) },
    );
    let spec = compact(object! {
        "trigger" => object! { "strategy" => strategy },
        "updateOnConfigChange" => (strategy == "once").then_some(true),
        "template" => object! { "metadata" => group.metadata.unnamed(), "spec" => job },
    });
    object(group, "QuarksJob", spec)
}

fn object(group: &Group, kind: &str, spec: Tree) -> Result<Tree, NameError> {
    Ok(object! {
        "apiVersion" => labels::API_VERSION,
        "kind" => kind,
        "metadata" => group.metadata.named(&group.names.group(&group.name)?),
        "spec" => spec,
    })
}
