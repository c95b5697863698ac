//! What wakes the controller: deployments, what they own, and what they refer to.

use super::Context;
use super::look::sight;
use crate::api::BoshDeployment;
use crate::cache::{Touched, follow};
use crate::running::{Running, api};
use futures::stream::{self, Stream, StreamExt};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use std::sync::Arc;

const NAME: &str = "deployment";
/// Deployments at a time: each may hold the memory of a conversion.
const CONCURRENCY: u16 = 2;

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let concurrency = running.concurrency.min(CONCURRENCY);
    let (store, objects) = objects(&context, &namespace);
    let touched = follow(&context.cache, &context.cluster.client(), &namespace);
    let all = store.clone();
    let touched = touched.flat_map(move |touched| stream::iter(concerned(&all.state(), &touched)));
    let queue = stream::select(objects, touched);
    let forgetting = context.clone();
    let gone = move |namespace: &str, name: &str| forgetting.memory.forget(&(namespace.into(), name.into()));
    let reconcile =
        |object: Arc<BoshDeployment>, context: Arc<Context>| async move { context.reconcile(&object).await };
    running
        .drive_queue(
            NAME,
            &namespace,
            (store, queue),
            context,
            reconcile,
            (concurrency, gone),
        )
        .await;
}

/// The deployments, and each time that one changes.
fn objects(
    context: &Context,
    namespace: &Option<String>,
) -> (
    Store<BoshDeployment>,
    impl Stream<Item = ObjectRef<BoshDeployment>> + Send + use<>,
) {
    let (store, writer) = reflector::store();
    let all = api::<BoshDeployment>(&context.cluster.client(), namespace);
    let events = watcher(all, watcher::Config::default()).default_backoff();
    let touched = events.reflect(writer).touched_objects();
    let changed = touched.filter_map(|object| {
        let changed = match object {
            Ok(object) => Some(ObjectRef::from_obj(&object)),
            Err(error) => {
                tracing::warn!(%error, "cannot watch deployments");
                None
            }
        };
        std::future::ready(changed)
    });
    (store, changed)
}

/// Those that own the object or look at it.
fn concerned(deployments: &[Arc<BoshDeployment>], touched: &Touched) -> Vec<ObjectRef<BoshDeployment>> {
    let here = |deployment: &&Arc<BoshDeployment>| {
        deployment.metadata.namespace.as_deref() == Some(touched.place.namespace.as_str())
    };
    let concerns = |deployment: &&Arc<BoshDeployment>| {
        sight(deployment).is_some_and(|sight| sight.sees(&touched.place, &touched.homes))
    };
    let concerned = deployments.iter().filter(here).filter(concerns);
    concerned.map(|deployment| ObjectRef::from_obj(&**deployment)).collect()
}
