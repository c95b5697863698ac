//! The ConfigMaps with plugins, from watches of their metadata. Their content is read when it is needed.

use crate::marks::{PART_OF, PLUGIN};
use crate::registry::{Key, Plugin};
use crate::watched::Watched;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// As far as this ConfigMap tells.
    pub plugin: Plugin,
    /// The ConfigMap with the `plugin.yaml`, if this one holds further parts.
    pub part_of: Option<String>,
}

pub type Listing = Watched<Observed>;

// === impl Listing ===

impl Listing {
    /// Applies an event of a watch: see [`Watched::apply`].
    pub fn take(&mut self, nth: usize, scope: Option<&str>, event: Event<PartialObjectMeta<ConfigMap>>) -> bool {
        self.apply(nth, scope, event, observed)
    }

    /// The plugins, each with its parts.
    pub fn plugins(&self) -> BTreeMap<Key, Plugin> {
        let mut plugins = BTreeMap::new();
        for (key, observed) in self.values.iter().filter(|(_, observed)| observed.part_of.is_none()) {
            plugins.insert(key.clone(), observed.plugin.clone());
        }
        for (key, observed) in &self.values {
            let whole = observed.part_of.as_ref().map(|name| Key {
                namespace: key.namespace.clone(),
                name: name.clone(),
            });
            if let Some(plugin) = whole.and_then(|whole| plugins.get_mut(&whole)) {
                plugin.more.push(key.name.clone());
                plugin.version.push(' ');
                plugin.version.push_str(&observed.plugin.version);
            }
        }
        plugins
    }
}

fn observed(map: PartialObjectMeta<ConfigMap>) -> Observed {
    let plugin = Plugin {
        created: map.creation_timestamp().map_or(0, |time| time.0.as_second()),
        label: map.labels().get(PLUGIN).cloned().unwrap_or_default(),
        more: Vec::new(),
        version: map.resource_version().unwrap_or_default(),
    };
    let part_of = map.annotations().get(PART_OF).cloned();
    Observed { plugin, part_of }
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
