//! The watches of the controller: deployments, the Secrets of their links, and the pods that consume them. All are of
//! metadata only, and the events of a second are batched: the pods of a workload come and go together.

use super::found;
use super::stores::{self, Stores};
use super::{Context, DeploymentMeta, unknown};
use crate::controller::Watched;
use boson_cluster::objects::annotation;
use boson_cluster::reconcile::batched;
use boson_cluster::reconcile::watches::{Watches, named};
use boson_manifest::labels::{CONSUMER, DEPLOYMENT, ENTANGLEMENT};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::runtime::watcher::Config;
use std::sync::Arc;
use std::time::Duration;

/// How long events are collected.
const EVENT_BATCH_DELAY: Duration = Duration::from_secs(1);

pub(super) fn watch(context: &Arc<Context>, namespace: &Option<String>) -> Watched<DeploymentMeta> {
    let links = Config::default().labels(&format!("{ENTANGLEMENT}=true"));
    let consumers = Config::default().labels(CONSUMER).fields(stores::NOT_ENDED);
    let watches = Watches::<DeploymentMeta>::of(&context.cluster.client(), namespace, Config::default());
    let (watches, secrets) = watches.and_stored::<Secret>(links, stores::trim_secret, |meta| {
        named(found::owner(meta), meta.namespace.as_deref())
    });
    // A pod that was admitted before a link changed may be stored after the reconcile of that change.
    let (watches, pods) = watches.and_stored::<Pod>(consumers, stores::trim_pod, |meta| {
        named(annotation(meta, DEPLOYMENT), meta.namespace.as_deref())
    });
    let stores = Stores { pods, secrets };
    context.stores.write().insert(namespace.clone(), stores.clone());
    let (store, queue) = watches.queue();
    let (context, deployments) = (context.clone(), store.clone());
    let orphans = async move { unknown::report_orphans(&context, &stores, &deployments).await };
    Watched::new(store, batched(queue, EVENT_BATCH_DELAY)).beside(orphans)
}
