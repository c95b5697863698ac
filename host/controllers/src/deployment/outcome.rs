//! How a reconcile of a deployment ended, and the state that it observed.

use super::errands::Errands;
use super::stop::Wrong;
use crate::plugins::Fault;
use boson_api::OutdatedGroup;
use boson_api::deployment::{Input, PluginUse};
use boson_cluster::cache::Trouble;

/// Steps of a conversion.
pub(super) const STEPS: i32 = 3;

/// The state that a reconcile observed.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub generation: Option<i64>,
    /// How the reconcile ended.
    pub outcome: Outcome,
    /// Whether it wrote something.
    pub wrote: bool,
    /// How many of the [`STEPS`] are completed.
    pub steps: i32,
    /// Errands that were started, and their results; none: unknown.
    pub errands: Option<Errands>,
    /// How many instance groups are services; none: not known yet.
    pub groups: Option<i32>,
    /// How many of them are ready.
    pub ready: i32,
    /// Why the others are not, by name.
    pub troubles: Vec<(String, Trouble)>,
    /// Digest of the documents and given values; none if they were not read.
    pub inputs_digest: Option<String>,
    /// What the objects are made from; none if that has not changed.
    pub inputs: Option<Vec<Input>>,
    /// Groups whose pods keep an older operator image; none: unknown.
    pub outdated: Option<Vec<OutdatedGroup>>,
    /// Variables that the manifest no longer has; none: unknown.
    pub removed: Option<Vec<String>>,
    /// The version for which post-deploy scripts were started now.
    pub post_deploy: Option<String>,
    /// Digest of the warnings that were emitted as events.
    pub warned: Option<String>,
    pub plugins: Vec<PluginUse>,
    /// What is wrong with plugins that are refused.
    pub faults: Vec<Fault>,
    /// Names of plugins that are being loaded.
    pub loading: Vec<String>,
}

/// How a reconcile ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All objects are up to date.
    Applied,
    /// Some instance groups cannot be converted; the objects of all others are up to date.
    Partly(Wrong),
    /// Something is missing that arrives without a change by the user.
    Waiting(String),
    /// The user's input is wrong.
    Wrong(Wrong),
    /// The cluster refuses the converted objects.
    Refused(Wrong),
}
