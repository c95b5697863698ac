//! What the process remembers of each group between two reconciles: the objects of rollouts in progress, and which pods
//! have all labels.

pub(super) mod rollouts;

use boson_cluster::client::Identity;
use boson_cluster::objects::label;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};

/// Namespace and name of a QuarksStatefulSet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub namespace: String,
    pub name: String,
}

/// The StatefulSets whose pods have all labels, by QuarksStatefulSet: their pods need not be listed again before one of
/// them is created.
#[derive(Debug, Default)]
pub(super) struct Labelled(Mutex<HashMap<Key, HashSet<String>>>);

// === impl Key ===

impl Key {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    pub fn of(set: Identity<'_>) -> Self {
        Self::new(set.namespace, set.name)
    }
}

// === impl Labelled ===

impl Labelled {
    /// Those of these StatefulSets whose pods must be looked at. From now on they count as labelled, until
    /// [`Labelled::mark_unlabelled`] says otherwise: a pod that is created while the others are listed is not missed.
    pub fn take<'s>(&self, key: &Key, live: impl Iterator<Item = &'s str>) -> Vec<String> {
        let live: Vec<String> = live.map(str::to_string).collect();
        let before = self.0.lock().insert(key.clone(), live.iter().cloned().collect());
        let before = before.unwrap_or_default();
        live.into_iter().filter(|name| !before.contains(name)).collect()
    }

    /// A pod of this StatefulSet lacks a label, or may lack one.
    pub fn mark_unlabelled(&self, key: &Key, stateful_set: &str) {
        if let Some(names) = self.0.lock().get_mut(key) {
            names.remove(stateful_set);
        }
    }

    /// The QuarksStatefulSet does not exist any more.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

/// Whether a pod has the label that each pod gets.
pub(super) fn is_labelled(pod: &ObjectMeta) -> bool {
    label(pod, labels::POD_ORDINAL).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_listed_only_after_one_may_lack_labels() {
        let (labelled, key) = (Labelled::default(), Key::new("n", "d-g"));
        let take = |live: &[&str]| labelled.take(&key, live.iter().copied());
        assert_eq!(take(&["s-v1"]), ["s-v1"], "a new process knows nothing");
        assert_eq!(take(&["s-v1"]), [""; 0]);
        assert_eq!(take(&["s-v1", "s-v2"]), ["s-v2"]);
        labelled.mark_unlabelled(&key, "s-v1");
        labelled.mark_unlabelled(&Key::new("n", "other"), "s-v1");
        assert_eq!(take(&["s-v1", "s-v2"]), ["s-v1"]);
        labelled.forget(&key);
        assert_eq!(take(&["s-v2"]), ["s-v2"]);
    }
}
