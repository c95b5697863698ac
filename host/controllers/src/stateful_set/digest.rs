//! The digest of a template: of everything in a QuarksStatefulSet that shapes pods and claims. Pure.

use crate::instance_revisions::{self, ByInstance};
use crate::resources;
use boson_api::QuarksStatefulSetSpec;
use boson_cluster::objects;
use serde_json::{Value, json};

/// A digest, and the one that earlier operators had for the same template, so that their pods stay.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Digest {
    text: String,
    former: Option<String>,
    /// The revisions of the instances; none in a QuarksStatefulSet that a user wrote.
    pub revisions: Option<ByInstance>,
    /// The CPU and memory that its pods can get without being replaced; none without revisions.
    pub resources: Option<Resources>,
    /// Whether the cluster can resize pods.
    pub resizes: bool,
}

/// CPU and memory of containers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resources {
    pub digest: String,
    /// The amounts, in the form of a pod spec.
    pub amounts: Value,
}

// === impl Digest ===

impl Digest {
    /// The digest of the template in this spec. The numbers of pods, and whether it is paused, do not count. With
    /// revisions, neither does what replaces no pod.
    pub fn of(spec: &QuarksStatefulSetSpec) -> Self {
        let whole = json!(spec);
        if let Some(revisions) = instance_revisions::of_spec(&whole) {
            let mut shape = whole.clone();
            let resources = resources::take(&mut shape).map(|amounts| Resources {
                digest: objects::digest(&amounts),
                amounts,
            });
            return Self {
                text: instance_revisions::shape(shape),
                // They were a part of the shape.
                former: resources.is_some().then(|| instance_revisions::shape(whole)),
                revisions: Some(revisions),
                resources,
                resizes: false,
            };
        }
        let mut spec = spec.clone();
        spec.paused = false;
        if let Some(inner) = spec.template.get_mut("spec").and_then(Value::as_object_mut) {
            inner.swap_remove("replicas");
        }
        // Removing a member from the JSON put the last one in its place: a group that got an uneven number of pods per
        // zone had another digest.
        let former = (!spec.zone_replicas.is_empty()).then(|| {
            let mut former = json!(spec);
            if let Some(members) = former.as_object_mut() {
                members.swap_remove("zoneReplicas");
            }
            objects::digest(&former)
        });
        spec.zone_replicas.clear();
        Self {
            text: objects::digest(&json!(spec)),
            former,
            revisions: None,
            resources: None,
            resizes: false,
        }
    }

    /// For a cluster that can resize pods, or that cannot.
    #[must_use]
    pub fn resizing(self, resizes: bool) -> Self {
        Self { resizes, ..self }
    }

    /// The digest of the resources.
    pub fn of_resources(&self) -> Option<&str> {
        self.resources.as_ref().map(|resources| resources.digest.as_str())
    }

    /// Whether pods need not be replaced that were made from a template with this recorded digest. `resources`: the
    /// recorded one of their resources.
    pub fn fits(&self, recorded: &str, resources: Option<&str>) -> bool {
        let fits = self.resizes || self.of_resources() == resources;
        self.former.as_deref() == Some(recorded) || self.text == recorded && fits
    }

    /// Whether a recorded digest is of the same template.
    pub fn is(&self, recorded: &str) -> bool {
        self.text == recorded || self.former.as_deref() == Some(recorded)
    }

    /// The text to record.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
impl From<&str> for Digest {
    fn from(text: &str) -> Self {
        Self {
            text: text.into(),
            former: None,
            revisions: None,
            resources: None,
            resizes: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::labels;

    fn spec(zone_replicas: &[i32], image: &str) -> QuarksStatefulSetSpec {
        let spec = json!({"zones": ["a", "b"], "zoneReplicas": zone_replicas, "template": {"spec": {
            "replicas": 2, "template": {"spec": {"containers": [{"image": image}]}}}}});
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn numbers_of_pods_do_not_count() {
        let even = Digest::of(&spec(&[], "i"));
        let uneven = Digest::of(&spec(&[2, 1], "i"));
        assert!(uneven.is(even.text()) && even.is(uneven.text()));
        assert!(!uneven.is(Digest::of(&spec(&[2, 1], "j")).text()));
    }

    #[test]
    fn whether_it_is_paused_does_not_count() {
        let revisions = |mut spec: QuarksStatefulSetSpec| {
            let annotations = json!({labels::INSTANCE_REVISIONS: r#"{"a": ["1"]}"#});
            spec.template["spec"]["template"]["metadata"] = json!({ "annotations": annotations });
            spec
        };
        for of in [spec(&[], "i"), revisions(spec(&[], "i"))] {
            let paused = QuarksStatefulSetSpec {
                paused: true,
                ..of.clone()
            };
            assert_eq!(Digest::of(&paused), Digest::of(&of));
        }
    }

    #[test]
    fn other_amounts_of_cpu_and_memory_fit_where_the_cluster_resizes_pods() {
        let of = |memory: &str| {
            let mut spec = spec(&[], "i");
            let pods = &mut spec.template["spec"]["template"];
            pods["metadata"] = json!({"annotations": {labels::INSTANCE_REVISIONS: r#"{"a": ["1"]}"#}});
            pods["spec"]["containers"][0] = json!({"name": "c", "resources": {"limits": {"memory": memory}}});
            spec
        };
        let (small, large) = (Digest::of(&of("1Gi")), Digest::of(&of("2Gi")));
        assert!(large.fits(small.text(), large.of_resources()));
        assert!(!large.fits(small.text(), small.of_resources()));
        let large = large.resizing(true);
        assert!(large.fits(small.text(), small.of_resources()));
        // An earlier operator counted the amounts.
        let former = |memory: &str| instance_revisions::shape(json!(of(memory)));
        assert!(large.fits(&former("2Gi"), None) && !large.fits(&former("1Gi"), None));
    }

    #[test]
    fn what_an_earlier_operator_recorded_of_an_uneven_group_is_the_same_template() {
        let mut former = json!(spec(&[2, 1], "i"));
        former.as_object_mut().unwrap().remove("zoneReplicas");
        former["template"]["spec"].as_object_mut().unwrap().remove("replicas");
        let former = objects::digest(&former);
        let digest = Digest::of(&spec(&[2, 1], "i"));
        assert!(digest.is(&former) && digest.text() != former);
        assert!(!Digest::of(&spec(&[2, 1], "j")).is(&former));
    }
}
