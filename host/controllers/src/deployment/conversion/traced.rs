//! Stages that log each call and how long it took.
//!
//! A conversion calls its stages from other threads, which do not have the tracing span of the reconcile. So the span
//! is stored here.

use boson_document::Tree;
use boson_pipeline::Stages;
use boson_pipeline::schema::SettingsError;
use boson_pipeline::stage::{Answer, Call, PluginInfo, PluginRef, Reply, SharedStages};
use std::sync::Arc;
use std::time::Instant;
use tracing::Span;

/// Stages, for one reconcile.
struct Traced {
    inner: SharedStages,
    span: Span,
}

/// These stages, traced in the current span.
pub fn with_tracing(inner: SharedStages) -> SharedStages {
    let span = Span::current();
    Arc::new(Traced { inner, span })
}

// === impl Traced ===

impl Stages for Traced {
    fn call(&self, call: Call<'_>) -> Reply<Answer> {
        // At the highest level, like the span of the reconcile.
        let span = tracing::error_span!(parent: &self.span, "stage", stage = call.stage().name());
        let _entered = span.enter();
        let began = Instant::now();
        let reply = self.inner.call(call);
        let outcome = if reply.is_ok() { "ok" } else { "failed" };
        tracing::debug!(
            function = call.function(),
            outcome,
            seconds = began.elapsed().as_secs_f64(),
            "called a stage"
        );
        reply
    }

    fn info(&self, plugin: PluginRef<'_>) -> Option<PluginInfo> {
        self.inner.info(plugin)
    }

    fn spent_here(&self) -> u64 {
        self.inner.spent_here()
    }

    fn check_properties(&self, schema: &Tree, properties: &Tree) -> Result<Vec<SettingsError>, String> {
        self.inner.check_properties(schema, properties)
    }
}
