//! The digest of a template: of everything in a QuarksStatefulSet that shapes pods and claims. Pure.

use crate::instance_revisions::{self, ByInstance};
use crate::resources;
use boson_cluster::objects;
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::stateful_set) struct Digest {
    /// Of all zones.
    text: String,
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
pub(in crate::stateful_set) struct Resources {
    pub digest: String,
    /// The amounts, in the form of a pod spec.
    pub amounts: Value,
}

// === impl Digest ===

impl Digest {
    /// The digest of the template in this spec of a QuarksStatefulSet. The numbers of pods, states of instances, and
    /// whether it is paused do not count. With revisions, neither does what replaces no pod.
    pub fn of(mut spec: Value) -> Self {
        if let Some(revisions) = instance_revisions::of_spec(&spec) {
            let resources = resources::take(&mut spec).map(|amounts| Resources {
                digest: objects::digest(&amounts),
                amounts,
            });
            return Self {
                zones: instance_revisions::shapes(&spec),
                text: instance_revisions::shape(spec),
                revisions: Some(revisions),
                resources,
                resizes: false,
            };
        }
        instance_revisions::remove_scale(&mut spec);
        Self {
            text: objects::digest(&spec),
            ..Self::default()
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

    /// The text to record, which is that of all digests of the same template.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether pods of the zone at this position need not be replaced that were made from a template with this recorded
    /// digest. `resources`: the recorded digest of their resources.
    pub fn fits(&self, zone: usize, recorded: &str, resources: Option<&str>) -> bool {
        self.text_in_zone(zone) == recorded && (self.resizes || self.of_resources() == resources)
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
mod tests {
    use super::*;
    use boson_api::{PodState, QuarksStatefulSetSpec};
    use boson_manifest::labels;
    use serde_json::json;

    impl From<&str> for Digest {
        fn from(text: &str) -> Self {
            Self {
                text: text.into(),
                ..Self::default()
            }
        }
    }

    fn spec(zone_replicas: &[i32], image: &str) -> QuarksStatefulSetSpec {
        let spec = json!({"zones": ["a", "b"], "zoneReplicas": zone_replicas, "template": {"spec": {
            "replicas": 2, "template": {"spec": {"containers": [{"image": image}]}}}}});
        serde_json::from_value(spec).unwrap()
    }

    fn of_spec(spec: &QuarksStatefulSetSpec) -> Digest {
        Digest::of(json!(spec))
    }

    fn revisions(mut spec: QuarksStatefulSetSpec) -> QuarksStatefulSetSpec {
        let annotations = json!({labels::INSTANCE_REVISIONS: r#"{"a": ["1"]}"#});
        let metadata = json!({ "annotations": annotations });
        spec.template.change(|it| it["spec"]["template"]["metadata"] = metadata);
        spec
    }

    #[test]
    fn numbers_of_pods_do_not_count() {
        let even = of_spec(&spec(&[], "i"));
        let uneven = of_spec(&spec(&[2, 1], "i"));
        assert_eq!(uneven.text(), even.text());
        assert_ne!(uneven.text(), of_spec(&spec(&[2, 1], "j")).text());
    }

    #[test]
    fn whether_it_is_paused_and_states_of_instances_do_not_count() {
        for of in [spec(&[], "i"), revisions(spec(&[], "i"))] {
            let paused = QuarksStatefulSetSpec {
                paused: true,
                instances: vec![PodState::default()],
                ..of.clone()
            };
            assert_eq!(of_spec(&paused), of_spec(&of));
        }
    }

    #[test]
    fn zones_at_the_end_do_not_count_in_the_others() {
        let of = |zones: &[&str]| {
            let mut spec = revisions(spec(&[], "i"));
            spec.zones = zones.iter().map(ToString::to_string).collect();
            of_spec(&spec)
        };
        let two = of(&["a", "b"]);
        for other in [of(&["a", "b", "c"]), of(&["a"])] {
            assert!(other.fits(0, two.text_in_zone(0), None) && other.text() != two.text());
        }
        let swapped = of(&["b", "a"]);
        assert!((0..2).all(|zone| !swapped.fits(zone, two.text_in_zone(zone), None)));
        assert!(two.has_zone(1) && !two.has_zone(2));
    }

    #[test]
    fn other_amounts_of_cpu_and_memory_fit_where_the_cluster_resizes_pods() {
        let of = |memory: &str| {
            let mut spec = revisions(spec(&[], "i"));
            let container = json!({"name": "c", "resources": {"limits": {"memory": memory}}});
            spec.template
                .change(|it| it["spec"]["template"]["spec"]["containers"][0] = container);
            spec
        };
        let (small, large) = (of_spec(&of("1Gi")), of_spec(&of("2Gi")));
        assert!(large.fits(0, small.text_in_zone(0), large.of_resources()));
        assert!(!large.fits(0, small.text_in_zone(0), small.of_resources()));
        let large = large.resizing(true);
        assert!(large.fits(0, small.text_in_zone(0), small.of_resources()));
    }
}
