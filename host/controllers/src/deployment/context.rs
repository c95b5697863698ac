//! What all reconciles of deployments share: clients, settings, and what the process remembers.

use super::memory::Memory;
use crate::conversion::{Images, Web};
use crate::slots::Slots;
use boson_budget::Budget;
use boson_cluster::cache::Cache;
use boson_cluster::client::{Cluster, Events, FieldManager};
use boson_cluster::namespaces::Scope;
use boson_pipeline::bundle::Permissions;
use boson_plugins::Plugins;
use boson_plugins::host::{Components, PluginHost};
use std::sync::Arc;

/// Who owns the fields that this controller sets.
pub const MANAGER: FieldManager = FieldManager("boson-manifest");

pub(crate) struct Context {
    pub cluster: Cluster,
    pub events: Events,
    pub scope: Scope,
    pub conversion: Conversion,
    pub cache: Arc<Cache>,
    pub memory: Memory,
    pub plugins: Plugins,
    pub slots: Slots,
}

/// How manifests are converted.
#[derive(Clone)]
pub struct Conversion {
    pub plugin_host: Arc<dyn PluginHost>,
    pub components: Arc<dyn Components>,
    pub images: Arc<dyn Images>,
    /// Reads documents from web servers.
    pub web: Arc<dyn Web>,
    /// The memory budget that all of these share.
    pub budget: Budget,
    /// Such as `cluster.local`.
    pub cluster_domain: String,
    /// Image of the operator; init containers run it.
    pub operator_image: String,
    /// How many deployments at a time may roll instance groups that have an older operator image; 0: such groups keep
    /// it.
    pub roll_outdated: usize,
    /// How many unused versions of a Secret to retain beside the newest.
    pub keep_versions: usize,
    /// What an administrator allows plugins.
    pub permissions: Permissions,
}

// === impl Context ===

impl Context {
    /// For this cluster. `instance`: name of this process. `slots`: for conversions.
    pub fn new(
        cluster: Cluster,
        scope: Scope,
        conversion: Conversion,
        plugins: Plugins,
        slots: Slots,
        instance: &str,
    ) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            cluster,
            scope,
            conversion,
            cache: Arc::default(),
            memory: Memory::default(),
            plugins,
            slots,
        }
    }
}
