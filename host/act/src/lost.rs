//! `--fix`: pods on nodes that do not answer. Kubernetes marks such a pod for deletion, and then waits for its node
//! before it creates another one.

use crate::nodes::{self, ready_status};
use boson_commands::output;
use boson_look::access::Access;
use boson_look::instances::Instance;
use k8s_openapi::api::core::v1::Node;

/// Deletes the pods of these instances whose nodes do not exist or do not answer, without waiting for the nodes.
///
/// # Errors
/// A node cannot be read, or a pod not be deleted.
pub async fn delete(access: &Access, instances: &[Instance]) -> anyhow::Result<()> {
    let nodes = access.call(nodes::read(access, instances)).await?;
    for instance in instances {
        let lost = nodes::name(instance).filter(|name| nodes.get(*name).is_some_and(|node| is_lost(node.as_ref())));
        if let (Some(name), Some(pod)) = (lost, &instance.pod) {
            let mut pod = pod.clone();
            // It may have been marked for deletion since it was read.
            pod.metadata.resource_version = None;
            access.call(access.cluster.delete_now(&pod)).await?;
            output::eprint(&format!(
                "{instance}: its node '{name}' does not answer, so its pod is recreated\n"
            ));
        }
    }
    Ok(())
}

/// `Unknown`: the kubelet has not reported for longer than the cluster allows. A node that reports that it is not ready
/// still stops its pods.
fn is_lost(node: Option<&Node>) -> bool {
    node.is_none_or(|node| ready_status(node) == Some("Unknown"))
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
