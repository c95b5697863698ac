//! What all controllers share while they run: how many objects at a time, when to try again, how they are, when to stop.

use crate::backoff::Backoff;
use crate::client::Error;
use crate::metrics::{Metrics, Outcome, Reconcile};
use crate::scope::Scope;
use crate::serving::{Health, State};
use futures::Stream;
use kube::Resource;
use kube::runtime::controller::Action;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Shared by all controllers.
#[derive(Clone)]
pub(crate) struct Running {
    /// Objects that one controller looks at at a time.
    pub concurrency: u16,
    backoff: Arc<Backoff>,
    metrics: Arc<Metrics>,
    health: Health,
    scope: Scope,
    stop: watch::Receiver<bool>,
}

/// Namespace and name.
pub(crate) fn key<K: Resource>(object: &K) -> String {
    let meta = object.meta();
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", part(&meta.namespace), part(&meta.name))
}

// === impl Running ===

impl Running {
    /// `stop` turns true when everything is to end.
    pub fn new(
        concurrency: u16,
        metrics: Arc<Metrics>,
        health: Health,
        scope: Scope,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            // kube takes 0 as "as many as there are".
            concurrency: concurrency.max(1),
            backoff: Arc::default(),
            metrics,
            health,
            scope,
            stop,
        }
    }

    /// When to try again, after this failure.
    pub fn again<K: Resource>(&self, controller: &'static str, object: &K, error: &Error) -> Action {
        let key = key(object);
        let pause = self
            .backoff
            .failed(&format!("{controller} {key}"), object.meta().generation);
        tracing::warn!(controller, object = key, %error, seconds = pause.as_secs(), "failed; tried again later");
        Action::requeue(pause)
    }

    /// A reconcile ended.
    pub fn counted(&self, controller: &'static str, key: &str, worked: bool, took: Duration) {
        if worked {
            self.backoff.forget(&format!("{controller} {key}"));
        }
        let outcome = Outcome(if worked { "ok" } else { "failed" });
        self.metrics
            .reconciles
            .get_or_create(&Reconcile { controller, outcome })
            .inc();
        self.metrics.reconcile_seconds.observe(took.as_secs_f64());
    }

    /// The object is gone.
    pub fn gone(&self, controller: &'static str, key: &str) {
        self.backoff.forget(&format!("{controller} {key}"));
    }

    /// Ready as soon as its cache is filled.
    pub fn ready_when(
        &self,
        controller: &'static str,
        namespace: &Option<String>,
        filled: impl Future<Output = bool> + Send + 'static,
    ) {
        let (part, health) = (part(controller, namespace), self.health.clone());
        health.set(&part, State::Starting);
        tokio::spawn(async move {
            if filled.await {
                health.set(&part, State::Working);
            }
        });
    }

    /// A controller's stream ended: as asked, or by itself, which only a restart mends.
    pub fn ended(&self, controller: &'static str, namespace: &Option<String>) {
        if !*self.stop.borrow() {
            tracing::error!(controller, "ended by itself");
            self.health.set(&part(controller, namespace), State::Ended);
        }
    }

    /// When namespaces come and go.
    pub fn scope_changes(&self) -> impl Stream<Item = ()> + Send + 'static {
        self.scope.changes()
    }

    /// When everything is to end.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + Sync + 'static {
        let mut stop = self.stop.clone();
        async move {
            // An error means that whoever could ask for it is gone.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }
}

fn part(controller: &str, namespace: &Option<String>) -> String {
    match namespace {
        Some(namespace) => format!("{controller} in {namespace}"),
        None => controller.into(),
    }
}
