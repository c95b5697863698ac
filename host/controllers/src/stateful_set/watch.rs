//! The watches of the controller: its objects, their StatefulSets, and their pods, whose problems no StatefulSet
//! reports. Beside them, the active pods of groups are followed.

use super::Context;
use super::active;
use super::labelled::is_labelled;
use boson_api::QuarksStatefulSet;
use boson_cluster::reconcile::watches::{Watches, owners};
use boson_cluster::reconcile::{Running, batched};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ObjectMeta;
use kube::runtime::watcher::Config;
use std::sync::Arc;
use std::time::Duration;

const NAME: &str = "quarks-stateful-set";
/// One replaced pod causes about ten events, of it and of its StatefulSet.
const EVENT_BATCH_DELAY: Duration = Duration::from_millis(200);

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let looking = context.clone();
    let pods = move |pod: &ObjectMeta| {
        let all = pod.labels.as_ref();
        let name = all.and_then(|all| all.get(labels::STATEFUL_SET_NAME));
        let name = name.map_or("", String::as_str);
        let owners = looking.interest.of(pod.namespace.as_deref().unwrap_or_default(), name);
        if !is_labelled(pod) {
            for owner in &owners {
                let namespace = owner.namespace.as_deref().unwrap_or_default();
                looking.labelled.lacks((namespace, &owner.name), name);
            }
        }
        owners
    };
    let forgetting = context.clone();
    let forget = move |namespace: &str, name: &str| {
        forgetting.interest.forget((namespace, name));
        forgetting.labelled.forget((namespace, name));
        forgetting
            .cluster
            .metrics()
            .groups
            .set(&format!("{namespace}/{name}"), None);
    };
    let watches = Watches::<QuarksStatefulSet>::of(&context.cluster.client(), &namespace, Config::default())
        .and::<StatefulSet>(Config::default(), owners)
        .and::<Pod>(Config::default().labels(labels::STATEFUL_SET_NAME), pods);
    let reconcile = |set: Arc<QuarksStatefulSet>, context: Arc<Context>| async move { context.reconcile(&set).await };
    let (store, queue) = watches.queue();
    let (sets, following) = (store.clone(), context.clone());
    let driving = running.drive_queue(
        NAME,
        &namespace,
        (store, batched(queue, EVENT_BATCH_DELAY)),
        context,
        reconcile,
        forget,
    );
    tokio::select! {
        () = driving => {}
        () = active::follow(&following, &sets) => {}
    }
}
