//! The nodes of instances, and whether they report.

use boson_cluster::client::Error;
use boson_look::access::Access;
use boson_look::instances::Instance;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Node;
use std::collections::{BTreeMap, BTreeSet};

/// How many nodes are read at a time.
const MAX_CONCURRENT_READS: usize = 16;

/// Nodes by name; none: it does not exist.
pub type Nodes = BTreeMap<String, Option<Node>>;

/// The name of the node of an instance.
pub fn name(instance: &Instance) -> Option<&str> {
    instance.pod.as_ref()?.spec.as_ref()?.node_name.as_deref()
}

/// Reads the nodes of instances.
///
/// # Errors
/// One cannot be read.
pub async fn read(access: &Access, instances: &[Instance]) -> Result<Nodes, Error> {
    let names: BTreeSet<&str> = instances.iter().filter_map(name).collect();
    let read = names
        .into_iter()
        .map(async |name| Ok((name.to_string(), access.cluster.get_global::<Node>(name).await?)));
    futures::stream::iter(read)
        .buffer_unordered(MAX_CONCURRENT_READS)
        .try_collect()
        .await
}

/// The status of its condition Ready.
pub fn ready_status(node: &Node) -> Option<&str> {
    let mut conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
    let ready = conditions.find(|one| one.type_ == "Ready")?;
    Some(&ready.status)
}
