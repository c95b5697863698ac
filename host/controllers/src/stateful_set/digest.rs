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
}

#[cfg(test)]
impl From<&str> for Digest {
    fn from(text: &str) -> Self {
        Self {
            text: text.into(),
            former: None,
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
