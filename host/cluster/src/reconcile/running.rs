//! What all controllers share while they run: concurrency, retries, health, and when to stop.

use super::backoff::Backoff;
use super::spawned::spawned;
use super::watches::{self, Queue};
use crate::client::{ANSWER_TIMEOUT, Cluster, Error, Kind, Outage, api};
use crate::metrics::{Metrics, Reconcile};
use crate::namespaces::Scope;
use crate::serving::{Health, PartName, State};
use boson_manifest::labels;
use futures::FutureExt;
use futures::stream::{self, StreamExt};
use kube::api::ListParams;
use kube::runtime::controller::{self, Action};
use kube::runtime::watcher;
use kube::{Api, Resource};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::Instrument;

/// Between two lists of a kind that cannot be listed yet.
const LIST_RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Running {
    /// How many objects one controller reconciles at a time.
    pub concurrency: u16,
    client: kube::Client,
    backoff: Arc<Backoff>,
    metrics: Arc<Metrics>,
    health: Health,
    pub scope: Scope,
    outage: Outage,
    stop: watch::Receiver<bool>,
}

/// Namespace and name.
pub fn key<K: Resource>(object: &K) -> String {
    let meta = object.meta();
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", part(&meta.namespace), part(&meta.name))
}

/// The deployment that an object belongs to.
fn deployment<K: Resource<DynamicType = ()>>(object: &K) -> Option<&str> {
    let meta = object.meta();
    if K::kind(&()) == "BOSHDeployment" {
        return meta.name.as_deref();
    }
    let labels = meta.labels.as_ref();
    labels?.get(labels::DEPLOYMENT_NAME).map(String::as_str)
}

// === impl Running ===

impl Running {
    /// `stop` turns true when the operator has to end.
    pub fn new(concurrency: u16, cluster: &Cluster, health: Health, scope: Scope, stop: watch::Receiver<bool>) -> Self {
        Self {
            // kube takes 0 as "as many as there are".
            concurrency: concurrency.max(1),
            client: cluster.client(),
            backoff: Arc::default(),
            metrics: cluster.metrics().clone(),
            health,
            scope,
            outage: cluster.outage().clone(),
            stop,
        }
    }

    /// When to try again, after this failure.
    fn retry_action<K: Resource>(&self, controller: &'static str, object: &K, error: &Error) -> Action {
        let key = key(object);
        let pause = self
            .backoff
            .failed(&format!("{controller} {key}"), object.meta().generation);
        let seconds = pause.as_secs();
        if self.outage.covers(error) {
            tracing::debug!(controller, object = key, %error, seconds, "failed; tried again later")
        } else {
            tracing::warn!(controller, object = key, %error, seconds, "failed; tried again later")
        }
        Action::requeue(pause)
    }

    /// Runs a controller until the operator ends. Counts each reconcile, and backs off after failures. `forget` is
    /// called for deleted objects, with namespace and name.
    pub async fn drive_queue<K, F>(
        &self,
        name: &'static str,
        namespace: &Option<String>,
        Queue { store, requeued }: Queue<K>,
        reconcile: impl Fn(Arc<K>) -> F + Send + 'static,
        forget: impl Fn(&str, &str),
    ) where
        K: Kind + Send + Sync + 'static,
        F: Future<Output = Result<Action, Error>> + Send + 'static,
    {
        let queue = stream::select(requeued, watches::all(&self.scope.changes, store.clone()));
        self.ready_when_listed::<K>(name, namespace);
        let (shared, policy) = (self.clone(), self.clone());
        let runs = controller::applier(
            move |object: Arc<K>, _| {
                let (running, work) = (shared.clone(), reconcile(object.clone()));
                Box::pin(spawned(async move {
                    running.run_counted(name, object.as_ref(), work).await
                }))
            },
            move |object: Arc<K>, error: &Error, _| policy.retry_action(name, object.as_ref(), error),
            Arc::new(()),
            store,
            Box::pin(queue.take_until(Box::pin(self.stopped()))),
            controller::Config::default().concurrency(self.concurrency),
        );
        runs.for_each(|run| {
            match run {
                Err(controller::Error::ObjectNotFound(object)) => {
                    let namespace = object.namespace.unwrap_or_default();
                    forget(&namespace, &object.name);
                    self.backoff.forget(&format!("{name} {namespace}/{}", object.name));
                }
                Err(controller::Error::QueueError(error)) => self.watch_failed(name, namespace, &error),
                _ => {}
            }
            std::future::ready(())
        })
        .await;
        self.stream_ended(name, namespace);
    }

    /// Runs one reconcile, and counts it.
    async fn run_counted<K: Resource<DynamicType = ()>>(
        &self,
        controller: &'static str,
        object: &K,
        work: impl Future<Output = Result<Action, Error>>,
    ) -> Result<Action, Error> {
        let (began, key) = (Instant::now(), key(object));
        // At the highest level, so that each line has its fields at any log level.
        let span = tracing::error_span!("reconcile", controller, object = key, deployment = deployment(object));
        async {
            let result = catch_panic(object, work).await;
            self.count_reconcile(controller, &key, result.is_ok(), began.elapsed());
            result
        }
        .instrument(span)
        .await
    }

    fn count_reconcile(&self, controller: &'static str, key: &str, worked: bool, took: Duration) {
        if worked {
            self.backoff.forget(&format!("{controller} {key}"));
        }
        let outcome = if worked { "ok" } else { "failed" };
        let reconcile = Reconcile { controller, outcome };
        self.metrics.reconciles.get_or_create(&reconcile).inc();
        self.metrics.reconcile_seconds.observe(took.as_secs_f64());
        tracing::debug!(outcome, seconds = took.as_secs_f64(), "reconciled");
    }

    /// A watch failed; it is retried automatically. A forbidden watch makes the controller not ready, because it misses
    /// changes of a kind.
    fn watch_failed(&self, controller: &'static str, namespace: &Option<String>, error: &watcher::Error) {
        match Error::of_watch(error) {
            Some(error) => {
                tracing::warn!(controller, namespace, %error, "cannot watch");
                self.health.problem(part(controller, namespace), error.to_string());
            }
            None => tracing::debug!(controller, %error, "a watch was interrupted"),
        }
    }

    /// Ready as soon as the API server has listed its kind: the definition exists, and the operator may list it.
    ///
    /// It does not wait for the cache of the controller: kube notifies only one waiter, which must be the controller
    /// itself.
    fn ready_when_listed<K: Kind + 'static>(&self, controller: &'static str, namespace: &Option<String>) {
        let (part, health) = (part(controller, namespace), self.health.clone());
        health.set(part.clone(), State::Starting);
        let objects: Api<K> = api(&self.client, namespace);
        tokio::spawn(async move {
            let one = ListParams::default().limit(1);
            let mut reported = None;
            loop {
                match timeout(ANSWER_TIMEOUT, objects.list_metadata(&one)).await {
                    Ok(Ok(_)) => return health.set(part, State::Working),
                    Ok(Err(error)) => {
                        let error = Error::of_list::<K>(&error).to_string();
                        if reported.as_ref() != Some(&error) {
                            tracing::warn!(controller, namespace = part.namespace, error, "cannot list");
                            reported = Some(error.clone());
                        }
                        health.problem(part.clone(), error);
                    }
                    Err(_) => {}
                }
                tokio::time::sleep(LIST_RETRY_DELAY).await;
            }
        });
    }

    /// A controller's stream ended: on request, or unexpectedly, which only a restart repairs.
    fn stream_ended(&self, controller: &'static str, namespace: &Option<String>) {
        if !*self.stop.borrow() {
            tracing::error!(controller, "ended unexpectedly");
            self.health.set(part(controller, namespace), State::Ended);
        }
    }

    /// Completes when the operator has to end.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + Sync + 'static {
        let mut stop = self.stop.clone();
        async move {
            // An error means that the sender was dropped.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }
}

/// Turns a panic into an error: one object must not crash the operator, and every process after this one.
async fn catch_panic<K: Resource<DynamicType = ()>>(
    object: &K,
    work: impl Future<Output = Result<Action, Error>>,
) -> Result<Action, Error> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|_| Err(Error::defect(object)))
}

fn part(controller: &str, namespace: &Option<String>) -> PartName {
    PartName {
        namespace: namespace.clone(),
        ..PartName::from(controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_object() {
        let map = ConfigMap::default();
        let done = catch_panic(&map, async { panic!("a value") }).await;
        let error = done.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Defect);
        assert!(!error.to_string().contains("a value"), "{error}");
    }
}
