//! An instance group, as its objects are made of it.

pub mod cloud;
pub mod job;
pub mod ports;
pub mod probe;
pub mod rollout;
pub mod scripts;
pub mod settings;
pub mod sysctls;
pub mod waits;

use crate::group::cloud::Cloud;
use crate::group::job::Job;
use crate::group::ports::Port;
use crate::group::settings::Settings;
use crate::group::waits::Wait;
use crate::metadata::Metadata;
use crate::object::object;
use crate::process::Process;
use crate::request::{Deployment, ReleasePackage};
use boson_document::{Map, Place, Tree};
pub use boson_manifest::group::Lifecycle;
use boson_manifest::instances::Layout;
use boson_manifest::labels;
use boson_manifest::names::Names;

/// Disks of a group, sizes in MiB.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    pub persistent: Option<u64>,
    /// Its StorageClass; none: the cluster's default.
    pub class: Option<String>,
    pub ephemeral: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub deployment: Deployment,
    /// Names of its objects.
    pub names: Names,
    /// Name, as in the manifest.
    pub name: String,
    /// Name, as part of Kubernetes names and as a label value.
    pub slug: String,
    /// Where it is in the manifest.
    pub place: Place,
    /// What runs it.
    pub lifecycle: Lifecycle,
    /// Its zones; none: anywhere.
    pub zones: Vec<String>,
    /// `instances`; 0 where the report says why.
    pub instances: u32,
    /// Its settings from the cloud config.
    pub cloud: Cloud,
    /// Labels and annotations of its objects, pods and claims.
    pub metadata: Metadata,
    /// Annotations that drive updates.
    pub rollout: Map,
    pub disks: Disks,
    /// CPUs of the group's VM.
    pub cpu: Option<u64>,
    /// Memory of the group's VM, MiB.
    pub ram: Option<u64>,
    /// `env.bosh.agent.settings`.
    pub settings: Settings,
    /// Its jobs that become containers or contribute files.
    pub jobs: Vec<Job>,
    /// How many containers run processes.
    pub processes: usize,
    /// Ports of all jobs.
    pub ports: Vec<Port>,
    /// Kernel parameters of its pods, as Kubernetes has them.
    pub sysctls: Vec<Tree>,
    /// Names of pull Secrets of its releases.
    pub pull_secrets: Vec<String>,
    /// Name of the Secret with the resolved document.
    pub resolved_secret: String,
    /// What its pods wait for.
    pub waits: Vec<Wait>,
}

// === impl Group ===

impl Group {
    /// Its instances over its zones.
    pub fn layout(&self) -> Layout<'_> {
        Layout {
            group: &self.name,
            azs: &self.zones,
            instances: self.instances,
            spread: self.deployment.spread,
        }
    }

    /// The labels that only its pods have.
    pub fn selector(&self) -> Tree {
        object! {
            labels::DEPLOYMENT_NAME => self.names.deployment(),
            labels::INSTANCE_GROUP_NAME => self.slug.as_str(),
        }
    }

    /// Each process with its job.
    pub fn all_processes(&self) -> impl Iterator<Item = (&Job, &Process)> {
        let jobs = self.jobs.iter();
        jobs.flat_map(|job| job.processes.iter().map(move |process| (job, process)))
    }

    /// Whether a job may write to this package. All containers then have the same copy of it.
    pub fn has_writable(&self, package: &str) -> bool {
        let mut jobs = self.jobs.iter();
        jobs.any(|job| job.quarks.writable_packages.contains(package))
    }

    /// Packages of other releases that jobs need and none may write to.
    pub fn packages_to_share(&self) -> impl Iterator<Item = &ReleasePackage> {
        let all = self.jobs.iter().flat_map(|job| &job.shared_packages);
        all.filter(|package| !self.has_writable(&package.name))
    }

    /// Jobs that have a container for their scripts.
    pub fn jobs_with_sidecar(&self) -> impl Iterator<Item = &Job> {
        let service = self.lifecycle == Lifecycle::Service;
        self.jobs
            .iter()
            .filter(move |job| service && job.scripts.run_beside_processes())
    }
}
