//! Groups with active/passive probes: one pod has the label to which their Service leads.
//!
//! The probes run in the pods, in a sidecar that answers at a port of the pod whether it is active. Every
//! [`ASK_INTERVAL`], the operator asks all pods of such a group. The label of a pod is removed before another pod gets
//! it, so two pods never have it at the same time: see [`plan`].

mod ask;
mod plan;

use super::{Context, MANAGER};
use ask::Port;
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{Error, Fault, Identity, Notice, pod_identity};
use boson_manifest::labels;
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::reflector::Store;
use plan::Member;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How often pods are asked. With the sidecar's two failures in four seconds, another pod takes over in less than ten.
const ASK_INTERVAL: Duration = Duration::from_secs(2);
/// The pause of a group after an error of the API server.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Reason of the event about the pod that became active.
const ACTIVE_POD: &str = "ActivePod";
/// Reason of the event about a pod that was the active one, if no other one is.
const NO_ACTIVE_POD: &str = "NoActivePod";

/// Keeps the labels of all groups with such probes. Never ends.
pub(super) async fn follow(context: &Context, sets: &Store<QuarksStatefulSet>) {
    let mut ticks = tokio::time::interval(ASK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut busy = HashSet::new();
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                for set in sets.state().into_iter().filter(|set| has_probes(set)) {
                    let key = (set.namespace(), set.name_any());
                    // A pod that does not answer delays its own group only.
                    if busy.insert(key.clone()) {
                        running.push(async move {
                            keep(context, set).await;
                            key
                        });
                    }
                }
            }
            Some(key) = running.next() => drop(busy.remove(&key)),
        }
    }
}

fn has_probes(set: &QuarksStatefulSet) -> bool {
    !set.spec.active_passive_probes.is_empty() && set.metadata.deletion_timestamp.is_none()
}

/// Keeps the labels of one group.
async fn keep(context: &Context, set: Arc<QuarksStatefulSet>) {
    let result = match Identity::of(set.as_ref()) {
        Ok(place) if context.scope.holds(place.namespace) => context.elect(&set, place).await,
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => {}
        // The pods are read again at the next tick.
        Err(error) if error.is_race() => {}
        Err(error) => {
            tracing::warn!(%error, "the active pod of a group is not known");
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

// === impl Context ===

impl Context {
    async fn elect(&self, set: &QuarksStatefulSet, place: Identity<'_>) -> Result<(), Error> {
        let Some(selector) = selector(set) else { return Ok(()) };
        let pods: Vec<Pod> = self.cluster.list(place.namespace, &selector).await?;
        let answers = join_all(pods.iter().map(|pod| ask::pod(Port::all(pod)))).await;
        let members = pods.iter().zip(answers);
        let members: Vec<Member> = members.map(|(pod, answer)| Member::new(pod, answer)).collect();
        let change = plan::plan(&members);
        for pod in change.demote.iter().filter_map(|at| pods.get(*at)) {
            match self.mark(pod_identity(&pod.metadata), None).await {
                // It is gone, and its label with it.
                Err(error) if error.fault == Fault::NotFound => {}
                result => result?,
            }
        }
        let promoted = change.promote.and_then(|at| pods.get(at));
        if let Some(pod) = promoted {
            let mut identity = pod_identity(&pod.metadata);
            // Another operator may have decided otherwise since the pod was read.
            identity
                .metadata
                .resource_version
                .clone_from(&pod.metadata.resource_version);
            self.mark(identity, Some(labels::ACTIVE)).await?;
        }
        if let Some(notice) = notice(promoted, change.is_vacant) {
            tracing::info!(group = place.name, "{}", notice.note);
            if let Err(error) = self.events.emit(set, &notice).await {
                tracing::warn!(%error, "an event was lost");
            }
        }
        Ok(())
    }

    async fn mark(&self, pod: Pod, value: Option<&str>) -> Result<(), Error> {
        let members = json!({"metadata": {"labels": {labels::POD_ACTIVE: value}}});
        self.cluster.merge(MANAGER, &pod, members).await.map(drop)
    }
}

/// The pods of a group, by the labels that its StatefulSets have as a selector.
fn selector(set: &QuarksStatefulSet) -> Option<String> {
    let spec = set.spec.template.get("spec")?;
    let labels = spec.pointer("/selector/matchLabels")?.as_object()?;
    let pairs = labels
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    Some(pairs.collect::<Vec<_>>().join(",")).filter(|selector| !selector.is_empty())
}

fn notice(promoted: Option<&Pod>, is_vacant: bool) -> Option<Notice> {
    if let Some(pod) = promoted {
        return Some(Notice {
            warning: false,
            reason: ACTIVE_POD.into(),
            note: format!("pod '{}' is active", pod.name_any()),
        });
    }
    is_vacant.then(|| Notice {
        warning: true,
        reason: NO_ACTIVE_POD.into(),
        note: "no pod is active: the Service of the group leads to none".into(),
    })
}
