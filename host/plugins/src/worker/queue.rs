//! Plugins that wait to be pulled or loaded. Namespaces take turns, so that one with many plugins, or with plugins that
//! compile slowly, does not block the others. Pure.

use crate::registry::{Key, Plugin};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub key: Key,
    pub plugin: Plugin,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By namespace, in order of arrival.
    namespaces: BTreeMap<String, VecDeque<Queued>>,
    /// The namespace of the last plugin.
    last: String,
}

// === impl Queue ===

impl Queue {
    /// Adds a plugin, or updates it in its place.
    pub(super) fn push(&mut self, queued: Queued) {
        let waiting = self.namespaces.entry(queued.key.namespace.clone()).or_default();
        match waiting.iter_mut().find(|one| one.key == queued.key) {
            Some(old) => *old = queued,
            None => waiting.push_back(queued),
        }
    }

    /// Keeps those for which `holds` is true.
    pub(super) fn retain(&mut self, holds: impl Fn(&Key) -> bool) {
        for waiting in self.namespaces.values_mut() {
            waiting.retain(|one| holds(&one.key));
        }
        self.namespaces.retain(|_, waiting| !waiting.is_empty());
    }

    /// The next one: the oldest of the alphabetically next namespace.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        self.pop_unless(|_| false)
    }

    /// The next one, without namespaces that are `busy`.
    pub(super) fn pop_unless(&mut self, busy: impl Fn(&str) -> bool) -> Option<Queued> {
        let after = (Bound::Excluded(self.last.clone()), Bound::Unbounded);
        let later = self.namespaces.range(after).chain(self.namespaces.iter());
        let mut free = later.map(|(namespace, _)| namespace).filter(|one| !busy(one));
        let namespace = free.next()?.clone();
        let waiting = self.namespaces.get_mut(&namespace)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.namespaces.remove(&namespace);
        }
        self.last = namespace;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(namespace: &str, name: &str, version: &str) -> Queued {
        Queued {
            key: Key {
                namespace: namespace.into(),
                name: name.into(),
            },
            plugin: Plugin {
                created: 1,
                label: "ops".into(),
                more: Vec::new(),
                version: version.into(),
            },
        }
    }

    fn drain(queue: &mut Queue) -> Vec<String> {
        std::iter::from_fn(|| queue.pop())
            .map(|one| one.key.to_string())
            .collect()
    }

    #[test]
    fn namespaces_take_turns() {
        let mut queue = Queue::default();
        for name in ["1", "2", "3"] {
            queue.push(queued("busy", name, "a"));
        }
        assert_eq!(queue.pop().unwrap().key.to_string(), "busy/1");
        queue.push(queued("calm", "x", "a"));
        queue.push(queued("alone", "y", "a"));
        assert_eq!(drain(&mut queue), ["calm/x", "alone/y", "busy/2", "busy/3"]);
    }

    #[test]
    fn a_busy_namespace_does_not_delay_others() {
        let mut queue = Queue::default();
        for namespace in ["a", "b"] {
            queue.push(queued(namespace, "1", "a"));
        }
        let busy = |namespace: &str| namespace == "a";
        assert_eq!(queue.pop_unless(busy).unwrap().key.to_string(), "b/1");
        assert_eq!(queue.pop_unless(busy), None);
        assert_eq!(drain(&mut queue), ["a/1"]);
    }

    #[test]
    fn a_newer_version_takes_the_place_of_the_older_one() {
        let mut queue = Queue::default();
        for (name, version) in [("1", "a"), ("2", "a"), ("1", "b"), ("3", "a")] {
            queue.push(queued("n", name, version));
        }
        queue.retain(|key| key.name != "3");
        let first = queue.pop().unwrap();
        assert_eq!((first.key.name.as_str(), first.plugin.version.as_str()), ("1", "b"));
        assert_eq!(drain(&mut queue), ["n/2"]);
    }
}
