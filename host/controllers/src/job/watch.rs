//! The watches of the controller: its objects, their Jobs and pods, and what their templates refer to.

use super::Context;
use super::observe::references::{Kind, topic};
use super::run::QUARKS_JOB;
use crate::controller::Watched;
use boson_api::QuarksJob;
use boson_cluster::objects::annotation;
use boson_cluster::reconcile::watches::{Watches, named, owners};
use boson_manifest::labels;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::ObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use std::sync::Arc;

pub(super) fn watch(context: &Arc<Context>, namespace: &Option<String>) -> Watched<QuarksJob> {
    let everything = Config::default;
    let runs = Config::default().labels(labels::QUARKS_JOB_NAME);
    let watches = Watches::<QuarksJob>::of(&context.cluster.client(), namespace, everything())
        .and::<Job>(everything(), owners)
        .and::<Pod>(runs, |pod| named(annotation(pod, QUARKS_JOB), pod.namespace.as_deref()))
        .and::<ConfigMap>(everything(), users(context, Kind::ConfigMap))
        .and::<Secret>(everything(), users(context, Kind::Secret));
    let (store, queue) = watches.queue();
    Watched::new(store, queue)
}

fn users(context: &Arc<Context>, kind: Kind) -> impl Fn(&ObjectMeta) -> Vec<ObjectRef<QuarksJob>> + Send + 'static {
    let context = context.clone();
    move |meta| {
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let name = meta.name.as_deref().unwrap_or_default();
        context.interest.of(namespace, &topic(kind, name))
    }
}
