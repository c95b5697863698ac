//! What StatefulSets and their pods say: versions, claims, whether they are ready, and whether they are what the spec
//! requests. Pure.

pub(super) mod digest;
pub(super) mod states;

use crate::instance_revisions::{self, ByInstance};
use boson_cluster::client::{AnyObject, Error};
use boson_cluster::objects::{annotation, drift};
use boson_cluster::pods::{self, condition};
use boson_manifest::labels;
use digest::Digest;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Annotation: digest of the template of the StatefulSet, without the number of pods.
pub(super) const TEMPLATE_DIGEST: &str = "quarks.cloudfoundry.org/template-digest";

/// Label of a pod: the revision of its StatefulSet that it was made from.
pub(super) const REVISION: &str = "controller-revision-hash";

/// Annotation that `kubectl rollout restart` sets on a pod template.
pub(super) const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Annotation: not all instances of this version were started yet.
pub(super) const INCOMPLETE: &str = "quarks.cloudfoundry.org/incomplete";

/// Condition of a pod that does not have its resources yet.
pub(super) const RESIZE_PENDING: &str = "PodResizePending";
/// Its reason: the node can never have them.
pub(super) const INFEASIBLE: &str = "Infeasible";
/// Its reason: the node does not have them now.
pub(super) const DEFERRED: &str = "Deferred";

/// The StatefulSets that a QuarksStatefulSet owns.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// As the API server sent them, to compare them: the type drops fields that it does not know.
    pub objects: Vec<Value>,
    /// Those objects as their type, to read them.
    pub sets: Vec<StatefulSet>,
}

// === impl Live ===

impl Live {
    /// # Errors
    /// See [`AnyObject::typed`].
    pub fn of(objects: Vec<Value>) -> Result<Self, Error> {
        let sets = objects.iter().map(AnyObject::typed).collect::<Result<_, _>>()?;
        Ok(Self { objects, sets })
    }

    /// Whether there is a StatefulSet of that name.
    pub fn has(&self, object: &Value) -> bool {
        self.objects.iter().any(|one| one.name() == object.name())
    }
}

pub(super) fn version(set: &StatefulSet) -> Option<u32> {
    set.annotations().get(labels::VERSION)?.parse().ok()
}

/// Whether it was made from the template with this digest in its zone, and its instances have the same revisions.
pub(super) fn is_of_template(set: &StatefulSet, digest: &Digest) -> bool {
    let pods = || set.spec.as_ref()?.template.metadata.as_ref();
    let resources = pods().and_then(|pods| annotation(pods, labels::RESOURCES_DIGEST));
    let is_of_shape = set
        .annotations()
        .get(TEMPLATE_DIGEST)
        .is_some_and(|recorded| digest.fits(zone_index(set), recorded, resources));
    let found = || pods().and_then(revisions);
    let agree = |wanted: &ByInstance| found().is_some_and(|found| instance_revisions::agree(&found, wanted));
    is_of_shape && digest.revisions.as_ref().is_none_or(agree)
}

/// The revisions of instances on a pod or pod template.
pub(super) fn revisions(metadata: &ObjectMeta) -> Option<ByInstance> {
    instance_revisions::read(annotation(metadata, labels::INSTANCE_REVISIONS)?)
}

/// Whether instances of it are yet to be started, or were handed over.
pub(super) fn is_incomplete(set: &StatefulSet) -> bool {
    set.annotations().contains_key(INCOMPLETE) || first_ordinal(set).is_some()
}

pub(super) fn is_named(set: &StatefulSet, object: &Value) -> bool {
    set.metadata.name.as_deref() == object.name()
}

/// Whether a pod is of the StatefulSet of this name.
pub(super) fn is_pod_of(pod: &Pod, set: &str) -> bool {
    pod.labels()
        .get(labels::STATEFUL_SET_NAME)
        .is_some_and(|name| name == set)
}

pub(super) fn has_claims(set: &StatefulSet) -> bool {
    let spec = set.spec.as_ref();
    spec.is_some_and(|spec| spec.volume_claim_templates.iter().flatten().next().is_some())
}

/// Whether its pods are replaced when its template changes. Otherwise another template is another StatefulSet.
pub(super) fn is_updated_in_place(set: &StatefulSet) -> bool {
    let strategy = set.annotations().get(labels::VM_STRATEGY);
    has_claims(set) || strategy.is_some_and(|strategy| strategy == labels::DELETE_CREATE)
}

pub(super) fn is_being_deleted(set: &StatefulSet) -> bool {
    set.metadata.deletion_timestamp.is_some()
}

/// How many pods it wants.
pub(super) fn replicas(set: &StatefulSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// Whether its controller has observed its present spec.
pub(super) fn is_observed(set: &StatefulSet) -> bool {
    let observed = set.status.as_ref().and_then(|status| status.observed_generation);
    observed.unwrap_or(0) >= set.metadata.generation.unwrap_or(0)
}

/// Whether it has pods that are not made from its present template.
pub(super) fn has_old_pods(set: &StatefulSet) -> bool {
    let status = set.status.as_ref();
    status.is_some_and(|status| status.updated_replicas.unwrap_or(0) < status.replicas)
}

/// The name of its zone; empty without zones.
pub(super) fn zone(set: &StatefulSet) -> &str {
    set.labels().get(labels::AZ_NAME).map_or("", String::as_str)
}

/// The position of its zone; 0 without zones.
pub(super) fn zone_index(set: &StatefulSet) -> usize {
    let index = set.labels().get(labels::AZ_INDEX);
    index.and_then(|index| index.parse().ok()).unwrap_or(0)
}

/// In how many zones its version has a StatefulSet.
pub(super) fn zones(set: &StatefulSet) -> usize {
    let zones = set.annotations().get(labels::ZONES);
    let zones: Option<Vec<String>> = zones.and_then(|text| serde_json::from_str(text).ok());
    zones.map_or(1, |zones| zones.len())
}

/// The ordinal of its first pod, if that was ever set.
pub(super) fn first_ordinal(set: &StatefulSet) -> Option<usize> {
    let first = set.spec.as_ref()?.ordinals.as_ref()?.start.unwrap_or(0);
    usize::try_from(first).ok()
}

/// The ordinals of the pods that it wants.
pub(super) fn ordinals(set: &StatefulSet) -> Range<usize> {
    let first = first_ordinal(set).unwrap_or(0);
    first..first + usize::try_from(replicas(set)).unwrap_or(0)
}

/// The ordinal of one of its pods.
pub(super) fn ordinal(set: &StatefulSet, pod: &Pod) -> Option<usize> {
    let name = pod.metadata.name.as_ref()?.strip_prefix(set.metadata.name.as_ref()?)?;
    name.strip_prefix('-')?.parse().ok()
}

/// Ordinals of its pods that are ready, without pods that it is about to delete.
pub(super) fn ready_ordinals(set: &StatefulSet, pods: &[Pod]) -> impl Iterator<Item = usize> {
    let wanted = ordinals(set);
    let ready = pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none() && pods::is_ready(pod));
    ready
        .filter_map(|pod| ordinal(set, pod))
        .filter(move |ordinal| wanted.contains(ordinal))
}

pub(super) fn ready_pods(set: &StatefulSet) -> i32 {
    set.status
        .as_ref()
        .and_then(|status| status.ready_replicas)
        .unwrap_or(0)
}

/// How many instances of these StatefulSets are ready. Those of several versions are the same instances; `pods`: needed
/// if a version has handed over some of them.
pub(super) fn ready_instances(sets: &[StatefulSet], pods: Option<&[Pod]>) -> i32 {
    if let Some(pods) = pods {
        let of = |set| ready_ordinals(set, pods).map(move |ordinal| (zone(set), ordinal));
        let ready: BTreeSet<(&str, usize)> = sets.iter().flat_map(of).collect();
        return i32::try_from(ready.len()).unwrap_or(i32::MAX);
    }
    let mut by_version: BTreeMap<Option<u32>, i32> = BTreeMap::new();
    for set in sets {
        let ready = by_version.entry(version(set)).or_default();
        *ready = ready.saturating_add(ready_pods(set));
    }
    by_version.into_values().max().unwrap_or(0)
}

/// All of its pods are ready. Some of them may be of an earlier template: see [`has_old_pods`].
pub(super) fn is_ready(set: &StatefulSet) -> bool {
    is_observed(set) && ready_pods(set) == replicas(set)
}

/// Whether a pod cannot get the wanted resources without being replaced.
pub(super) fn is_refused(pod: &Pod, wanted: &Digest) -> bool {
    let has = |key| wanted.of_resources().is_some() && annotation(&pod.metadata, key) == wanted.of_resources();
    // Others may have asked for something else since, which the node refuses.
    let has_amounts = || {
        let amounts = wanted.resources.as_ref().map(|resources| &resources.amounts);
        amounts.is_some_and(|amounts| drift::holds(&json!(pod.spec), amounts))
    };
    let is_infeasible = || pending_reason(pod) == Some(INFEASIBLE) && has_amounts();
    has(labels::RESIZE_REFUSED) || has(labels::RESOURCES_DIGEST) && is_infeasible()
}

/// Why a pod does not have its resources yet.
pub(super) fn pending_reason(pod: &Pod) -> Option<&str> {
    let pending = condition(pod, RESIZE_PENDING).filter(|one| one.status == "True")?;
    // Of the resources before, if the kubelet has not seen the present ones.
    let seen = pending.observed_generation.zip(pod.metadata.generation);
    let is_present = seen.is_none_or(|(seen, present)| seen >= present);
    pending.reason.as_deref().filter(|_| is_present)
}
