//! The deployment that is resolved.

use boson_contract::links::External;
use boson_manifest::instances::Spread;

/// The deployment and its namespace.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub name: String,
    /// Kubernetes namespace.
    pub namespace: String,
    /// Domain of the cluster.
    pub cluster_domain: String,
    /// What `instances` of a group means.
    pub spread: Spread,
    /// The links from outside of the deployment.
    pub external: External,
}
