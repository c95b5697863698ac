//! Requests and replies of the stage: the types of `wit/bpm`, without its bindings.

pub use boson_contract::bpm::{BpmCopy, DeploymentRequest, GroupRequest, JobFiles, ReleasePackage, Variable};
pub use boson_contract::types::{Deployment, Named};
use boson_document::Tree;

/// Kubernetes objects, what others need first.
pub type Reply = boson_contract::Reply<Vec<Tree>>;
