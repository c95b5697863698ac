//! Events of a deployment: what is wrong, and what in its manifest has no effect.

use super::Context;
use super::findings;
use super::status::{Observed, Outcome};
use crate::stateful_set;
use boson_api::{BoshDeployment, conditions};
use boson_cluster::client::Notice;
use boson_cluster::objects;
use boson_pipeline::Diagnostic;
use serde_json::Value;

// === impl Context ===

impl Context {
    /// Emits an event for everything that is wrong.
    pub(super) async fn emit_events(&self, object: &BoshDeployment, observed: &Observed) {
        let wrong = match &observed.outcome {
            Outcome::Partly(wrong) | Outcome::Wrong(wrong) | Outcome::Refused(wrong) => {
                Some((wrong.reason.clone(), wrong.message.clone()))
            }
            _ => None,
        };
        let troubles = observed
            .troubles
            .iter()
            .filter(|(_, trouble)| stateful_set::is_worth_an_event(&trouble.reason));
        let troubles = troubles.map(|(group, trouble)| {
            let reason = match stateful_set::is_refusal(&trouble.reason) {
                true => findings::REFUSED,
                false => trouble.reason.as_str(),
            };
            (reason.to_string(), format!("{group}: {}", trouble.message))
        });
        let refused = observed
            .faults
            .iter()
            .map(|fault| (fault.reason.clone(), fault.message.clone()));
        for (reason, note) in wrong.into_iter().chain(troubles).chain(refused) {
            let notice = Notice {
                warning: true,
                reason: reason.into(),
                note,
            };
            if let Err(error) = self.events.emit(object, &notice).await {
                tracing::warn!(%error, "an event was lost");
            }
        }
    }

    /// Emits each warning once: the status holds a digest of those that were emitted. Returns the new digest.
    pub(super) async fn warn(&self, object: &BoshDeployment, warnings: &[Diagnostic]) -> Option<String> {
        let notices: Vec<Notice> = warnings.iter().map(notice).collect();
        let words: Vec<Value> = notices.iter().map(|notice| notice.note.clone().into()).collect();
        let warned = (!words.is_empty()).then(|| objects::digest(&Value::Array(words)));
        if object.status.as_ref().and_then(|status| status.warned.as_ref()) == warned.as_ref() {
            return warned;
        }
        for notice in notices {
            if let Err(error) = self.events.emit(object, &notice).await {
                tracing::warn!(%error, "an event was lost");
                return None;
            }
        }
        warned
    }
}

fn notice(warning: &Diagnostic) -> Notice {
    let place = warning.place.document.as_deref().unwrap_or_default();
    let pointer = warning.place.pointer.as_deref().unwrap_or_default();
    Notice {
        warning: true,
        reason: conditions::reason(&warning.code).into(),
        note: format!("{} ({place}{pointer})", warning.message),
    }
}
