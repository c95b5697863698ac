//! The approved versions of all plugins, from watches of PluginApprovals.

use super::super::registry::Key;
use boson_api::{ApprovedVersion, PluginApproval};
use kube::runtime::watcher::Event;
use std::collections::{BTreeMap, BTreeSet};

/// The approved versions of all plugins.
#[derive(Debug, Default)]
pub struct Approved {
    /// By the ConfigMap of the plugin.
    versions: BTreeMap<Key, Vec<ApprovedVersion>>,
    /// The objects so far of each list that is not complete yet.
    listed: BTreeMap<usize, BTreeSet<Key>>,
    /// Watches that have listed everything once.
    complete: BTreeSet<usize>,
}

// === impl Approved ===

impl Approved {
    /// The approved versions of a plugin, the newest last.
    pub fn of(&self, key: &Key) -> &[ApprovedVersion] {
        self.versions.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether this many watches have listed everything.
    pub fn is_complete(&self, watches: usize) -> bool {
        self.complete.len() >= watches
    }

    /// Applies an event of watch `nth` for `scope` (a namespace, or all). True if something has changed.
    pub fn take(&mut self, nth: usize, scope: Option<&str>, event: Event<PluginApproval>) -> bool {
        match event {
            Event::Init => {
                self.listed.insert(nth, BTreeSet::new());
                false
            }
            Event::InitApply(approval) => {
                self.listed.entry(nth).or_default().insert(key(&approval));
                self.put(approval)
            }
            Event::InitDone => {
                let listed = self.listed.remove(&nth).unwrap_or_default();
                let before = self.versions.len();
                let elsewhere = |key: &Key| scope.is_some_and(|scope| scope != key.namespace);
                self.versions.retain(|key, _| elsewhere(key) || listed.contains(key));
                self.complete.insert(nth) || before != self.versions.len()
            }
            Event::Apply(approval) => self.put(approval),
            Event::Delete(approval) => self.versions.remove(&key(&approval)).is_some(),
        }
    }

    fn put(&mut self, approval: PluginApproval) -> bool {
        let key = key(&approval);
        let versions = approval.spec.versions;
        let is_new = self.versions.get(&key) != Some(&versions);
        self.versions.insert(key, versions);
        is_new
    }
}

fn key(approval: &PluginApproval) -> Key {
    // The API server gives each object both.
    Key {
        namespace: approval.metadata.namespace.clone().unwrap_or_default(),
        name: approval.metadata.name.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::PluginApprovalSpec;

    fn approval(namespace: &str, name: &str) -> PluginApproval {
        let mut approval = PluginApproval::new(name, PluginApprovalSpec { versions: Vec::new() });
        approval.metadata.namespace = Some(namespace.into());
        approval
    }

    #[test]
    fn what_a_new_list_lacks_is_no_longer_approved() {
        let mut approved = Approved::default();
        let named = |approved: &Approved| approved.versions.keys().map(ToString::to_string).collect::<Vec<_>>();
        for event in [
            Event::Init,
            Event::InitApply(approval("a", "p")),
            Event::InitApply(approval("a", "q")),
            Event::InitDone,
        ] {
            approved.take(0, Some("a"), event);
        }
        assert!(approved.is_complete(1) && !approved.is_complete(2));
        assert!(approved.take(1, Some("b"), Event::Apply(approval("b", "p"))));
        assert!(
            !approved.take(1, Some("b"), Event::Apply(approval("b", "p"))),
            "the same again"
        );
        approved.take(0, Some("a"), Event::Init);
        approved.take(0, Some("a"), Event::InitApply(approval("a", "q")));
        assert!(approved.take(0, Some("a"), Event::InitDone));
        assert_eq!(named(&approved), ["a/q", "b/p"]);
        assert!(approved.take(0, Some("a"), Event::Delete(approval("a", "q"))));
        assert_eq!(named(&approved), ["b/p"]);
    }
}
