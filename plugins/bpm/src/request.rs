//! Requests and replies of the stage: the types of `wit/bpm`, without its bindings.

pub use boson_contract::bpm::{BpmCopy, GroupRequest, JobFiles, ReleasePackage, Variable};
pub use boson_contract::types::Deployment;
use boson_document::Tree;

/// Request of convert-deployment.
#[derive(Clone, Debug)]
pub struct DeploymentRequest {
    pub deployment: Deployment,
    /// The manifest, variables replaced.
    pub document: Tree,
    pub document_name: String,
    /// The variables that it defines.
    pub variables: Vec<Variable>,
}

/// Kubernetes objects, what others need first.
pub type Reply = boson_contract::Reply<Vec<Tree>>;
