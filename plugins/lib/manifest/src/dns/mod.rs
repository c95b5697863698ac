//! The names of BOSH DNS that a deployment has: its groups, networks and zones, and the aliases that its manifest gives
//! them.
//!
//! Three readers share the [zone document](Zone::document): the DNS server of the deployment, the stage that makes its
//! objects, and the pods, which find their own names in a [part](Zone::part_of) of it.

mod aliases;
mod collect;
mod handlers;
mod pod_server;
mod server;

pub use aliases::{AliasError, Aliases, alias_error, fits};
pub use collect::{Codes, Collected, collect, zone};
pub use handlers::{HANDLER_FILE, Handler, HandlerError, MAX_HANDLERS, Source};
pub use pod_server::needs_pod_server;
pub use server::Server;

use crate::instances::Deployment;
use crate::names::{MAX_LABEL_LENGTH, Names, cut, label};
use boson_document::Tree;

/// Releases whose jobs configure name resolution; they are not a workload of the deployment.
pub const RELEASES: [&str; 2] = ["bosh-dns", "bosh-dns-aliases"];
/// The domain of BOSH's own names.
pub const ROOT: &str = "bosh";
/// ServiceAccount of the DNS servers of a namespace, its Role and its RoleBinding.
pub const ACCOUNT: &str = "boson-dns";
/// Key of the zone document in the ConfigMap of a deployment.
pub const ZONE_KEY: &str = "zone.json";
/// Key of the part of the zone that concerns a group, in the group's resolved document.
pub const RESOLVED_KEY: &str = "dns";
/// Where rendered alias files of jobs are, relative to the job.
pub const ALIAS_FILE: &str = "dns/aliases.json";
/// Where BOSH DNS listens on a VM: `bosh-dns` itself, and the resolver of newer stemcells in front of it.
pub const LINK_LOCAL: [&str; 2] = ["169.254.0.2", "169.254.0.53"];
/// Version of the zone document.
const ZONE_VERSION: i64 = 1;

/// An instance group, as far as names go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupNames {
    /// As in the manifest.
    pub name: String,
    pub azs: Vec<String>,
    pub instances: u32,
}

/// All names of a deployment.
#[derive(Clone, Debug, Default)]
pub struct Zone {
    pub deployment: Deployment,
    /// Names that stand for the deployment in its names: that of the resource, and the manifest's `name`.
    pub deployments: Vec<String>,
    /// Names of networks: `n1` is the first.
    pub networks: Vec<String>,
    /// Names of AZs: `a1` is the first.
    pub azs: Vec<String>,
    /// Service groups. `g1` is the first.
    pub groups: Vec<GroupNames>,
    /// The aliases of files first, then those of links.
    pub aliases: Aliases,
    /// Settings of the server from the job `bosh-dns`.
    pub server: Server,
}

/// Is this a release of BOSH DNS?
pub fn is_release(release: &str) -> bool {
    RELEASES.contains(&release)
}

/// Name of the Deployment, the Service and the ConfigMap of a deployment's DNS.
pub fn object_name(names: &Names) -> String {
    cut(&format!("{}-dns", names.deployment()), "", MAX_LABEL_LENGTH)
}

/// Name of the ConfigMap with the alias files of a group's jobs.
pub fn files_name(names: &Names, group: &str) -> String {
    let name = format!("{}-dns-{}", names.deployment(), label(group));
    cut(&name, "", MAX_LABEL_LENGTH)
}

// === impl Zone ===

impl Zone {
    /// The document that the DNS server reads.
    pub fn document(&self) -> Tree {
        let document = self.with_groups(&self.groups, &self.aliases);
        if self.server.is_empty() {
            document
        } else {
            document.with("server", self.server.tree())
        }
    }

    /// The part with the names of a group's own pods: the group, and the aliases that may resolve to it. Changes
    /// elsewhere do not affect it.
    pub fn part_of(&self, group: &str) -> Tree {
        let own: Vec<GroupNames> = self.groups.iter().filter(|one| one.name == group).cloned().collect();
        let aliases = self.aliases.leading_to(&label(group));
        self.with_groups(&own, &aliases)
    }

    fn with_groups(&self, groups: &[GroupNames], aliases: &Aliases) -> Tree {
        let group = |group: &GroupNames| {
            Tree::object()
                .with("name", group.name.as_str())
                .with("azs", group.azs.clone())
                .with("instances", i64::from(group.instances))
        };
        Tree::object()
            .with("version", ZONE_VERSION)
            .with("deployment", self.deployment.name.as_str())
            .with("namespace", self.deployment.namespace.as_str())
            .with("clusterDomain", self.deployment.cluster_domain.as_str())
            .with("spread", self.deployment.spread.name())
            .with("root", ROOT)
            .with("deployments", self.deployments.clone())
            .with("networks", self.networks.clone())
            .with("azs", self.azs.clone())
            .with("groups", groups.iter().map(group).collect::<Vec<_>>())
            .with("aliases", aliases.tree())
    }
}
