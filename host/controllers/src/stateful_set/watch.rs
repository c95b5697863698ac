//! What wakes the controller: its objects, and their StatefulSets.

use super::Context;
use crate::api::QuarksStatefulSet;
use crate::running::{Running, api};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Config;
use kube::runtime::{Controller, watcher};
use std::sync::Arc;

const NAME: &str = "quarks-stateful-set";

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let client = context.cluster.client();
    let everything = watcher::Config::default;
    let controller = Controller::new(api::<QuarksStatefulSet>(&client, &namespace), everything())
        .with_config(Config::default().concurrency(running.concurrency))
        .owns(api::<PartialObjectMeta<StatefulSet>>(&client, &namespace), everything());
    let reconcile = |set: Arc<QuarksStatefulSet>, context: Arc<Context>| async move { context.reconcile(&set).await };
    running
        .drive(NAME, &namespace, controller, context, reconcile, |_, _| {})
        .await;
}
