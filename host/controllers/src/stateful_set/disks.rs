//! The claims of an instance group's pods. Kubernetes creates them from templates once and never changes them: this controller enlarges them, and
//! reports what cannot be changed. Pure.

use boson_cluster::objects::{self, drift};
use boson_document::Tree;
use boson_manifest::labels;
use boson_pipeline::plain::stateful_set::stateful_sets;
use serde_json::{Value, json};

/// How the existing claims differ from the desired ones.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Disks {
    /// To apply: claims with more storage than before.
    pub raise: Vec<Value>,
    /// Differences that cannot be resolved now, a sentence each.
    pub mismatches: Vec<String>,
    /// Whether one of them may resolve later.
    pub waits: bool,
}

// === impl Disks ===

impl Disks {
    /// `wanted`: StatefulSets. `claims`: those of their pods, and any others.
    pub fn of(wanted: &[Value], claims: &[Value]) -> Self {
        let mut disks = Self::default();
        for set in wanted {
            for template in list(&set["spec"]["volumeClaimTemplates"]) {
                let start = format!("{}-{}-", name(template), name(set));
                let made = claims.iter().filter(|claim| {
                    let ordinal = name(claim).strip_prefix(&start);
                    ordinal.is_some_and(|ordinal| ordinal.parse::<u32>().is_ok()) && !objects::is_going(claim)
                });
                for claim in made {
                    disks.compare(&template["spec"], claim);
                }
            }
        }
        disks
    }

    fn compare(&mut self, wanted: &Value, claim: &Value) {
        let storage = |spec: &Value| spec["resources"]["requests"]["storage"].as_str().map(str::to_string);
        let class = |spec: &Value| spec["storageClassName"].as_str().map(str::to_string);
        let (ours, theirs) = (class(wanted), class(&claim["spec"]));
        let name = name(claim);
        // No class means the default of the cluster, which the claim may have.
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours != theirs
        {
            let text =
                format!("'{name}' stays in StorageClass '{theirs}': a claim cannot move to another class ('{ours}')");
            self.mismatches.push(text);
        }
        let (Some(ours), Some(theirs)) = (storage(wanted), storage(&claim["spec"])) else {
            return;
        };
        let (Some(new), Some(old)) = (drift::quantity(&ours), drift::quantity(&theirs)) else {
            return;
        };
        if new < old {
            let text = format!("'{name}' stays at {theirs}: a claim cannot shrink (to {ours})");
            self.mismatches.push(text);
        } else if new > old && claim["status"]["phase"] == "Bound" {
            self.raise.push(raised(claim, &ours));
        } else if new > old {
            let text = format!("'{name}' gets {ours} once it is bound to a volume");
            self.mismatches.push(text);
            self.waits = true;
        }
    }
}

/// Only the change, with the UID: a claim that was deleted meanwhile must not be created again.
fn raised(claim: &Value, storage: &str) -> Value {
    let metadata = &claim["metadata"];
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]},
        "spec": {"resources": {"requests": {"storage": storage}}}
    })
}

/// The newest version of `set`, a QuarksStatefulSet, that has claims, even without StatefulSets.
pub(super) fn version(set: &Tree, claims: &[Value]) -> Option<u32> {
    let of = |claim: &Value| {
        let owner = claim["metadata"]["labels"][labels::STATEFUL_SET_NAME].as_str()?;
        let (_, version) = owner.rsplit_once("-v")?;
        let version = version.parse().ok()?;
        let sets = stateful_sets(set, version).ok()?;
        let named = |one: &Tree| one.get("metadata").and_then(|metadata| metadata.str("name")) == Some(owner);
        sets.iter().any(named).then_some(version)
    };
    claims.iter().filter_map(of).max()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json as tree;

    fn set(storage: &str, class: Option<&str>) -> Value {
        let mut claim =
            json!({"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": storage}}}});
        claim["spec"]["storageClassName"] = class.into();
        json!({"metadata": {"name": "d-g-v1"}, "spec": {"volumeClaimTemplates": [claim]}})
    }

    fn claim(name: &str, phase: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "n", "uid": "1"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": phase}
        })
    }

    #[test]
    fn claims_grow_and_never_shrink() {
        let of = |storage: &str, phase: &str| Disks::of(&[set(storage, None)], &[claim("data-d-g-v1-0", phase)]);
        assert_eq!(of("1024Mi", "Bound"), Disks::default());
        let larger = of("2Gi", "Bound");
        assert_eq!(larger.raise[0]["spec"]["resources"]["requests"]["storage"], "2Gi");
        assert_eq!(larger.raise[0]["metadata"]["uid"], "1");
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
        let claim = |owner: &str| json!({"metadata": {"labels": {labels::STATEFUL_SET_NAME: owner}}});
        let claims = ["d-g-z0-v2", "d-g-z1-v3", "d-g-z2-v7", "d-g-v8", "d-gg-z0-v9", "x"].map(claim);
        assert_eq!(version(&tree::parse(set).unwrap(), &claims), Some(3));
        assert_eq!(version(&tree::parse(set).unwrap(), &[]), None);
    }
}
