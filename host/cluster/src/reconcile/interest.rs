//! Which objects of a controller refer to which others, so that a change requeues exactly those.
//!
//! Stored by name, independent of any cache, because a controller most often waits for an object that does not exist
//! yet.

use crate::client::NamespacedName;
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub struct Interest {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    references: HashMap<NamespacedName, HashSet<NamespacedName>>,
    watched: HashMap<NamespacedName, HashSet<NamespacedName>>,
}

// === impl Interest ===

impl Interest {
    /// From now on, this object refers to exactly these.
    pub fn note(&self, namespace: &str, name: &str, references: impl Iterator<Item = NamespacedName>) {
        let who = place(namespace, name);
        let mut tables = self.tables.lock();
        tables.forget(&who);
        let references: HashSet<NamespacedName> = references.collect();
        for place in &references {
            tables.watched.entry(place.clone()).or_default().insert(who.clone());
        }
        tables.references.insert(who, references);
    }

    /// The objects to which this one refers.
    pub fn references(&self, namespace: &str, name: &str) -> Vec<NamespacedName> {
        let tables = self.tables.lock();
        let found = tables.references.get(&place(namespace, name));
        found.into_iter().flatten().cloned().collect()
    }

    pub fn forget(&self, namespace: &str, name: &str) {
        self.tables.lock().forget(&place(namespace, name));
    }

    /// The objects that refer to this one.
    pub fn of<K: Resource<DynamicType = ()>>(&self, namespace: &str, name: &str) -> Vec<ObjectRef<K>> {
        let tables = self.tables.lock();
        let found = tables.watched.get(&place(namespace, name));
        let all = found.into_iter().flatten();
        all.map(|(namespace, name)| ObjectRef::new(name).within(namespace))
            .collect()
    }
}

fn place(namespace: &str, name: &str) -> NamespacedName {
    (namespace.into(), name.into())
}

// === impl Tables ===

impl Tables {
    fn forget(&mut self, who: &NamespacedName) {
        for place in self.references.remove(who).into_iter().flatten() {
            if let Some(all) = self.watched.get_mut(&place) {
                all.remove(who);
                if all.is_empty() {
                    self.watched.remove(&place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::QuarksSecret;

    fn of(interest: &Interest, name: &str) -> Vec<ObjectRef<QuarksSecret>> {
        interest.of("n", name)
    }

    fn here(name: &str) -> NamespacedName {
        place("n", name)
    }

    #[test]
    fn only_those_that_still_refer_are_requeued() {
        let interest = Interest::default();
        interest.note("n", "leaf", [here("ca"), here("leaf")].into_iter());
        interest.note("n", "other", [here("ca")].into_iter());
        assert_eq!(of(&interest, "ca").len(), 2);
        interest.note("n", "leaf", [here("new-ca")].into_iter());
        assert_eq!(of(&interest, "ca"), [ObjectRef::new("other").within("n")]);
        assert_eq!(of(&interest, "leaf"), []);
        interest.forget("n", "other");
        interest.forget("n", "leaf");
        assert!(interest.tables.lock().watched.is_empty(), "it grows for ever");
    }
}
