//! The StatefulSets that a version should have, one for each zone. Pure.

use super::PlanError;
use super::group::{Group, set_replicas};
use crate::stateful_set::live::{TEMPLATE_DIGEST, is_named, is_of_template};
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{AnyObject, Error};
use boson_cluster::objects;
use boson_document::Tree;
use boson_manifest::labels;
use boson_pipeline::plain::stateful_set::stateful_sets;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

/// Annotation: digest of the immutable fields of the StatefulSet, as written: the server adds defaults.
pub(super) const FIXED_DIGEST: &str = "quarks.cloudfoundry.org/fixed-digest";

/// Annotation: digest of the pod template, as written.
pub(super) const PODS_DIGEST: &str = "quarks.cloudfoundry.org/pods-digest";

// === impl Group ===

impl Group<'_> {
    /// `tree`: the QuarksStatefulSet. `owner`: the reference to it.
    pub fn desired(&self, tree: &Tree, owner: &OwnerReference) -> Result<Vec<Value>, PlanError> {
        let made = stateful_sets(tree, self.version).map_err(|error| PlanError::invalid(error.message))?;
        let made = made.iter().enumerate();
        let desired = made.map(|(zone, made)| self.desired_in_zone(zone, made, owner));
        let mut desired = desired.collect::<Result<Vec<Value>, Error>>()?;
        if self.states.is_stopped() {
            desired.iter_mut().for_each(|object| set_replicas(object, 0));
        }
        Ok(desired)
    }

    /// `zone`: position of the zone of `made`.
    fn desired_in_zone(&self, zone: usize, made: &Tree, owner: &OwnerReference) -> Result<Value, Error> {
        let (set, digest) = (self.set, self.digest);
        let flawed = |_| Error::flawed(&StatefulSet::kind(&()), set.meta().name.as_deref(), "is not JSON");
        let mut value: Value = serde_json::to_value(made).map_err(flawed)?;
        if let Some(spec) = value.get_mut("spec") {
            spec["updateStrategy"] = json!({"type": "OnDelete"});
        }
        let shape = digest.text_in_zone(zone);
        value.set_annotation(TEMPLATE_DIGEST, Some(shape));
        if digest.revisions.is_some()
            && let Some(pods) = value.pointer_mut("/spec/template")
        {
            pods.set_annotation(labels::SHAPE_DIGEST, Some(shape));
            pods.set_annotation(labels::RESOURCES_DIGEST, digest.of_resources());
        }
        self.keep_deployment_version(&mut value);
        let fixed = fixed_digest(&value);
        value.set_annotation(FIXED_DIGEST, Some(&fixed));
        annotate_template(&mut value);
        // A QuarksStatefulSet of a user belongs to no deployment.
        let deployment = set.labels().get(labels::DEPLOYMENT_NAME).map_or("", String::as_str);
        objects::own(&mut value, deployment, owner);
        Ok(value)
    }

    /// The label names the manifest from which the present template was made: scaling changes neither.
    fn keep_deployment_version(&self, value: &mut Value) {
        let mut found = self.seen.live.sets.iter().filter(|one| is_named(one, value));
        if let Some(found) = found.find(|one| is_of_template(one, self.digest)) {
            let version = found.labels().get(labels::DEPLOYMENT_VERSION).map(String::as_str);
            value.set_label(labels::DEPLOYMENT_VERSION, version);
        }
    }
}

/// The QuarksStatefulSet in the form that the conversion to StatefulSets reads.
pub(super) fn tree(set: &Value) -> Result<Tree, Error> {
    let flawed = |_| Error::flawed(&QuarksStatefulSet::kind(&()), set.name(), "is not JSON");
    Tree::deserialize(set).map_err(flawed)
}

/// Versions hand instances over by the ordinals of their StatefulSets.
pub(super) fn refuse_ordinals(set: &Tree) -> Result<(), PlanError> {
    let inner = set.get("spec").and_then(|spec| spec.get("template")?.get("spec"));
    let ordinals = inner.and_then(|inner| inner.get("ordinals"));
    if ordinals.is_none_or(Tree::is_null) {
        return Ok(());
    }
    let message = "spec.template.spec.ordinals cannot be set: instances have numbers from 0, and versions hand them \
                   over by this member";
    Err(PlanError::invalid(message.into()))
}

/// Records the digest of the pod template.
pub(super) fn annotate_template(stateful_set: &mut Value) {
    let pods = objects::digest(stateful_set.pointer("/spec/template").unwrap_or(&Value::Null));
    stateful_set.set_annotation(PODS_DIGEST, Some(&pods));
}

/// Digest of the immutable fields of a StatefulSet.
fn fixed_digest(stateful_set: &Value) -> String {
    let keys = ["podManagementPolicy", "selector", "serviceName", "volumeClaimTemplates"];
    let field = |key| stateful_set.spec().and_then(|spec| spec.get(key));
    objects::digest(&keys.iter().map(|key| json!([key, field(key)])).collect())
}
