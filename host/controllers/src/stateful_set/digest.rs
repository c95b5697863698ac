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
    /// The digest for each zone; none in a QuarksStatefulSet that a user wrote.
    zones: Vec<String>,
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
                zones: instance_revisions::shapes(&shape),
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
            zones: Vec::new(),
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

    #[cfg(test)]
    pub fn former(&self) -> Option<&str> {
        self.former.as_deref()
    }

    /// Whether a recorded digest is of the same template.
    pub fn is(&self, recorded: &str) -> bool {
        self.text == recorded || self.former.as_deref() == Some(recorded)
    }

    /// The text to record.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether pods of the zone at this position need not be replaced that were made from a template with this recorded
    /// digest. That of earlier operators is of all zones. `resources`: the recorded digest of their resources.
    pub fn fits(&self, zone: usize, recorded: &str, resources: Option<&str>) -> bool {
        let is_of_shape = self.text_in_zone(zone) == recorded || self.text == recorded;
        let fits = self.resizes || self.of_resources() == resources;
        self.former.as_deref() == Some(recorded) || is_of_shape && fits
    }

    /// The text that StatefulSets and pods of the zone record.
    pub fn text_in_zone(&self, zone: usize) -> &str {
        self.zones.get(zone).unwrap_or(&self.text)
    }

    /// Whether there is a zone at this position, as far as that can be told.
    pub fn has_zone(&self, zone: usize) -> bool {
        self.zones.is_empty() || zone < self.zones.len()
    }
}

#[cfg(test)]
impl From<&str> for Digest {
    fn from(text: &str) -> Self {
        Self {
            text: text.into(),
            former: None,
            zones: Vec::new(),
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

    fn revisions(mut spec: QuarksStatefulSetSpec) -> QuarksStatefulSetSpec {
        let annotations = json!({labels::INSTANCE_REVISIONS: r#"{"a": ["1"]}"#});
        spec.template["spec"]["template"]["metadata"] = json!({ "annotations": annotations });
        spec
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
        for of in [spec(&[], "i"), revisions(spec(&[], "i"))] {
            let paused = QuarksStatefulSetSpec {
                paused: true,
                ..of.clone()
            };
            assert_eq!(Digest::of(&paused), Digest::of(&of));
        }
    }

    #[test]
    fn zones_at_the_end_do_not_count_in_the_others_and_what_an_earlier_operator_recorded_of_all_is_the_same() {
        let of = |zones: &[&str]| {
            let mut spec = revisions(spec(&[], "i"));
            spec.zones = zones.iter().map(ToString::to_string).collect();
            Digest::of(&spec)
        };
        let two = of(&["a", "b"]);
        for other in [of(&["a", "b", "c"]), of(&["a"])] {
            assert!(other.fits(0, two.text_in_zone(0), None) && !other.is(two.text()));
        }
        assert!(two.fits(0, two.text(), None) && two.fits(1, two.text(), None));
        let swapped = of(&["b", "a"]);
        assert!((0..2).all(|zone| !swapped.fits(zone, two.text_in_zone(zone), None)));
        assert!(two.has_zone(1) && !two.has_zone(2));
    }

    #[test]
    fn other_amounts_of_cpu_and_memory_fit_where_the_cluster_resizes_pods() {
        let of = |memory: &str| {
            let mut spec = revisions(spec(&[], "i"));
            let pods = &mut spec.template["spec"]["template"];
            pods["spec"]["containers"][0] = json!({"name": "c", "resources": {"limits": {"memory": memory}}});
            spec
        };
        let (small, large) = (Digest::of(&of("1Gi")), Digest::of(&of("2Gi")));
        assert!(large.fits(0, small.text_in_zone(0), large.of_resources()));
        assert!(!large.fits(0, small.text_in_zone(0), small.of_resources()));
        let large = large.resizing(true);
        assert!(large.fits(0, small.text_in_zone(0), small.of_resources()));
        // An earlier operator counted the amounts.
        let former = |memory: &str| instance_revisions::shape(json!(of(memory)));
        assert!(large.fits(0, &former("2Gi"), None) && !large.fits(0, &former("1Gi"), None));
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
