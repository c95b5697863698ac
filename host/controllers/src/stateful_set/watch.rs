//! The watches of the controller: its objects, their StatefulSets, and their pods, whose problems no StatefulSet
//! reports. Beside them, the active pods of groups are followed.

use super::Context;
use super::active;
use super::labelled::is_labelled;
use crate::controller::Watched;
use boson_api::QuarksStatefulSet;
use boson_cluster::reconcile::batched;
use boson_cluster::reconcile::watches::{Watches, owners};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ObjectMeta;
use kube::runtime::watcher::Config;
use std::sync::Arc;
use std::time::Duration;

/// One replaced pod causes about ten events, of it and of its StatefulSet.
const EVENT_BATCH_DELAY: Duration = Duration::from_millis(200);

pub(super) fn watch(context: &Arc<Context>, namespace: &Option<String>) -> Watched<QuarksStatefulSet> {
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
    let watches = Watches::<QuarksStatefulSet>::of(&context.cluster.client(), namespace, Config::default())
        .and::<StatefulSet>(Config::default(), owners)
        .and::<Pod>(Config::default().labels(labels::STATEFUL_SET_NAME), pods);
    let (store, queue) = watches.queue();
    let (context, sets) = (context.clone(), store.clone());
    let following = async move { active::follow(&context, &sets).await };
    Watched::new(store, batched(queue, EVENT_BATCH_DELAY)).beside(following)
}
