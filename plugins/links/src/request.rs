//! What the stage is asked.

use boson_contract::links::{External, JobSpec};
use boson_contract::types::Deployment;
use boson_document::Tree;

/// The request of both functions.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The manifest.
    pub document: &'a Tree,
    pub deployment: &'a Deployment,
    /// The jobs of all releases.
    pub jobs: &'a [JobSpec<'a>],
    /// The links from outside of the deployment.
    pub external: &'a External,
}
