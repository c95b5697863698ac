//! `wit/bpm`.

use crate::types::{Deployment, Named};
use boson_document::Tree;
use serde::{Deserialize, Serialize};

/// A package that one of a group's releases has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasePackage {
    /// Name of the package.
    pub name: String,
    /// The release that has it.
    pub release: String,
}

/// A rendered `bpm.yml`, the same for all the instances named.
///
/// serde: as [`JobFiles`], without `bpm`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BpmCopy {
    /// Name of the document, for diagnostics.
    #[serde(rename = "document")]
    pub document_name: String,
    /// `spec.index` of each instance that it holds for.
    #[serde(default)]
    pub instances: Vec<u32>,
    /// The content of the document.
    #[serde(skip)]
    pub bpm: Tree,
}

/// A job of the group, beyond what the resolved document says.
///
/// serde: as the operator stores it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobFiles {
    /// Name of the job.
    #[serde(rename = "name")]
    pub job: String,
    /// The release that has it.
    pub release: String,
    /// Destinations of the templates, relative to the job's directory.
    #[serde(default)]
    pub templates: Vec<String>,
    /// `monit` names a process.
    pub monitored: bool,
    /// One for each different rendering.
    #[serde(default)]
    pub bpm: Vec<BpmCopy>,
    /// The program that `monit` starts, as written in the template, if nothing else describes the job's processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_program: Option<String>,
    /// Names of BOSH DNS that its file `dns/aliases.json` defines, on any of the instances: domain -> targets.
    #[serde(rename = "aliases", skip_serializing_if = "Option::is_none")]
    pub dns_aliases: Option<Tree>,
    /// Packages that `sharePackages` selects, by name. Those of other releases are copied into the pods.
    // Stored documents of deployments without them stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<ReleasePackage>,
}

/// Request of bpm.convert-group.
#[derive(Clone, Debug)]
pub struct GroupRequest {
    /// The deployment and its target.
    pub deployment: Deployment,
    /// The resolved document.
    pub group: Tree,
    /// Name of the manifest's document, for diagnostics.
    pub document_name: String,
    /// Pointer of the group in it.
    pub pointer: String,
    /// In the order of the group's jobs.
    pub jobs: Vec<JobFiles>,
    /// Name of the Secret that holds `group`.
    pub resolved_secret: String,
}

/// Request of bpm.convert-deployment.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentRequest<'a> {
    /// The deployment and its target.
    pub deployment: &'a Deployment,
    /// The manifest, variables replaced.
    pub manifest: Named<'a>,
    /// The variables that it defines.
    pub variables: &'a [Variable],
}

/// A variable that the deployment defines. Each needs one object.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Its type: `password`, `certificate`, ..
    pub kind: String,
    /// Options, placeholders replaced.
    pub options: Tree,
    /// `no-overwrite`, `overwrite`, `converge`.
    pub update_mode: Option<String>,
    /// Place of its definition in the manifest: RFC 6901 pointer.
    pub pointer: String,
}

// === impl JobFiles ===

impl JobFiles {
    /// Whether a template has this destination.
    pub fn has(&self, path: &str) -> bool {
        self.templates.iter().any(|template| template == path)
    }
}

/// [Converts](crate::bindings) the records of this module to those of generated bindings, and back.
#[macro_export]
macro_rules! bpm_records {
    ($wit:ident) => {
        $crate::record!($crate::bpm::ReleasePackage, $wit::ReleasePackage { name, release });
        $crate::record!($crate::bpm::BpmCopy, $wit::BpmCopy { document_name, instances, bpm });
        $crate::record!(
            $crate::bpm::JobFiles,
            $wit::JobFiles { job, release, templates, monitored, start_program, dns_aliases, bpm, packages } + more
        );
        $crate::record!(
            $crate::bpm::GroupRequest,
            $wit::GroupRequest { group, document_name, pointer, jobs, resolved_secret; deployment = options } + more
        );
        $crate::record!($crate::bpm::Variable, $wit::Variable { name, kind, options, update_mode, pointer } + more);
    };
}
