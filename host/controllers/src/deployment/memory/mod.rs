//! What the process remembers of deployments between two reconciles. After a restart it is empty, and each deployment
//! is converted once.

mod failed_plugins;
mod generations;
mod linked;
mod postponed;
mod pull_sources;
mod rollouts;
mod schedule;

pub use failed_plugins::FailedPlugins;
pub use generations::Generations;
pub use linked::LinkedDeployments;
pub use postponed::Postponed;
pub use pull_sources::{PullSources, Source};
pub use rollouts::Rollouts;
pub use schedule::{Due, Schedule};

use std::collections::BTreeSet;
use std::time::Duration;

/// Namespace and name of a deployment.
pub type Key = (String, String);

/// When to reconcile again while waiting for something that causes a watch event: a fallback, should the event be lost.
pub const FALLBACK_INTERVAL: Duration = Duration::from_secs(30);

/// What is remembered of all deployments.
#[derive(Debug, Default)]
pub struct Memory {
    /// When each was converted last, and when it is due again.
    pub schedule: Schedule,
    /// What each pulls images with.
    pub pulls: PullSources,
    /// Which other deployments each takes links from.
    pub linked: LinkedDeployments,
    /// Which have garbage to collect later.
    pub postponed: Postponed,
    /// Which roll an instance group to the operator's image.
    pub rollouts: Rollouts,
    /// Which plugins of each have failed.
    pub failed: FailedPlugins,
    /// The specification of each whose change was recorded last.
    pub recorded: Generations,
}

// === impl Memory ===

impl Memory {
    /// The deployment is deleted.
    pub fn forget(&self, key: &Key) {
        self.schedule.forget(key);
        self.pulls.forget(key);
        self.linked.remember(key.clone(), BTreeSet::new());
        self.postponed.note(key, false);
        self.rollouts.release(key);
        self.failed.remember(key, Vec::new());
        self.recorded.forget(key);
    }
}
