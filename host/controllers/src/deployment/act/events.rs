//! Emits the events of a deployment. Nothing depends on an event: one that is lost is only logged.

use crate::deployment::context::Context;
use crate::deployment::plan::events;
use boson_api::BoshDeployment;
use boson_cluster::client::Notice;
use boson_pipeline::Diagnostic;
use std::slice;

/// Emits each warning once: the status holds a digest of those that were emitted. Returns the new digest.
pub async fn warn(context: &Context, object: &BoshDeployment, warnings: &[Diagnostic]) -> Option<String> {
    let warned = events::digest(warnings);
    if object.status.as_ref().and_then(|status| status.warned.as_ref()) == warned.as_ref() {
        return warned;
    }
    for warning in warnings {
        if !send(context, object, &events::warning(warning)).await {
            return None;
        }
    }
    warned
}

/// Emits one event. Returns whether it succeeded.
pub async fn send(context: &Context, object: &BoshDeployment, notice: &Notice) -> bool {
    context.events.emit_all(object, slice::from_ref(notice)).await
}
