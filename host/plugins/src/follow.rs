//! The ConfigMaps with plugins, from watches of their metadata. Their content is read when it is needed.

use super::marks::{PART_OF, PLUGIN};
use super::registry::Key;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// The metadata of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Resource version.
    pub version: String,
    /// Creation time in seconds.
    pub created: i64,
    /// Value of the label.
    pub label: String,
    /// The ConfigMap with the `plugin.yaml`, if this one holds further parts.
    pub part_of: Option<String>,
}

/// All ConfigMaps with plugins.
#[derive(Debug, Default)]
pub struct Listing {
    maps: BTreeMap<Key, Observed>,
    /// The objects so far of each list that is not complete yet.
    listed: BTreeMap<usize, BTreeSet<Key>>,
    /// Watches that have listed everything once.
    complete: BTreeSet<usize>,
}

/// A plugin's ConfigMaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugin {
    /// When the first was created.
    pub created: i64,
    /// Value of its label.
    pub label: String,
    /// Names of those with further parts.
    pub more: Vec<String>,
    /// Changes when any of them changes.
    pub version: String,
}

// === impl Listing ===

impl Listing {
    /// Applies an event of watch `nth` for `scope` (a namespace, or all). True if something has changed.
    pub fn take(&mut self, nth: usize, scope: Option<&str>, event: Event<PartialObjectMeta<ConfigMap>>) -> bool {
        match event {
            Event::Init => {
                self.listed.insert(nth, BTreeSet::new());
                false
            }
            Event::InitApply(map) => {
                self.listed.entry(nth).or_default().insert(key(&map));
                self.put(&map)
            }
            Event::InitDone => {
                let listed = self.listed.remove(&nth).unwrap_or_default();
                let before = self.maps.len();
                let elsewhere = |key: &Key| scope.is_some_and(|scope| scope != key.namespace);
                self.maps.retain(|key, _| elsewhere(key) || listed.contains(key));
                self.complete.insert(nth) || before != self.maps.len()
            }
            Event::Apply(map) => self.put(&map),
            Event::Delete(map) => self.maps.remove(&key(&map)).is_some(),
        }
    }

    /// Whether this many watches have listed everything.
    pub fn is_complete(&self, watches: usize) -> bool {
        self.complete.len() >= watches
    }

    /// The plugins, each with its parts.
    pub fn plugins(&self) -> BTreeMap<Key, Plugin> {
        let mut plugins = BTreeMap::new();
        for (key, observed) in self.maps.iter().filter(|(_, observed)| observed.part_of.is_none()) {
            let plugin = Plugin {
                created: observed.created,
                label: observed.label.clone(),
                more: Vec::new(),
                version: observed.version.clone(),
            };
            plugins.insert(key.clone(), plugin);
        }
        for (key, observed) in &self.maps {
            let whole = observed.part_of.as_ref().map(|name| Key {
                namespace: key.namespace.clone(),
                name: name.clone(),
            });
            if let Some(plugin) = whole.and_then(|whole| plugins.get_mut(&whole)) {
                plugin.more.push(key.name.clone());
                plugin.version.push(' ');
                plugin.version.push_str(&observed.version);
            }
        }
        plugins
    }

    fn put(&mut self, map: &PartialObjectMeta<ConfigMap>) -> bool {
        let text =
            |all: &Option<BTreeMap<String, String>>, key: &str| all.as_ref().and_then(|all| all.get(key)).cloned();
        let meta = &map.metadata;
        let created = meta.creation_timestamp.as_ref();
        let observed = Observed {
            version: meta.resource_version.clone().unwrap_or_default(),
            created: created.map_or(0, |time| time.0.as_second()),
            label: text(&meta.labels, PLUGIN).unwrap_or_default(),
            part_of: text(&meta.annotations, PART_OF),
        };
        let old = self.maps.insert(key(map), observed.clone());
        old.as_ref() != Some(&observed)
    }
}

fn key(map: &PartialObjectMeta<ConfigMap>) -> Key {
    // The API server gives each ConfigMap both.
    Key {
        namespace: map.metadata.namespace.clone().unwrap_or_default(),
        name: map.metadata.name.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(namespace: &str, name: &str, version: &str, part_of: Option<&str>) -> PartialObjectMeta<ConfigMap> {
        let mut map = PartialObjectMeta::default();
        map.metadata.namespace = Some(namespace.into());
        map.metadata.name = Some(name.into());
        map.metadata.resource_version = Some(version.into());
        map.metadata.labels = Some([(PLUGIN.to_string(), "ops".to_string())].into());
        map.metadata.annotations = part_of.map(|whole| [(PART_OF.to_string(), whole.to_string())].into());
        map
    }

    #[test]
    fn a_change_of_a_part_is_a_change_of_the_plugin() {
        let mut listing = Listing::default();
        listing.take(0, None, Event::Init);
        listing.take(0, None, Event::InitApply(map("n", "p", "1", None)));
        listing.take(0, None, Event::InitApply(map("n", "p-1", "2", Some("p"))));
        listing.take(0, None, Event::InitApply(map("other", "p-1", "3", Some("p"))));
        assert!(!listing.is_complete(1));
        assert!(listing.take(0, None, Event::InitDone) && listing.is_complete(1));
        let before = listing.plugins();
        assert_eq!(before.len(), 1, "a ConfigMap of another namespace is no part");
        let plugin = before.values().next().unwrap();
        assert_eq!(plugin.more, ["p-1"]);
        assert!(
            !listing.take(0, None, Event::Apply(map("n", "p-1", "2", Some("p")))),
            "the same event again"
        );
        assert!(listing.take(0, None, Event::Apply(map("n", "p-1", "9", Some("p")))));
        assert_ne!(listing.plugins().values().next().unwrap().version, plugin.version);
    }

    #[test]
    fn what_a_new_list_lacks_is_removed_but_not_what_another_watch_has() {
        let mut listing = Listing::default();
        listing.take(0, Some("a"), Event::Apply(map("a", "p", "1", None)));
        listing.take(1, Some("b"), Event::Apply(map("b", "p", "1", None)));
        listing.take(0, Some("a"), Event::Init);
        listing.take(0, Some("a"), Event::InitDone);
        let left: Vec<String> = listing.plugins().keys().map(ToString::to_string).collect();
        assert_eq!(left, ["b/p"]);
    }
}
