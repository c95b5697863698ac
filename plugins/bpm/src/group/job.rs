//! A job of a group: its image, its processes, and what the job property `quarks` adds.

use crate::group::ports::Port;
use crate::group::probe::Probes;
use crate::group::scripts::Scripts;
use crate::group::sysctls::Sysctl;
use crate::process::Process;
use crate::request::ReleasePackage;
use boson_document::{Map, Place, Tree};
use indexmap::IndexSet;

#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub release: String,
    /// Image of the release.
    pub image: String,
    /// Why there is no image.
    pub image_error: Option<String>,
    /// User id of its processes, if the image does not use BOSH's.
    pub uid: Option<i64>,
    /// Where it is in the manifest.
    pub place: Place,
    pub scripts: Scripts,
    /// Its only process is `bin/run`, as in BOSH's errands.
    pub is_errand: bool,
    pub processes: Vec<Process>,
    /// Its pods need a DNS server of their own.
    pub needs_pod_dns: bool,
    /// Packages of other releases that its containers have.
    pub shared_packages: Vec<ReleasePackage>,
    /// Settings of the property `quarks`.
    pub quarks: Quarks,
}

// === impl Job ===

impl Job {
    /// Whether its containers run its pre-start script before its processes.
    pub fn runs_pre_start_inline(&self) -> bool {
        self.scripts.pre_start && self.quarks.inline_pre_start
    }
}

/// The job property `quarks`.
#[derive(Clone, Debug, Default)]
pub struct Quarks {
    pub ports: Vec<Port>,
    /// The list of ports is given, even if empty.
    pub lists_ports: bool,
    /// Memory of each container, MiB.
    pub memory: Option<u64>,
    /// CPUs of each container.
    pub cpus: Option<String>,
    pub capabilities: Vec<String>,
    /// Members of the containers' securityContext.
    pub security_context: Map,
    /// The pre-start script runs in the containers of the processes.
    pub inline_pre_start: bool,
    /// Packages that its scripts may write to.
    pub writable_packages: IndexSet<String>,
    /// Kernel parameters of the pod.
    pub sysctls: Vec<Sysctl>,
    /// Probes by process.
    pub probes: Probes,
    /// More environment, as Kubernetes has it.
    pub envs: Vec<Tree>,
    /// Probes that choose the active pods, by container.
    pub active_passive: Map,
    /// A command must succeed before a post-start script runs.
    pub has_condition: bool,
    /// A failing pre-start script waits for an hour.
    pub debug: bool,
    /// Whether its pods have monit's port.
    pub monit_http: Option<bool>,
    /// Scripts change its sources before they are rendered.
    pub pre_render: bool,
}
