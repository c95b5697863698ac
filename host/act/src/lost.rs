//! `--fix`: pods on nodes that do not answer. Kubernetes marks such a pod for deletion, and then waits for its node
//! before it creates another one.

use boson_cluster::client::Error;
use boson_commands::output;
use boson_look::access::Access;
use boson_look::instances::Instance;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Node;
use std::collections::{BTreeMap, BTreeSet};

/// How many nodes are read at a time.
const CONCURRENT_READS: usize = 16;

/// Deletes the pods of these instances whose nodes do not exist or do not answer, without waiting for the nodes.
///
/// # Errors
/// A node cannot be read, or a pod not be deleted.
pub async fn delete(access: &Access, instances: &[Instance]) -> anyhow::Result<()> {
    let names: BTreeSet<&str> = instances.iter().filter_map(node).collect();
    let read = names
        .into_iter()
        .map(async |name| Ok::<_, Error>((name, access.cluster.get_global::<Node>(name).await?)));
    let read = futures::stream::iter(read)
        .buffer_unordered(CONCURRENT_READS)
        .try_collect();
    let nodes: BTreeMap<&str, Option<Node>> = read.await.map_err(|error| access.explained(error))?;
    for instance in instances {
        let lost = node(instance).filter(|name| nodes.get(name).is_some_and(|node| is_lost(node.as_ref())));
        if let (Some(name), Some(pod)) = (lost, &instance.pod) {
            let mut pod = pod.clone();
            // It may have been marked for deletion since it was read.
            pod.metadata.resource_version = None;
            let deleted = access.cluster.delete_now(&pod).await;
            deleted.map_err(|error| access.explained(error))?;
            output::complain(&format!(
                "{instance}: its node '{name}' does not answer, so its pod is recreated\n"
            ));
        }
    }
    Ok(())
}

/// The node of an instance.
fn node(instance: &Instance) -> Option<&str> {
    instance.pod.as_ref()?.spec.as_ref()?.node_name.as_deref()
}

/// `Unknown`: the kubelet has not reported for longer than the cluster allows. A node that reports that it is not ready
/// still stops its pods.
fn is_lost(node: Option<&Node>) -> bool {
    let Some(node) = node else { return true };
    let conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
    let mut ready = conditions.filter(|one| one.type_ == "Ready");
    ready.any(|one| one.status == "Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_that_reports_is_not_lost() {
        let node = |status: &str| -> Node {
            let conditions = json!([{"type": "Ready", "status": status}]);
            serde_json::from_value(json!({"status": {"conditions": conditions}})).unwrap()
        };
        assert!(is_lost(None) && is_lost(Some(&node("Unknown"))));
        assert!(!is_lost(Some(&node("False"))) && !is_lost(Some(&node("True"))) && !is_lost(Some(&Node::default())));
    }
}
