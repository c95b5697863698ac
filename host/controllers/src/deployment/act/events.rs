//! Emits the events of a deployment. Nothing depends on an event: one that is lost is only logged.

use crate::deployment::context::Context;
use crate::deployment::plan::events;
use boson_api::BoshDeployment;
use boson_cluster::client::recorded::{RecordedEvent, last_changed_by};
use boson_cluster::client::{Identity, Notice};
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use std::slice;

/// Emits each warning once: the status holds a digest of those that were emitted. Returns the new digest.
pub async fn warn(context: &Context, object: &BoshDeployment, warnings: &[Diagnostic]) -> Option<String> {
    let warned = events::digest(warnings);
    if object.status.as_ref().and_then(|status| status.warned.as_ref()) == warned.as_ref() {
        return warned;
    }
    // They say what has no effect, not what has happened.
    let unrecorded = context.events.unrecorded();
    for warning in warnings {
        if !unrecorded.emit_all(object, &[events::warning(warning)]).await {
            return None;
        }
    }
    warned
}

/// Emits the event about objects that were written, and records it with who has caused it.
pub async fn changed(context: &Context, object: &BoshDeployment, notice: &Notice) {
    let event = RecordedEvent::with_reason(object, &notice.reason, Timestamp::now());
    let revision = object.annotations().get(labels::REVISION);
    let revision = revision
        .map(|number| format!("revision {number}: "))
        .unwrap_or_default();
    let event = event
        .with_context(&format!("{revision}{}", notice.note))
        .by(user(context, object).await);
    context.events.record(object, event);
    context
        .events
        .unrecorded()
        .emit_all(object, slice::from_ref(notice))
        .await;
}

/// Who has changed its specification since the last change that was recorded; none if nobody has, or if it cannot be
/// read. The watch drops the managed fields, so this reads it again, once for each change.
async fn user(context: &Context, object: &BoshDeployment) -> Option<String> {
    let Identity { namespace, name, .. } = Identity::of(object).ok()?;
    let key = (namespace.into(), name.into());
    if !context.memory.recorded.advance(&key, object) {
        return None;
    }
    let found = context.cluster.get::<BoshDeployment>(namespace, name).await;
    let found = found.inspect_err(|error| tracing::debug!(%error, "cannot read who has changed a deployment"));
    last_changed_by(&found.ok()??.metadata)
}
