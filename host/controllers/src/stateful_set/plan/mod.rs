//! Plans the StatefulSets of a QuarksStatefulSet. Pure.
//!
//! A changed template creates a new version beside the old one. [`takeover`](super::versions::takeover) decides what
//! stays of older versions until all pods of the new one are ready. If pods have claims, the version is kept and its
//! pods roll in place, because a claim belongs to the name of a pod; so they do with the strategy `delete-create`, and
//! while an instance is ignored or stopped, whose pod stays.
//! Immutable fields of a StatefulSet, such as its claim templates, are changed by creating it again: its pods and
//! claims stay, and are adopted by name.
//!
//! [`rollout`](super::rollout) decides which instances change now. A new version starts them by its number of replicas.
//! Other changes replace pods: the StatefulSets have the strategy `OnDelete`, so that nothing else replaces them. A
//! zone gets a new template when the first of its pods is to be replaced, so that until then a pod that is lost comes
//! back as it was; so does one while the rollout has stopped, see
//! [`earlier_template`](super::rollout::earlier_template).
//!
//! Where the cluster can resize pods, other CPU and memory replace none: see [`resize`](super::resize).

mod desired;
mod draft;
mod group;
mod handover;
mod in_place;

use super::live::Live;
use super::live::digest::Digest;
use super::resize::Resizes;
use super::rollout::Rollout;
use super::rollout::earlier_template::EarlierTemplate;
use super::rollout::reasons::Begun;
use super::versions::Versions;
use super::versions::takeover::{Resized, Superseded};
use super::{INVALID, Problem};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::Error;
use boson_cluster::objects::drift::{AddedByOthers, Drifted};
use draft::Draft;
use group::Group;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// What to do, and the observed readiness.
#[derive(Debug)]
pub(super) struct Plan {
    /// The desired StatefulSets.
    pub wanted: Vec<Value>,
    pub apply: Vec<Value>,
    /// Those of them that others or admission have changed.
    pub drifted: Vec<Drifted>,
    /// Additions by others, to remove.
    pub additions: Vec<AddedByOthers>,
    /// Those of `apply` that do not exist yet.
    pub new_objects: Vec<Value>,
    /// StatefulSets to delete without their pods and claims, each with the one to create afterwards.
    pub renew: Vec<(StatefulSet, Value)>,
    pub delete: Vec<Value>,
    /// Those that hand instances over, or get them back.
    pub resize: Vec<Resized>,
    /// Pods to delete, which their StatefulSets create again.
    pub replace: Vec<Pod>,
    /// Instances whose update begins with this plan.
    pub begun: Vec<Begun>,
    /// Pods that get other resources.
    pub resizes: Resizes,
    /// Those whose rollout has stopped.
    pub set_back: Vec<EarlierTemplate>,
    pub rollout: Rollout,
    /// Instances of all zones.
    pub replicas: usize,
    /// Whether all pods of the wanted version are ready.
    pub ready: bool,
    /// To record in the status.
    pub versions: Versions,
}

/// What is in the cluster.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub live: Live,
    /// The claims of the pods of such.
    pub claims: Vec<PersistentVolumeClaim>,
    /// Their pods, if they were listed.
    pub pods: Option<Vec<Pod>>,
    /// Names of QuarksStatefulSets that are to be updated before, and are not done; empty before pods were listed.
    pub before: Vec<String>,
    /// Whether the cluster can resize pods.
    pub resizes: bool,
}

/// What a new version takes over, or what is replaced in place.
#[derive(Default)]
struct Changes {
    rollout: Rollout,
    pods: Vec<Pod>,
    begun: Vec<Begun>,
    /// None: nothing is taken over.
    superseded: Option<Superseded>,
    /// The StatefulSets that keep their template for now.
    held: Vec<String>,
    set_back: Vec<EarlierTemplate>,
}

pub(super) enum PlanError {
    /// The decision needs the pods.
    NeedsPods,
    Api(Error),
    Problem(Problem),
}

// === impl Plan ===

impl Plan {
    /// Whether it begins or ends updates of instances.
    pub fn updates_instances(&self) -> bool {
        !self.replace.is_empty() || !self.resize.is_empty()
    }
}

// === impl PlanError ===

impl PlanError {
    fn invalid(message: String) -> Self {
        Self::Problem(Problem::new(INVALID, message))
    }
}

impl From<Error> for PlanError {
    fn from(error: Error) -> Self {
        Self::Api(error)
    }
}

/// `owner`: the reference to the QuarksStatefulSet.
///
/// # Errors
/// The pods are needed, the template is missing or has ordinals, or the zones are invalid.
pub(super) fn plan(
    set: &QuarksStatefulSet,
    seen: &Seen,
    owner: &OwnerReference,
    now: Timestamp,
) -> Result<Plan, PlanError> {
    let mut object = json!(set);
    let tree = desired::tree(&object)?;
    let digest = Digest::of(object["spec"].take()).resizing(seen.resizes);
    let group = Group::new(set, &digest, &tree, seen, now)?;
    desired::refuse_ordinals(&tree)?;
    let mut draft = Draft::new(&group, group.desired(&tree, owner)?)?;
    draft.withhold();
    draft.give_back()?;
    let current = draft.current();
    draft.renew(&current);
    let is_steady = draft.is_steady(&current);
    draft.replace_in_place(&current)?;
    draft.finish(is_steady)
}

#[cfg(test)]
mod handover_tests;
#[cfg(test)]
mod states_tests;
#[cfg(test)]
mod tests;
