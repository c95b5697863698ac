//! A value of each object of a kind, from watches of namespaces.

use super::registry::Key;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// The values of all objects.
#[derive(Debug, Default)]
pub struct Watched<V> {
    pub values: BTreeMap<Key, V>,
    /// The objects so far of each list that is not complete yet.
    listed: BTreeMap<usize, BTreeSet<Key>>,
    /// Watches that have listed everything once.
    complete: BTreeSet<usize>,
}

// === impl Watched ===

impl<V: PartialEq> Watched<V> {
    /// Whether this many watches have listed everything.
    pub fn is_complete(&self, watches: usize) -> bool {
        self.complete.len() >= watches
    }

    /// Applies an event of watch `nth` for `scope` (a namespace, or all). `value`: that of an object. True if something
    /// has changed.
    pub fn apply<K: ResourceExt>(
        &mut self,
        nth: usize,
        scope: Option<&str>,
        event: Event<K>,
        value: impl Fn(K) -> V,
    ) -> bool {
        match event {
            Event::Init => {
                self.listed.insert(nth, BTreeSet::new());
                false
            }
            Event::InitApply(object) => {
                self.listed.entry(nth).or_default().insert(key(&object));
                self.put(key(&object), value(object))
            }
            Event::InitDone => {
                let listed = self.listed.remove(&nth).unwrap_or_default();
                let before = self.values.len();
                let elsewhere = |key: &Key| scope.is_some_and(|scope| scope != key.namespace);
                self.values.retain(|key, _| elsewhere(key) || listed.contains(key));
                self.complete.insert(nth) || before != self.values.len()
            }
            Event::Apply(object) => self.put(key(&object), value(object)),
            Event::Delete(object) => self.values.remove(&key(&object)).is_some(),
        }
    }

    fn put(&mut self, key: Key, value: V) -> bool {
        let is_new = self.values.get(&key) != Some(&value);
        self.values.insert(key, value);
        is_new
    }
}

fn key(object: &impl ResourceExt) -> Key {
    // The API server gives each object both.
    Key {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
    }
}
