//! The watches of the controller: its objects, their StatefulSets, and their pods, whose problems no StatefulSet
//! reports. Beside them, the active pods of groups are followed.

use super::memory::rollouts::{Kind, Watch};
use super::memory::{Key, is_labelled};
use super::{Context, active};
use crate::controller::Watched;
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{api, api_of_any, resource};
use boson_cluster::objects::label;
use boson_cluster::reconcile::batched;
use boson_cluster::reconcile::watches::{Watches, owners};
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ObjectMeta;
use kube::core::DynamicObject;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::{Config, Event};
use std::sync::Arc;
use std::time::Duration;

/// One replaced pod causes about ten events, of it and of its StatefulSet.
const EVENT_BATCH_DELAY: Duration = Duration::from_millis(200);
/// Whole objects that are listed at a time when the operator starts.
const OBJECTS_PER_PAGE: u32 = 50;

pub(super) fn watch(context: &Arc<Context>, namespace: &Option<String>) -> Watched<QuarksStatefulSet> {
    let labelling = context.clone();
    let pods = move |pod: &ObjectMeta| {
        let owners = owners_of_pod(&labelling, pod);
        if !is_labelled(pod) {
            for key in owners.iter().map(key) {
                labelling.labelled.mark_unlabelled(&key, set_name(pod));
            }
        }
        owners
    };
    let client = context.cluster.client();
    let watch = |kind| Watch {
        kind,
        namespace: namespace.clone(),
    };
    let (of_sets, of_pods) = (watch(Kind::Sets), watch(Kind::Pods));
    let (seeing_sets, seeing_pods) = (context.clone(), context.clone());
    // Until the first list.
    context.followed.apply_set_event(&of_sets, None, |_| Vec::new());
    context.followed.apply_pod_event(&of_pods, None, |_| Vec::new());
    let set = move |event: Option<&Event<DynamicObject>>| {
        let keys = |set: &ObjectMeta| owners(set).iter().map(key).collect();
        seeing_sets.followed.apply_set_event(&of_sets, event, keys);
    };
    let pod = move |event: Option<&Event<Pod>>| {
        let keys = |pod: &ObjectMeta| owners_of_pod(&seeing_pods, pod).iter().map(key).collect();
        seeing_pods.followed.apply_pod_event(&of_pods, event, keys);
    };
    let page = || Config::default().page_size(OBJECTS_PER_PAGE);
    let sets = api_of_any::<DynamicObject>(&client, namespace, &resource("apps/v1", "StatefulSet"));
    let watches = Watches::<QuarksStatefulSet>::of(&client, namespace, Config::default())
        .and_whole(sets, page(), set, owners)
        .and_whole(
            api::<Pod>(&client, namespace),
            page().labels(labels::STATEFUL_SET_NAME),
            pod,
            pods,
        );
    let (store, queue) = watches.queue();
    let (context, sets) = (context.clone(), store.clone());
    let following = async move { active::follow(&context, &sets).await };
    Watched::new(store, batched(queue, EVENT_BATCH_DELAY)).beside(following)
}

fn owners_of_pod(context: &Context, pod: &ObjectMeta) -> Vec<ObjectRef<QuarksStatefulSet>> {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    context.interest.of(namespace, set_name(pod))
}

fn set_name(pod: &ObjectMeta) -> &str {
    label(pod, labels::STATEFUL_SET_NAME).unwrap_or_default()
}

fn key(set: &ObjectRef<QuarksStatefulSet>) -> Key {
    Key::new(set.namespace.as_deref().unwrap_or_default(), &set.name)
}
