//! Services of a group: one headless for all, or for the active one, and one for each instance; and the disruption
//! budget.

use crate::containers::active_passive;
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use boson_document::Tree;
use boson_manifest::labels;
use boson_manifest::names::NameError;

/// All Services of a group.
///
/// # Errors
/// A name or address that Kubernetes cannot have.
pub fn of_group(group: &Group) -> Result<Vec<Tree>, NameError> {
    if group.lifecycle != Lifecycle::Service {
        return Ok(Vec::new());
    }
    let mut leading = group.selector();
    if active_passive::is_used(group) {
        leading.set(labels::POD_ACTIVE, labels::ACTIVE);
    }
    let mut out = vec![service(group, &group.names.service(&group.name)?, leading, true)];
    for pod in group.layout().pods() {
        let selector = group
            .selector()
            .with(labels::AZ_INDEX, pod.zone.to_string())
            .with(labels::KUBERNETES_POD_INDEX, pod.ordinal.to_string());
        // Kubernetes refuses a Service with an address but without ports.
        let headless = group.ports.is_empty();
        out.push(service(
            group,
            &group.names.instance_service(&group.name, pod.index)?,
            selector,
            headless,
        ));
    }
    Ok(out)
}

/// How many pods of the group may be unavailable during maintenance of nodes: one, if there are others.
///
/// # Errors
/// A name that Kubernetes cannot have.
pub fn disruption_budget(group: &Group) -> Result<Option<Tree>, NameError> {
    if group.lifecycle != Lifecycle::Service || group.layout().count() < 2 {
        return Ok(None);
    }
    let spec = object! {
        "maxUnavailable" => 1_i64,
        "selector" => object! { "matchLabels" => group.selector() },
        // A pod that does not become ready serves no requests, and must not block the draining of its node.
        "unhealthyPodEvictionPolicy" => "AlwaysAllow",
    };
    Ok(Some(object! {
        "apiVersion" => "policy/v1",
        "kind" => "PodDisruptionBudget",
        "metadata" => group.metadata.named(&group.names.group(&group.name)?),
        "spec" => spec,
    }))
}

/// Headless Services publish addresses of pods that are not ready: peers must find each other while they start.
fn service(group: &Group, name: &str, selector: Tree, headless: bool) -> Tree {
    let ports: Vec<Tree> = group.ports.iter().map(port).collect();
    let mut spec = object! { "selector" => selector, "ports" => ports };
    if headless {
        spec.set("clusterIP", "None").set("publishNotReadyAddresses", true);
    }
    object! { "apiVersion" => "v1", "kind" => "Service", "metadata" => group.metadata.named(name), "spec" => compact(spec) }
}

fn port(port: &crate::group::ports::Port) -> Tree {
    let number = u32::from(port.number);
    object! { "name" => port.name.as_str(), "protocol" => port.protocol.as_str(), "port" => number, "targetPort" => number }
}
