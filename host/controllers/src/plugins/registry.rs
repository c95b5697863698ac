//! What is known of all plugins in ConfigMaps: each as it is now, and as it was when it last was fine.

use super::document::PluginDocument;
use super::fault::Fault;
use super::marks::NO_MEMORY;
use crate::deployment::camel;
use boson_pipeline::Stage;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// A ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// A plugin.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When its ConfigMap was made, seconds: of two that want the same, the older one has it.
    pub created: i64,
    /// The stage of its label, where there is such a stage.
    pub stage: Option<Stage>,
    /// What its `plugin.yaml` says now, where it can be read.
    pub present: Option<PluginDocument>,
    /// How far that is.
    pub state: State,
    /// What is used.
    pub good: Option<Good>,
}

/// How far the present content of a plugin's ConfigMap is.
#[derive(Clone, Debug)]
pub enum State {
    /// It is read, checked and compiled, or waits for that.
    Loading {
        /// When its deployments began to wait.
        since: Instant,
    },
    /// It is what is used.
    Fine,
    /// It is not used.
    Refused(Fault),
}

/// A plugin that can be used.
#[derive(Clone, Debug)]
pub struct Good {
    /// What its `plugin.yaml` said.
    pub document: PluginDocument,
    /// The component as it came, for the pods that run it, too.
    pub packed: Option<Arc<Packed>>,
}

/// A component as ConfigMaps hold it: for each of them, files by name.
pub type Packed = Vec<BTreeMap<String, Vec<u8>>>;

/// All plugins.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Namespaces of which all plugins are known, those of the operator's namespace included. Which rules a deployment of any other has, is not
    /// known: the built-in ones would change what runs.
    pub covered: HashSet<String>,
    /// By ConfigMap.
    pub entries: BTreeMap<Key, Entry>,
}

// === impl Registry ===

impl Registry {
    /// The components that are in use, and those that are being loaded: these may be there before their entry says so.
    pub fn digests(&self) -> BTreeSet<String> {
        let used = self.entries.values().filter_map(|entry| entry.good.as_ref());
        let loading = self.entries.values().filter(|entry| entry.is_loading());
        let loading = loading.filter_map(|entry| entry.present.as_ref());
        let documents = used.map(|good| &good.document).chain(loading);
        documents.map(|document| document.digest.clone()).collect()
    }

    /// How many are in use, and how many refused.
    pub fn counts(&self) -> (i64, i64) {
        let count = |holds: fn(&Entry) -> bool| {
            let number = self.entries.values().filter(|entry| holds(entry)).count();
            i64::try_from(number).unwrap_or(i64::MAX)
        };
        (
            count(|entry| entry.good.is_some()),
            count(|entry| matches!(entry.state, State::Refused(_))),
        )
    }
}

// === impl Entry ===

impl Entry {
    /// Whether it is refused only because others take the memory.
    pub(super) fn lacks_memory(&self) -> bool {
        matches!(&self.state, State::Refused(fault) if fault.reason == camel(NO_MEMORY))
    }

    /// Whether its present content is not used yet.
    pub fn is_loading(&self) -> bool {
        self.since().is_some()
    }

    /// Since when its present content waits to be used.
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
