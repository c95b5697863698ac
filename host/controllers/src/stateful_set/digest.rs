//! The digest of a template: of everything in a QuarksStatefulSet that shapes pods and claims. Pure.

use crate::instance_revisions::{self, ByInstance};
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
}

// === impl Digest ===

impl Digest {
    /// The digest of the template in this spec. The numbers of pods, and whether it is paused, do not count. With
    /// revisions, neither does what replaces no pod.
    pub fn of(spec: &QuarksStatefulSetSpec) -> Self {
        let whole = json!(spec);
        if let Some(revisions) = instance_revisions::of_spec(&whole) {
            return Self {
                zones: instance_revisions::shapes(&whole),
                text: instance_revisions::shape(whole),
                former: None,
                revisions: Some(revisions),
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
        }
    }

    /// Whether a recorded digest is of the same template.
    pub fn is(&self, recorded: &str) -> bool {
        self.text == recorded || self.former.as_deref() == Some(recorded)
    }

    /// The text to record.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a digest that a StatefulSet or pod of the zone at this position has recorded is of the same template.
    /// That of earlier operators is of all zones.
    pub fn is_in_zone(&self, zone: usize, recorded: &str) -> bool {
        self.text_in_zone(zone) == recorded || self.is(recorded)
    }

    /// The text that they record.
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
            assert!(other.is_in_zone(0, two.text_in_zone(0)) && !other.is(two.text()));
        }
        assert!(two.is_in_zone(0, two.text()) && two.is_in_zone(1, two.text()));
        let swapped = of(&["b", "a"]);
        assert!((0..2).all(|zone| !swapped.is_in_zone(zone, two.text_in_zone(zone))));
        assert!(two.has_zone(1) && !two.has_zone(2));
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
