//! What is known of all plugins in ConfigMaps: each as it is now, and as it was when it last was fine.

use super::document::PluginDocument;
use super::fault::Fault;
use boson_pipeline::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    /// It is read, checked and compiled.
    Loading,
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
    /// Whether all ConfigMaps have been looked at once: before that, nobody knows which rules a deployment has.
    pub listed: bool,
    /// By ConfigMap.
    pub entries: BTreeMap<Key, Entry>,
}

// === impl Registry ===

impl Registry {
    /// The components that are in use.
    pub fn digests(&self) -> BTreeSet<String> {
        let good = self.entries.values().filter_map(|entry| entry.good.as_ref());
        good.map(|good| good.document.digest.clone()).collect()
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

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
