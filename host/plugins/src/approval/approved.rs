//! The approved versions of all plugins, from watches of PluginApprovals.

use super::super::registry::Key;
use super::super::watched::Watched;
use boson_api::{ApprovedVersion, PluginApproval};
use kube::runtime::watcher::Event;

/// The approved versions of all plugins, by the ConfigMap of the plugin.
pub type Approved = Watched<Vec<ApprovedVersion>>;

// === impl Approved ===

impl Approved {
    /// The approved versions of a plugin, the newest last.
    pub fn of(&self, key: &Key) -> &[ApprovedVersion] {
        self.values.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Applies an event of a watch: see [`Watched::apply`].
    pub fn take(&mut self, nth: usize, scope: Option<&str>, event: Event<PluginApproval>) -> bool {
        self.apply(nth, scope, event, |approval| approval.spec.versions)
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
        let named = |approved: &Approved| approved.values.keys().map(ToString::to_string).collect::<Vec<_>>();
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
