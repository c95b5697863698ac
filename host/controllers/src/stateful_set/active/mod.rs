//! Groups with active/passive probes: one pod has the label to which their Service leads.
//!
//! The probes run in the pods, in a sidecar that answers at a port of the pod whether it is active. Every
//! [`ASK_INTERVAL`], the operator asks all pods of such a group. Two pods never have the label at the same time: see
//! [`plan`].

mod ask;
mod plan;

use super::{Context, MANAGER};
use ask::Port;
use boson_api::{ActivePod, QuarksStatefulSet};
use boson_cluster::client::{Error, ErrorKind, Identity, Notice, pod_identity};
use boson_manifest::labels;
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use kube::runtime::reflector::Store;
use plan::{Member, Write};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How often pods are asked. With the sidecar's two failures in four seconds, another pod takes over in less than ten.
const ASK_INTERVAL: Duration = Duration::from_secs(2);
/// The pause of a group after an error of the API server.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// How often a choice is recorded again if the status has changed in between, which it does whenever a pod is no longer
/// ready.
const MAX_RECORD_ATTEMPTS: usize = 5;
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
                for set in sets.state().into_iter().filter(|set| is_followed(set)) {
                    let key = (set.namespace(), set.name_any());
                    // A pod that does not answer delays its own group only.
                    if busy.insert(key.clone()) {
                        running.push(async move {
                            update_active_pod(context, set).await;
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
    !set.spec.active_passive_probes.is_empty()
}

/// Without probes, no pod may stay recorded: it would count as active when the group gets probes again.
fn is_followed(set: &QuarksStatefulSet) -> bool {
    (has_probes(set) || recorded_pod(set).is_some()) && set.metadata.deletion_timestamp.is_none()
}

/// Keeps the labels of one group.
async fn update_active_pod(context: &Context, set: Arc<QuarksStatefulSet>) {
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
        let pods = self.members(set, place).await?;
        let answers = join_all(pods.iter().map(|pod| ask::pod(Port::all(pod)))).await;
        let members: Vec<Member> = pods
            .iter()
            .zip(answers)
            .map(|(pod, answer)| Member::new(pod, answer))
            .collect();
        if plan::plan(&members, recorded_pod(set)).is_empty() {
            return Ok(());
        }
        for _ in 0..MAX_RECORD_ATTEMPTS {
            // After the pods, and not from the cache: see `plan`.
            let named = format!("metadata.name={}", place.name);
            let present: Vec<QuarksStatefulSet> = self.cluster.list_with_fields(place.namespace, &named).await?;
            let mut present = present.into_iter();
            let Some(present) = present.find(|present| present.metadata.uid.as_deref() == Some(place.uid)) else {
                return Ok(());
            };
            if self.write_labels(&present, place.namespace, &pods, &members).await? {
                break;
            }
        }
        Ok(())
    }

    /// The pods of a group. Those of a deployment are selected by the labels that its Services use: also pods of
    /// StatefulSets that are being deleted, and of an earlier deployment of the same name.
    async fn members(&self, set: &QuarksStatefulSet, place: Identity<'_>) -> Result<Vec<Pod>, Error> {
        if !has_probes(set) {
            return Ok(Vec::new());
        }
        let pods = Value::from(set.spec.template.members());
        let labels = pods.pointer("/spec/template/metadata/labels");
        let label = |key| Some(format!("{key}={}", labels?.get(key)?.as_str()?));
        let of_group = label(labels::DEPLOYMENT_NAME).zip(label(labels::INSTANCE_GROUP_NAME));
        let selector = if let Some((deployment, group)) = of_group {
            format!("{deployment},{group}")
        } else {
            let sets = self.interest.references(place.namespace, place.name);
            let names: Vec<String> = sets.into_iter().map(|(_, name)| name).collect();
            if names.is_empty() {
                return Ok(Vec::new());
            }
            format!("{} in ({})", labels::STATEFUL_SET_NAME, names.join(","))
        };
        self.cluster.list(place.namespace, &selector).await
    }

    /// Writes what is planned, in this order. False: the status has changed since it was read.
    async fn write_labels(
        &self,
        set: &QuarksStatefulSet,
        namespace: &str,
        pods: &[Pod],
        members: &[Member],
    ) -> Result<bool, Error> {
        let status = set.status.clone().unwrap_or_default();
        let transitions = status.active_pod.as_ref().map_or(0, |active| active.transitions) + 1;
        for write in plan::plan(members, recorded_pod(set)) {
            match write {
                Write::Demote(name) => {
                    let metadata = ObjectMeta {
                        name: Some(name),
                        namespace: Some(namespace.into()),
                        ..ObjectMeta::default()
                    };
                    match self.mark(metadata, None, transitions).await {
                        // It is gone, and its label with it.
                        Err(error) if error.kind == ErrorKind::NotFound => {}
                        result => result?,
                    }
                }
                Write::Record(name) => {
                    let is_vacant = name.is_none();
                    let mut status = status.clone();
                    status.active_pod = Some(ActivePod { name, transitions });
                    match self.cluster.set_status(MANAGER, set, &status).await {
                        Err(error) if error.is_race() => return Ok(false),
                        result => result?,
                    };
                    if is_vacant && has_probes(set) {
                        let notice = Notice::warning(NO_ACTIVE_POD, "no pod is active");
                        self.report(set, notice).await;
                    }
                }
                Write::Promote(at) => {
                    let Some(pod) = pods.get(at) else { continue };
                    let mut metadata = pod_identity(&pod.metadata).metadata;
                    metadata.resource_version.clone_from(&pod.metadata.resource_version);
                    self.mark(metadata, Some(labels::ACTIVE), transitions).await?;
                    let note = format!("pod '{}' is active", pod.name_any());
                    self.report(set, Notice::normal(ACTIVE_POD, note)).await;
                }
            }
        }
        Ok(true)
    }

    /// The annotation changes the pod even if its label is as it should be, unless the pod was changed for the same
    /// record before.
    async fn mark(&self, pod: ObjectMeta, value: Option<&str>, transitions: i64) -> Result<(), Error> {
        let members = json!({"metadata": {
            "labels": {labels::POD_ACTIVE: value},
            "annotations": {labels::ACTIVE_TRANSITIONS: transitions.to_string()},
        }});
        let pod = Pod {
            metadata: pod,
            ..Pod::default()
        };
        self.cluster.merge(MANAGER, &pod, members).await.map(drop)
    }

    async fn report(&self, set: &QuarksStatefulSet, notice: Notice) {
        tracing::info!(group = set.name_any(), "{}", notice.note);
        self.events.emit_all(set, &[notice]).await;
    }
}

/// The name of the active pod, by the status.
fn recorded_pod(set: &QuarksStatefulSet) -> Option<&str> {
    set.status.as_ref()?.active_pod()
}
