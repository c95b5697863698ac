//! What the process remembers of deployments between two reconciles. After a restart it is empty, and each deployment
//! is converted once.

mod by_deployment;
mod generations;
mod pull_sources;
mod rollouts;
mod schedule;

pub use pull_sources::Source;
pub use schedule::{Due, Schedule};

use boson_cluster::client::NamespacedName;
use boson_plugins::PluginProblem;
use by_deployment::ByDeployment;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// When to reconcile again while waiting for something that causes a watch event: a fallback, should the event be lost.
pub const FALLBACK_INTERVAL: Duration = Duration::from_secs(30);

/// What is remembered of all deployments.
#[derive(Debug, Default)]
pub struct Memory {
    /// When each was converted last, and when it is due again.
    pub schedule: Schedule,
    /// What each pulled images with at its last reconcile.
    pub pulls: ByDeployment<BTreeSet<Source>>,
    /// Which other deployments each named in its links at its last conversion: a change of their links is a change of
    /// its inputs.
    pub linked: ByDeployment<BTreeSet<String>>,
    /// Which have garbage to collect later, after a rollout of their StatefulSets.
    pub postponed: ByDeployment<bool>,
    /// Since when each rolls an instance group to the operator's image; none: it is ready with nothing left to roll.
    pub rollouts: ByDeployment<Option<Instant>>,
    /// The plugins that failed in the last conversion of each: checks that were skipped, and plugins that stopped it.
    /// They stay in its condition until it is converted again.
    pub failed: ByDeployment<Vec<PluginProblem>>,
    /// The generation of the specification of each whose change was recorded last.
    pub recorded: ByDeployment<Option<i64>>,
}

// === impl Memory ===

impl Memory {
    /// These problems, and those of the plugins that failed last.
    pub fn with_failed(&self, key: &NamespacedName, mut plugin_problems: Vec<PluginProblem>) -> Vec<PluginProblem> {
        plugin_problems.extend(self.failed.of(key));
        plugin_problems
    }

    /// The deployment is deleted.
    pub fn forget(&self, key: &NamespacedName) {
        self.schedule.forget(key);
        self.pulls.set(key, BTreeSet::new());
        self.linked.set(key, BTreeSet::new());
        self.postponed.set(key, false);
        self.rollouts.set(key, None);
        self.failed.set(key, Vec::new());
        self.recorded.set(key, None);
    }
}
