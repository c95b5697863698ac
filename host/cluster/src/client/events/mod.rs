//! Events, as `kubectl describe` shows them below an object.
//!
//! The name of an event is derived from its content, so the same message about the same object is one event, however
//! often and by whichever process it is emitted, until the API server deletes it (after an hour by default).

pub mod recorded;

use super::{Cluster, Error, FieldManager};
use data_encoding::HEXLOWER;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::api::ObjectMeta;
use recorded::RecordedEvent;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The API server refuses a note of 1024 bytes and more.
const MAX_NOTE_BYTES: usize = 1000;
/// The limit for reason and action.
const MAX_WORD_BYTES: usize = 128;
/// Longest object name in the name of an event, which adds a dot and 16 digits.
const MAX_NAME_BYTES: usize = 253 - 17;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether a user should act on it.
    pub warning: bool,
    /// One word, such as `Generated`.
    pub reason: Cow<'static, str>,
    /// A sentence, never with a secret value.
    pub note: String,
}

/// Emits events of one controller.
#[derive(Clone)]
pub struct Events {
    cluster: Cluster,
    controller: FieldManager,
    instance: String,
    is_recorded: bool,
}

// === impl Notice ===

impl Notice {
    /// A user should act on it.
    pub fn warning(reason: impl Into<Cow<'static, str>>, note: impl Into<String>) -> Self {
        Self {
            warning: true,
            reason: reason.into(),
            note: note.into(),
        }
    }

    /// It only tells what happened.
    pub fn normal(reason: impl Into<Cow<'static, str>>, note: impl Into<String>) -> Self {
        Self {
            warning: false,
            ..Self::warning(reason, note)
        }
    }
}

// === impl Events ===

impl Events {
    /// `instance`: the name of this process.
    pub fn new(cluster: Cluster, controller: FieldManager, instance: &str) -> Self {
        Self {
            cluster,
            controller,
            instance: instance.into(),
            is_recorded: true,
        }
    }

    /// Emits events that are not recorded for longer than Kubernetes keeps them.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        Self {
            is_recorded: false,
            ..self.clone()
        }
    }

    /// Where events are emitted.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// On whose behalf.
    pub fn controller(&self) -> FieldManager {
        self.controller
    }

    /// Emits it, unless the same event exists, and records it.
    ///
    /// # Errors
    /// See [`Error`]. Nothing depends on an event: log the error and continue.
    pub async fn emit(&self, about: &impl Resource<DynamicType = ()>, notice: &Notice) -> Result<(), Error> {
        let now = Timestamp::now();
        let event = event(about, notice, self.controller.0, &self.instance, now)?;
        let created = self.cluster.create(self.controller, &event).await?;
        if self.is_recorded && created.is_some() {
            let recorded = RecordedEvent::with_reason(about, &notice.reason, now);
            let recorded = if notice.warning {
                recorded.failed(&notice.note)
            } else {
                recorded.with_context(&notice.note)
            };
            self.record(about, recorded);
        }
        Ok(())
    }

    /// Records an event about an object, without an event of Kubernetes.
    pub fn record(&self, about: &impl Resource<DynamicType = ()>, event: RecordedEvent) {
        if let Some(namespace) = &about.meta().namespace {
            self.cluster.recorded().add(namespace, event);
        }
    }

    /// Emits these. Those that are lost are logged. Whether none was lost.
    pub async fn emit_all(&self, about: &impl Resource<DynamicType = ()>, notices: &[Notice]) -> bool {
        let mut is_complete = true;
        for notice in notices {
            if let Err(error) = self.emit(about, notice).await {
                tracing::warn!(%error, "an event was lost");
                is_complete = false;
            }
        }
        is_complete
    }
}

fn event<K>(about: &K, notice: &Notice, controller: &str, instance: &str, now: Timestamp) -> Result<Event, Error>
where
    K: Resource<DynamicType = ()>,
{
    let regarding = about.object_ref(&());
    let (Some(object), Some(uid)) = (&regarding.name, &regarding.uid) else {
        return Err(Error::flawed(
            &K::kind(&()),
            regarding.name.as_deref(),
            "has no name or UID",
        ));
    };
    let note = cut(&notice.note, MAX_NOTE_BYTES);
    let mut hash = Sha256::new();
    for part in [uid, &*notice.reason, note] {
        hash.update(part);
        hash.update([0]);
    }
    let digits = HEXLOWER.encode(&hash.finalize()[..8]);
    let object = cut(object, MAX_NAME_BYTES).trim_end_matches(['.', '-']);
    Ok(Event {
        metadata: ObjectMeta {
            name: Some(format!("{object}.{digits}")),
            namespace: regarding.namespace.clone(),
            ..ObjectMeta::default()
        },
        type_: Some(if notice.warning { "Warning" } else { "Normal" }.into()),
        reason: Some(cut(&notice.reason, MAX_WORD_BYTES).into()),
        action: Some("Reconcile".into()),
        note: Some(note.into()),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(format!("quarks.cloudfoundry.org/{controller}")),
        reporting_instance: Some(cut(instance, MAX_WORD_BYTES).into()),
        regarding: Some(regarding),
        ..Event::default()
    })
}

/// At most this many bytes, whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;
    use k8s_openapi::api::core::v1::Secret;
    use proptest::prelude::*;

    fn about(name: &str, uid: &str) -> Secret {
        let mut secret = Secret::default();
        secret.metadata.name = Some(name.into());
        secret.metadata.namespace = Some("n".into());
        secret.metadata.uid = Some(uid.into());
        secret
    }

    fn name(about: &Secret, notice: &Notice, second: i64) -> String {
        let now = Timestamp::from_second(second).unwrap();
        event(about, notice, "c", "i", now).unwrap().metadata.name.unwrap()
    }

    fn notice(note: &str) -> Notice {
        Notice::warning("Waiting", note)
    }

    #[test]
    fn the_same_message_about_the_same_object_is_one_event() {
        let (one, other) = (about("a", "1"), about("a", "2"));
        let first = name(&one, &notice("x"), 1);
        assert_eq!(first, name(&one, &notice("x"), 2));
        assert_ne!(first, name(&one, &notice("y"), 1));
        assert_ne!(
            first,
            name(&other, &notice("x"), 1),
            "a later object of that name is another"
        );
    }

    #[test]
    fn an_event_about_no_object_is_a_defect() {
        let error = event(&Secret::default(), &notice("x"), "c", "i", Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Flawed("has no name or UID"));
    }

    proptest! {
        #[test]
        fn the_server_takes_events_of_any_length(note in ".{0,3000}", object in "[a-z][-a-z0-9.]{0,251}[a-z0-9]") {
            let event = event(&about(&object, "1"), &notice(&note), "c", "i", Timestamp::UNIX_EPOCH).unwrap();
            prop_assert!(event.note.unwrap().len() < 1024);
            let name = event.metadata.name.unwrap();
            prop_assert!(name.len() <= 253, "{}", name);
            prop_assert!(!name.contains("..") || object.contains(".."), "{}", name);
        }
    }
}
