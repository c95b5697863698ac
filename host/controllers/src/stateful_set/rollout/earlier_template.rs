//! A StatefulSet whose rollout has stopped gets the template back that its other pods were made from: one that is lost
//! comes back as it was. The rollout goes on with the wanted template. Pure.

use crate::stateful_set::live::{RESTARTED_AT, is_updated_in_place};
use boson_cluster::client::AnyObject;
use boson_cluster::objects::{self, DIGEST};
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use kube::ResourceExt;
use serde_json::Value;

/// Annotation: the revision that the wanted template had before an earlier one was set back.
const SET_BACK_FROM: &str = "quarks.cloudfoundry.org/set-back-from";

/// A StatefulSet that gets an earlier template.
#[derive(Debug)]
pub(in crate::stateful_set) struct EarlierTemplate {
    pub live: StatefulSet,
    pub wanted: Value,
    /// Name of the ControllerRevision with the earlier template.
    pub revision: String,
}

/// The revision that pods of the wanted template have, if the StatefulSet has an earlier one again.
pub(in crate::stateful_set) fn set_back_from(set: &StatefulSet) -> Option<&String> {
    set.annotations().get(SET_BACK_FROM)
}

// === impl EarlierTemplate ===

impl EarlierTemplate {
    /// None: its pods are not replaced, so they need no earlier template; or the revision is the present one.
    pub fn new(live: &StatefulSet, wanted: &Value, revision: &str) -> Option<Self> {
        let present = live
            .status
            .as_ref()
            .and_then(|status| status.update_revision.as_deref());
        (is_updated_in_place(live) && present != Some(revision)).then(|| Self {
            live: live.clone(),
            wanted: wanted.clone(),
            revision: revision.into(),
        })
    }

    /// The object to apply. None: the revision has no template, or is of another StatefulSet.
    pub fn object(&self, revision: &ControllerRevision) -> Option<Value> {
        let newest = self.live.status.as_ref()?.update_revision.as_ref()?;
        if !objects::has_owner(revision, self.live.metadata.uid.as_deref()?) {
            return None;
        }
        let mut template = revision.data.as_ref()?.0.pointer("/spec/template")?.clone();
        // Kubernetes stores it as a patch.
        template.as_object_mut()?.shift_remove("$patch");
        // The present one is of a user. With an earlier one, what was restarted would count as outdated.
        template.set_annotation(RESTARTED_AT, None);
        let mut object = self.wanted.clone();
        *object.pointer_mut("/spec/template")? = template;
        object.set_annotation(SET_BACK_FROM, Some(newest));
        // With the digest of the wanted object, the template would count as a change by others.
        object.set_annotation(DIGEST, Some("set back"));
        Some(object)
    }
}
