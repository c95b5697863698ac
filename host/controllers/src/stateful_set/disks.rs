//! The claims of an instance group's pods. Kubernetes creates them from templates once and never changes them: this
//! controller enlarges them, and reports what cannot be changed. Pure.

use boson_cluster::client::AnyObject;
use boson_cluster::objects::drift;
use boson_document::Tree;
use boson_manifest::labels;
use boson_pipeline::plain::stateful_set::stateful_sets;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use serde_json::Value;

/// The resource that a claim requests.
const STORAGE: &str = "storage";

/// How the existing claims differ from the desired ones.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Disks {
    /// To apply: claims with more storage than before.
    pub raise: Vec<PersistentVolumeClaim>,
    /// Differences that cannot be resolved now, a sentence each.
    pub mismatches: Vec<String>,
    /// Whether one of them may resolve later.
    pub waits: bool,
}

// === impl Disks ===

impl Disks {
    /// `wanted`: StatefulSets. `claims`: those of their pods, and any others.
    pub fn of(wanted: &[Value], claims: &[PersistentVolumeClaim]) -> Self {
        let mut disks = Self::default();
        for set in wanted {
            for template in claim_templates(set) {
                let Some((set, template_name)) = set.name().zip(template.name()) else {
                    continue;
                };
                let start = format!("{template_name}-{set}-");
                let made = claims.iter().filter(|claim| {
                    let name = claim.metadata.name.as_deref();
                    let ordinal = name.and_then(|name| name.strip_prefix(&start));
                    ordinal.is_some_and(|ordinal| ordinal.parse::<u32>().is_ok())
                        && claim.metadata.deletion_timestamp.is_none()
                });
                for claim in made {
                    disks.compare(template, claim);
                }
            }
        }
        disks
    }

    /// `wanted`: the claim template.
    fn compare(&mut self, wanted: &Value, claim: &PersistentVolumeClaim) {
        let Some(spec) = &claim.spec else { return };
        let wanted = |at| wanted.pointer(at).and_then(Value::as_str);
        let (ours, theirs) = (wanted("/spec/storageClassName"), spec.storage_class_name.as_deref());
        let name = claim.name_any();
        // No class means the default of the cluster, which the claim may have.
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours != theirs
        {
            let text =
                format!("'{name}' stays in StorageClass '{theirs}': a claim cannot move to another class ('{ours}')");
            self.mismatches.push(text);
        }
        let (Some(ours), Some(theirs)) = (wanted("/spec/resources/requests/storage"), requested_storage(spec)) else {
            return;
        };
        let (Some(new), Some(old)) = (drift::quantity(ours), drift::quantity(theirs)) else {
            return;
        };
        if new < old {
            let text = format!("'{name}' stays at {theirs}: a claim cannot shrink (to {ours})");
            self.mismatches.push(text);
        } else if new > old && phase(claim) == Some("Bound") {
            self.raise.push(resized_claim(claim, ours));
        } else if new > old {
            let text = format!("'{name}' gets {ours} once it is bound to a volume");
            self.mismatches.push(text);
            self.waits = true;
        }
    }
}

/// The claim templates of a desired StatefulSet. Its user wrote them, so they may have any form; the API server reports
/// what is wrong.
pub(super) fn claim_templates(wanted: &Value) -> &[Value] {
    let templates = wanted.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    templates.map_or(&[], Vec::as_slice)
}

/// Whether the pods of a desired StatefulSet have claims.
pub(super) fn wants_claims(wanted: &Value) -> bool {
    !claim_templates(wanted).is_empty()
}

fn requested_storage(spec: &PersistentVolumeClaimSpec) -> Option<&str> {
    let requests = spec.resources.as_ref()?.requests.as_ref()?;
    requests.get(STORAGE).map(|quantity| quantity.0.as_str())
}

fn phase(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.status.as_ref()?.phase.as_deref()
}

/// Only the change, with the UID: a claim that was deleted meanwhile must not be created again.
fn resized_claim(claim: &PersistentVolumeClaim, storage: &str) -> PersistentVolumeClaim {
    let requests = [(STORAGE.to_string(), Quantity(storage.into()))];
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: claim.metadata.name.clone(),
            namespace: claim.metadata.namespace.clone(),
            uid: claim.metadata.uid.clone(),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            resources: Some(VolumeResourceRequirements {
                requests: Some(requests.into()),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}

/// The newest version of `set`, a QuarksStatefulSet, that has claims, even without StatefulSets.
pub(super) fn version(set: &Tree, claims: &[PersistentVolumeClaim]) -> Option<u32> {
    let of = |claim: &PersistentVolumeClaim| {
        let owner = claim.labels().get(labels::STATEFUL_SET_NAME)?;
        let (_, version) = owner.rsplit_once("-v")?;
        let version = version.parse().ok()?;
        let sets = stateful_sets(set, version).ok()?;
        let named = |one: &Tree| one.get("metadata").and_then(|metadata| metadata.str("name")) == Some(owner);
        sets.iter().any(named).then_some(version)
    };
    claims.iter().filter_map(of).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json as tree;
    use serde_json::json;

    fn set(storage: &str, class: Option<&str>) -> Value {
        let mut claim =
            json!({"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": storage}}}});
        claim["spec"]["storageClassName"] = class.into();
        json!({"metadata": {"name": "d-g-v1"}, "spec": {"volumeClaimTemplates": [claim]}})
    }

    fn typed(claim: Value) -> PersistentVolumeClaim {
        serde_json::from_value(claim).unwrap()
    }

    fn claim(name: &str, phase: &str) -> PersistentVolumeClaim {
        typed(json!({
            "metadata": {"name": name, "namespace": "n", "uid": "1"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": phase}
        }))
    }

    #[test]
    fn claims_grow_and_never_shrink() {
        let of = |storage: &str, phase: &str| Disks::of(&[set(storage, None)], &[claim("data-d-g-v1-0", phase)]);
        assert_eq!(of("1024Mi", "Bound"), Disks::default());
        let larger = of("2Gi", "Bound");
        let raised = serde_json::to_value(&larger.raise).unwrap();
        assert_eq!(
            raised,
            json!([{
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data-d-g-v1-0", "namespace": "n", "uid": "1"},
                "spec": {"resources": {"requests": {"storage": "2Gi"}}}
            }]),
            "and nothing else of it"
        );
        assert!(larger.mismatches.is_empty() && !larger.waits);
        let smaller = of("512Mi", "Bound");
        assert!(smaller.raise.is_empty() && !smaller.waits);
        assert!(
            smaller.mismatches[0].starts_with("'data-d-g-v1-0' stays at 1Gi"),
            "{smaller:?}"
        );
        let early = of("2Gi", "Pending");
        assert!(early.raise.is_empty() && early.waits && early.mismatches.len() == 1);
    }

    #[test]
    fn a_template_that_is_none_is_left_to_the_api_server() {
        for templates in [json!("x"), json!([1]), json!([{"metadata": {"name": 1}}]), json!(null)] {
            let set = json!({"metadata": {"name": "d-g-v1"}, "spec": {"volumeClaimTemplates": templates}});
            assert_eq!(Disks::of(&[set], &[claim("data-d-g-v1-0", "Bound")]), Disks::default());
        }
        let number = json!({"spec": {"volumeClaimTemplates": [
            {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": 5}}}}]}});
        assert!(wants_claims(&number));
    }

    #[test]
    fn another_class_is_reported_and_claims_of_others_are_left_alone() {
        let of = |name: &str| Disks::of(&[set("2Gi", Some("slow"))], &[claim(name, "Bound")]);
        let ours = of("data-d-g-v1-12");
        assert_eq!((ours.raise.len(), ours.mismatches.len()), (1, 1));
        for other in ["data-d-g-v1-x", "data-d-g-v10-0", "more-d-g-v1-0", "data-d-g-v1-2-0"] {
            assert_eq!(of(other), Disks::default(), "{other}");
        }
    }

    #[test]
    fn claims_tell_the_version_that_they_are_of() {
        let set =
            r#"{"metadata": {"name": "d-g"}, "spec": {"zones": ["a", "b"], "template": {"spec": {"template": {}}}}}"#;
        let claim = |owner: &str| typed(json!({"metadata": {"labels": {labels::STATEFUL_SET_NAME: owner}}}));
        let claims = ["d-g-z0-v2", "d-g-z1-v3", "d-g-z2-v7", "d-g-v8", "d-gg-z0-v9", "x"].map(claim);
        assert_eq!(version(&tree::parse(set).unwrap(), &claims), Some(3));
        assert_eq!(version(&tree::parse(set).unwrap(), &[]), None);
    }
}
