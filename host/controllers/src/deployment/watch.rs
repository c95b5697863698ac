//! The watches of the controller: deployments, what they own, what they refer to, and what explains why a step is
//! stuck.

use super::act::natives::report_orphans;
use super::context::Context;
use super::memory::Source;
use super::observe::snapshot;
use crate::controller::Watched;
use boson_api::BoshDeployment;
use boson_cluster::cache::follow;
use boson_cluster::client::{WatchBackoff, api};
use boson_cluster::objects::annotation;
use boson_cluster::reconcile::watches::{self, Watches, named, requeued};
use boson_manifest::labels::{DEPLOYMENT, QUARKS_JOB_NAME};
use futures::stream::{self, Stream};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use std::sync::Arc;
use std::time::Duration;

/// How long events of pods are collected. A pod changes about eight times while it starts, and each reconcile of a
/// deployment reads about forty objects.
const POD_BATCH_DELAY: Duration = Duration::from_secs(2);

type Requeued = watches::Requeued<BoshDeployment>;

pub fn watch(context: &Arc<Context>, namespace: &Option<String>) -> Watched<BoshDeployment> {
    // Of the pods of conversions: only pods report images that cannot be pulled.
    let pods = watcher::Config::default().labels(QUARKS_JOB_NAME);
    let watches = Watches::<BoshDeployment>::of(&context.cluster.client(), namespace, watcher::Config::default())
        .and::<Pod>(pods, |pod| named(annotation(pod, DEPLOYMENT), pod.namespace.as_deref()))
        .in_batches(POD_BATCH_DELAY);
    let (store, objects) = watches.queue();
    let touched = touched_deployments(context, namespace, store.clone());
    // Each reconcile resolves which plugins it uses.
    let all = watches::all(&context.plugins.changes, store.clone());
    let others = stream::select(touched_accounts(context, namespace), all);
    let queue = stream::select(stream::select(objects, touched), others);
    let (context, namespace, deployments) = (context.clone(), namespace.clone(), store.clone());
    let orphans = async move { report_orphans(&context, &namespace, &deployments).await };
    Watched::new(store, queue).beside(orphans)
}

/// The deployments to requeue when an object changes that they own or refer to.
fn touched_deployments(
    context: &Arc<Context>,
    namespace: &Option<String>,
    store: Store<BoshDeployment>,
) -> impl Stream<Item = Requeued> + Send + use<> {
    let touched = follow(&context.cache, &context.cluster, namespace);
    let context = context.clone();
    requeued(touched, move |touched| {
        let here = |deployment: &&Arc<BoshDeployment>| {
            deployment.metadata.namespace.as_deref() == Some(touched.place.namespace.as_str())
        };
        let concerns = |deployment: &&Arc<BoshDeployment>| {
            let selector = snapshot::of(&context, deployment);
            selector.is_some_and(|selector| selector.matches(&touched.place, &touched.index_keys))
        };
        let deployments = store.state();
        let concerned = deployments.iter().filter(here).filter(concerns);
        let mut all: Vec<_> = concerned.map(|one| ObjectRef::from_obj(&**one)).collect();
        if touched.place.kind == "Secret" {
            let place = touched.place;
            let source = Source::Secret(place.name);
            all.extend(retry_pulling(&context, Some(place.namespace), &source));
        }
        all
    })
}

/// The deployments that pull images with this object, which has changed. What failed is retried at once.
fn retry_pulling(context: &Context, namespace: Option<String>, source: &Source) -> Vec<ObjectRef<BoshDeployment>> {
    let users = context.memory.pulls.users(namespace, source);
    for user in &users {
        let namespace = user.namespace.clone().unwrap_or_default();
        context.memory.schedule.forget_failure(&(namespace, user.name.clone()));
    }
    users
}

/// The deployments to requeue when a ServiceAccount changes that they pull images with.
fn touched_accounts(context: &Arc<Context>, namespace: &Option<String>) -> impl Stream<Item = Requeued> + Send + use<> {
    let accounts = api::<PartialObjectMeta<ServiceAccount>>(&context.cluster.client(), namespace);
    let changed = watcher(accounts, watcher::Config::default())
        .backoff(WatchBackoff::default())
        .touched_objects();
    let context = context.clone();
    requeued(changed, move |account| {
        let source = Source::Account(account.name_any());
        retry_pulling(&context, account.namespace(), &source)
    })
}
