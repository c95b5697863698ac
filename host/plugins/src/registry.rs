//! All plugins in ConfigMaps: the present state of each, and the last version that could be used.

use super::canary::Trial;
use super::document::PluginDocument;
use super::problem::PluginProblem;
use boson_api::{ApprovedVersion, conditions};
use boson_document::Code;
use boson_oci::Digest;
use boson_pipeline::Diagnostic;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// The key of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

/// A plugin's ConfigMaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugin {
    /// When the first was created, in seconds: of two plugins in conflict, the older one is used.
    pub created: i64,
    pub label: String,
    /// Names of those with further parts.
    pub more: Vec<String>,
    /// Changes when any of them changes.
    pub version: String,
}

#[derive(Clone, Debug)]
pub struct Entry {
    /// Its present ConfigMaps.
    pub plugin: Plugin,
    /// Digest of its present content, if that was read.
    pub identity: Option<String>,
    /// Its present `plugin.yaml`, if it can be read.
    pub present: Option<PluginDocument>,
    /// The state of its present content.
    pub state: State,
    /// The version in use.
    pub good: Option<Good>,
}

/// The state of the present content of a plugin.
#[derive(Clone, Debug)]
pub enum State {
    /// It is being read, checked and compiled, or waits for that.
    Loading {
        /// Since when its deployments wait.
        since: Instant,
    },
    Fine,
    Refused(PluginProblem),
    /// It could be used, and waits for an approval.
    Pending(Box<Pending>),
}

/// A version that waits for an approval.
#[derive(Clone, Debug)]
pub struct Pending {
    pub problem: PluginProblem,
    pub version: ApprovedVersion,
}

/// A plugin that can be used.
#[derive(Clone, Debug)]
pub struct Good {
    /// Its `plugin.yaml`, with the digest of the component.
    pub document: PluginDocument,
    /// Everything about it that has to be approved.
    pub version: ApprovedVersion,
    /// The packed component, for pods that run it.
    pub packed: Option<Arc<Packed>>,
    /// What is to be reported where it is used.
    pub warnings: Vec<Diagnostic>,
    /// The results of the conversions with it, if it is a canary.
    pub trial: Arc<Trial>,
}

/// A component in the form of its ConfigMaps: for each of them, files by name.
pub type Packed = Vec<BTreeMap<String, Vec<u8>>>;

#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Namespaces whose plugins are all known, including those of the operator's namespace. Deployments of other
    /// namespaces must wait: to convert them with the built-in plugins might change their objects.
    pub covered: HashSet<String>,
    pub entries: BTreeMap<Key, Entry>,
}

// === impl Registry ===

impl Registry {
    /// Digests of the components that are in use or may be being loaded, because a component is loaded before its entry
    /// is updated: also after a failure, when the pull of an image was tried again. What waits for an approval is
    /// loaded again afterwards.
    pub fn digests(&self) -> HashSet<Digest> {
        let used = self.entries.values().filter_map(|entry| entry.good.as_ref());
        let loading = self
            .entries
            .values()
            .filter(|entry| entry.is_loading() || entry.is_image() && !matches!(entry.state, State::Pending(_)));
        let loading = loading.filter_map(|entry| entry.present.as_ref());
        let documents = used.map(|good| &good.document).chain(loading);
        documents.filter_map(|document| document.digest.clone()).collect()
    }

    /// How many are like this.
    pub(super) fn count(&self, holds: fn(&Entry) -> bool) -> i64 {
        let number = self.entries.values().filter(|entry| holds(entry)).count();
        i64::try_from(number).unwrap_or(i64::MAX)
    }
}

// === impl Good ===

impl Good {
    /// Why it has to be stopped, if it is a canary.
    pub(super) fn verdict(&self) -> Option<String> {
        self.trial.verdict(self.document.canary.as_ref()?)
    }
}

// === impl Entry ===

impl Entry {
    /// Why its present content is not used, if it is refused or waits for an approval.
    pub(super) fn problem(&self) -> Option<&PluginProblem> {
        match &self.state {
            State::Refused(problem) => Some(problem),
            State::Pending(pending) => Some(&pending.problem),
            State::Loading { .. } | State::Fine => None,
        }
    }

    /// Whether it is refused for this reason.
    pub(super) fn has_failed(&self, code: &Code) -> bool {
        matches!(&self.state, State::Refused(problem) if problem.reason == conditions::reason(code.name))
    }

    pub fn is_image(&self) -> bool {
        self.present.as_ref().is_some_and(|present| present.image.is_some())
    }

    /// Whether its present content is not in use yet.
    pub fn is_loading(&self) -> bool {
        self.since().is_some()
    }

    /// Since when its present content is being loaded.
    pub fn since(&self) -> Option<Instant> {
        match self.state {
            State::Loading { since } => Some(since),
            _ => None,
        }
    }
}

// === impl Key ===

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
