//! `wit/types`.

use boson_document::Tree;

/// A named document.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Name, for diagnostics.
    pub name: &'a str,
    /// Its content.
    pub tree: &'a Tree,
}

/// The deployment and its target.
#[derive(Clone, Debug, Default)]
pub struct Deployment {
    /// Name of the BOSHDeployment resource, not the manifest's `name`.
    pub name: String,
    /// Kubernetes namespace.
    pub namespace: String,
    /// `cluster.local`.
    pub cluster_domain: String,
    /// Image with the `host` binary.
    pub operator_image: String,
    /// Replaces the `url` of every release.
    pub registry: Option<String>,
    /// What `instances` of a group means.
    pub spread: Spread,
}

/// What `instances` of a group means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All instances of the group, spread over its AZs: BOSH's meaning.
    #[default]
    Total,
    /// The instances in each AZ.
    PerZone,
}

/// What a call is made for.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// `None`: for none, as in a test of a plugin.
    pub deployment: Option<DeploymentName>,
    /// JSON.
    pub settings: String,
    /// What the host supports beyond the first version of the contract.
    pub features: Vec<String>,
}

/// Names the deployment of a call.
#[derive(Clone, Debug, Default)]
pub struct DeploymentName {
    /// Name of the BOSHDeployment resource.
    pub name: String,
    /// Kubernetes namespace.
    pub namespace: String,
}

// === impl Named ===

impl<'a> Named<'a> {
    /// `name`: for diagnostics.
    pub fn new(name: &'a str, tree: &'a Tree) -> Self {
        Self { name, tree }
    }
}

// === impl Spread ===

impl Spread {
    /// As the extension and the command line spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::PerZone => "per-zone",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Total, Self::PerZone]
            .into_iter()
            .find(|spread| spread.name() == name)
    }
}

/// [Converts](crate::bindings) the context of calls to the records of generated bindings, and back.
#[macro_export]
macro_rules! context_records {
    ($wit:ident) => {
        $crate::record!(
            $crate::types::CallContext,
            $wit::Context {
                deployment,
                settings,
                features
            } + more
        );
        $crate::record!(
            $crate::types::DeploymentName,
            $wit::Deployment { name, namespace } + more
        );
    };
}

/// [Converts](crate::bindings) a deployment to the options of generated bindings, and back.
#[macro_export]
macro_rules! options_records {
    ($wit:ident) => {
        $crate::cases!($crate::types::Spread, $wit::Spread { Total, PerZone });
        // Without the names, which are in the context of a call.
        $crate::record!(
            $crate::types::Deployment,
            $wit::ConversionOptions { cluster_domain, operator_image, registry, spread } + more; ..Self::default()
        );
    };
}
