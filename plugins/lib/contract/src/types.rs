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

/// Defines `deployment`, which makes a [`Deployment`] of the types in this module, which `wit_bindgen` has generated.
#[macro_export]
macro_rules! deployment_type {
    ($wit:ident) => {
        /// The deployment of a call with these options.
        fn deployment(deployment: $wit::Deployment, options: &$wit::ConversionOptions) -> $crate::types::Deployment {
            $crate::types::Deployment {
                name: deployment.name,
                namespace: deployment.namespace,
                cluster_domain: options.cluster_domain.clone(),
                operator_image: options.operator_image.clone(),
                registry: options.registry.clone(),
                spread: match options.spread {
                    $wit::Spread::Total => $crate::types::Spread::Total,
                    $wit::Spread::PerZone => $crate::types::Spread::PerZone,
                },
            }
        }
    };
}
