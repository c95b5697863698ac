//! Events that are not written yet.

use super::RecordedEvent;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// Events of one namespace that wait. More are lost while the API server does not answer.
pub(super) const MAX_WAITING_EVENTS: usize = 200;

/// The events of this process that are not written yet. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Recorded(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By namespace.
    waiting: Mutex<BTreeMap<String, Vec<RecordedEvent>>>,
    added: Notify,
}

// === impl Recorded ===

impl Recorded {
    /// Adds an event, which is written soon.
    pub fn add(&self, namespace: &str, event: RecordedEvent) {
        let mut waiting = self.0.waiting.lock();
        let of_namespace = waiting.entry(namespace.into()).or_default();
        if of_namespace.len() >= MAX_WAITING_EVENTS {
            tracing::warn!(
                namespace,
                action = event.action,
                "an event is not recorded: too many wait"
            );
            return;
        }
        of_namespace.push(event);
        self.0.added.notify_one();
    }

    pub(super) async fn wait_for_event(&self) {
        while self.0.waiting.lock().is_empty() {
            self.0.added.notified().await;
        }
    }

    /// All that wait.
    pub(super) fn waiting(&self) -> BTreeMap<String, Vec<RecordedEvent>> {
        self.0.waiting.lock().clone()
    }

    /// The first events of a namespace do not wait any more.
    pub(super) fn remove(&self, namespace: &str, count: usize) {
        let mut waiting = self.0.waiting.lock();
        if let Some(events) = waiting.get_mut(namespace) {
            events.drain(..count.min(events.len()));
            if events.is_empty() {
                waiting.remove(namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_api::BoshDeployment;
    use futures::FutureExt;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::{from_value, json};

    #[test]
    fn events_wait_until_they_are_written_and_not_without_end() {
        let about: BoshDeployment = from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "d"},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
        }))
        .unwrap();
        let event = RecordedEvent::about(&about, "update", Timestamp::UNIX_EPOCH);
        let recorded = Recorded::default();
        assert_eq!(recorded.wait_for_event().now_or_never(), None);
        (0..=MAX_WAITING_EVENTS).for_each(|_| recorded.add("n", event.clone()));
        assert_eq!(recorded.wait_for_event().now_or_never(), Some(()));
        assert_eq!(recorded.waiting()["n"].len(), MAX_WAITING_EVENTS);
        recorded.remove("n", MAX_WAITING_EVENTS - 1);
        assert_eq!(recorded.waiting()["n"].len(), 1);
        recorded.remove("n", 1);
        assert!(recorded.waiting().is_empty());
    }
}
