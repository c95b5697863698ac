//! What wakes the controller: its objects, and their StatefulSets.

use super::Context;
use crate::api::QuarksStatefulSet;
use crate::running::Running;
use crate::woken::{Watches, owners};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::runtime::watcher::Config;
use std::sync::Arc;

const NAME: &str = "quarks-stateful-set";

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let watches = Watches::<QuarksStatefulSet>::of(&context.cluster.client(), &namespace, Config::default())
        .and::<StatefulSet>(Config::default(), owners);
    let reconcile = |set: Arc<QuarksStatefulSet>, context: Arc<Context>| async move { context.reconcile(&set).await };
    let concurrency = running.concurrency;
    running
        .drive_queue(
            NAME,
            &namespace,
            watches.queue(),
            context,
            reconcile,
            (concurrency, |_: &str, _: &str| {}),
        )
        .await;
}
