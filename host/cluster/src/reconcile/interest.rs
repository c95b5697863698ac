//! Which objects of a controller refer to which others, so that a change requeues exactly those.
//!
//! Stored by name, independent of any cache, because a controller most often waits for an object that does not exist
//! yet.

use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};

/// Namespace and name.
type Place = (String, String);

#[derive(Debug, Default)]
pub struct Interest {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    references: HashMap<Place, HashSet<Place>>,
    watched: HashMap<Place, HashSet<Place>>,
}

// === impl Interest ===

impl Interest {
    /// From now on `who` refers to exactly these.
    pub fn note(&self, who: (&str, &str), references: impl Iterator<Item = Place>) {
        let who = (who.0.to_string(), who.1.to_string());
        let mut tables = self.tables.lock();
        tables.forget(&who);
        let references: HashSet<Place> = references.collect();
        for place in &references {
            tables.watched.entry(place.clone()).or_default().insert(who.clone());
        }
        tables.references.insert(who, references);
    }

    /// The objects to which `who` refers.
    pub fn references(&self, who: (&str, &str)) -> Vec<Place> {
        let tables = self.tables.lock();
        let found = tables.references.get(&(who.0.to_string(), who.1.to_string()));
        found.into_iter().flatten().cloned().collect()
    }

    /// `who` is deleted.
    pub fn forget(&self, who: (&str, &str)) {
        let who = (who.0.to_string(), who.1.to_string());
        self.tables.lock().forget(&who);
    }

    /// The objects that refer to this one.
    pub fn of<K: Resource<DynamicType = ()>>(&self, namespace: &str, name: &str) -> Vec<ObjectRef<K>> {
        let tables = self.tables.lock();
        let found = tables.watched.get(&(namespace.to_string(), name.to_string()));
        let all = found.into_iter().flatten();
        all.map(|(namespace, name)| ObjectRef::new(name).within(namespace))
            .collect()
    }
}

// === impl Tables ===

impl Tables {
    fn forget(&mut self, who: &Place) {
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

    fn place(name: &str) -> Place {
        ("n".into(), name.into())
    }

    #[test]
    fn only_those_that_still_refer_are_requeued() {
        let interest = Interest::default();
        interest.note(("n", "leaf"), [place("ca"), place("leaf")].into_iter());
        interest.note(("n", "other"), [place("ca")].into_iter());
        assert_eq!(of(&interest, "ca").len(), 2);
        interest.note(("n", "leaf"), [place("new-ca")].into_iter());
        assert_eq!(of(&interest, "ca"), [ObjectRef::new("other").within("n")]);
        assert_eq!(of(&interest, "leaf"), []);
        interest.forget(("n", "other"));
        interest.forget(("n", "leaf"));
        assert!(interest.tables.lock().watched.is_empty(), "it grows for ever");
    }
}
