//! Requests and replies of the stage: the types of `wit/bpm`, without its bindings.

pub use boson_contract::bpm::{ReleasePackage, Variable};
pub use boson_contract::types::Deployment;
use boson_document::Tree;

/// A rendered `bpm.yml` and the instances it holds for.
#[derive(Clone, Debug)]
pub struct BpmCopy {
    /// Name of the document, for diagnostics.
    pub document_name: String,
    /// `spec.index` of each.
    pub instances: Vec<u32>,
    pub bpm: Tree,
}

/// Data about a job of the group that is not in the resolved document.
#[derive(Clone, Debug)]
pub struct JobFiles {
    pub job: String,
    pub release: String,
    /// Destinations of the templates, relative to the job's directory.
    pub templates: Vec<String>,
    /// `monit` names a process.
    pub monitored: bool,
    /// The program that `monit` starts, if nothing else describes the job's processes.
    pub start_program: Option<String>,
    /// One for each different rendering.
    pub bpm: Vec<BpmCopy>,
    /// Packages that `sharePackages` selects.
    pub packages: Vec<ReleasePackage>,
}

impl JobFiles {
    /// Whether a template has this destination.
    pub fn has(&self, path: &str) -> bool {
        self.templates.iter().any(|template| template == path)
    }
}

/// Request of convert-group.
#[derive(Clone, Debug)]
pub struct GroupRequest {
    pub deployment: Deployment,
    /// The resolved document.
    pub group: Tree,
    /// Name of the manifest's document.
    pub document_name: String,
    /// The group in it.
    pub pointer: String,
    /// In the order of the group's jobs.
    pub jobs: Vec<JobFiles>,
    /// Content of the jobs' files `dns/aliases.json`: job -> (domain -> targets).
    pub alias_files: Tree,
    /// Name of the Secret that holds `group`.
    pub resolved_secret: String,
}

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
