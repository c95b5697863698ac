//! What wakes the controller: its objects, their Jobs and pods, and what their templates refer to.

use super::Context;
use super::marks::QUARKS_JOB;
use super::references::{Kind, topic};
use crate::api::QuarksJob;
use crate::running::{Running, api};
use boson_deployment::labels;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Config;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
use kube::{Resource, ResourceExt};
use std::sync::Arc;

const NAME: &str = "quarks-job";

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let client = context.cluster.client();
    let everything = watcher::Config::default;
    // Only what is around the data is watched: the content of all Secrets of a cluster does not pass through here.
    let controller = Controller::new(api::<QuarksJob>(&client, &namespace), everything())
        .with_config(Config::default().concurrency(running.concurrency))
        .owns(api::<PartialObjectMeta<Job>>(&client, &namespace), everything())
        .watches(
            api::<PartialObjectMeta<Pod>>(&client, &namespace),
            watcher::Config::default().labels(labels::QUARKS_JOB_NAME),
            |pod| owner(&pod),
        )
        .watches(
            api::<PartialObjectMeta<ConfigMap>>(&client, &namespace),
            everything(),
            lookers(&context, Kind::ConfigMap),
        )
        .watches(
            api::<PartialObjectMeta<Secret>>(&client, &namespace),
            everything(),
            lookers(&context, Kind::Secret),
        );
    let forgetting = context.clone();
    let reconcile = |object: Arc<QuarksJob>, context: Arc<Context>| async move { context.reconcile(&object).await };
    running
        .drive(NAME, &namespace, controller, context, reconcile, |namespace, name| {
            forgetting.interest.forget((namespace, name));
        })
        .await;
}

fn owner(pod: &PartialObjectMeta<Pod>) -> Option<ObjectRef<QuarksJob>> {
    let name = pod.annotations().get(QUARKS_JOB)?;
    Some(ObjectRef::new(name).within(&pod.namespace()?))
}

fn lookers<K: Resource<DynamicType = ()>>(
    context: &Arc<Context>,
    kind: Kind,
) -> impl Fn(PartialObjectMeta<K>) -> Vec<ObjectRef<QuarksJob>> + Send + Sync + 'static {
    let context = context.clone();
    move |object| {
        let namespace = object.metadata.namespace.unwrap_or_default();
        let name = object.metadata.name.unwrap_or_default();
        context.interest.of(&namespace, &topic(kind, &name))
    }
}
