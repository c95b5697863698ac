//! Which pods get other CPU and memory while they run, by their subresource `resize`. Pure.
//!
//! A pod whose shape and revision are the wanted ones is resized, whatever else its group waits for: nothing restarts.
//! Its annotation says which resources it was created or last resized with, not what it has: what others change in
//! between is theirs. If the API server refuses the resources, or its node can never have them, the instance is
//! outdated, and the rollout replaces its pod.
//!
//! The StatefulSet gets the resources first, with an annotation as long as one of its pods has others. Pods are looked
//! at while it is there: after a change is reverted, the template has its earlier revision again, and nothing else
//! tells.

use super::live::digest::{Digest, Resources};
use super::live::states::is_gated;
use super::live::{DEFERRED, is_refused, pending_reason};
use super::rollout::instances::LiveZone;
use boson_cluster::client::{Error, ErrorKind};
use boson_cluster::objects::annotation;
use boson_manifest::labels;
use boson_pipeline::listing::first_of;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

/// Annotation of a StatefulSet: pods of it have other resources than its template.
pub(super) const RESIZING: &str = "quarks.cloudfoundry.org/resizing";
pub(super) const RESIZE: &str = "resize";
/// Pods that are resized in one reconcile: each takes two calls. The others follow when these have changed.
const MAX_RESIZED_PODS: usize = 20;

/// A pod that gets other resources.
#[derive(Clone, Debug)]
pub(super) struct Resize {
    pub pod: Pod,
    resources: Resources,
}

/// The pods of a group.
#[derive(Debug, Default)]
pub(super) struct Resizes {
    pub now: Vec<Resize>,
    /// The StatefulSets of these, and of those that follow.
    sets: Vec<String>,
    /// Names of pods that get theirs when their node has them.
    pub deferred: Vec<String>,
}

// === impl Resize ===

impl Resize {
    /// The members of the patch of the subresource.
    pub fn members(&self) -> Value {
        json!({ "spec": self.resources.amounts })
    }

    /// What the pod records afterwards.
    pub fn members_when_done(&self) -> Value {
        annotations_patch(&json!({labels::RESOURCES_DIGEST: self.resources.digest, labels::RESIZE_REFUSED: null}))
    }

    /// What it records if the API server refuses the resources.
    pub fn members_when_refused(&self) -> Value {
        annotations_patch(&json!({labels::RESIZE_REFUSED: self.resources.digest}))
    }
}

fn annotations_patch(annotations: &Value) -> Value {
    json!({"metadata": {"annotations": annotations}})
}

// === impl Resizes ===

impl Resizes {
    /// The pods of these zones of the wanted version.
    pub fn of(zones: &[LiveZone<'_>], pods: &[Pod]) -> Self {
        let mut resizes = Self::default();
        for zone in zones {
            let Some(wanted) = zone.wanted.filter(|wanted| wanted.digest.resizes) else {
                continue;
            };
            let Some(resources) = &wanted.digest.resources else {
                continue;
            };
            let existing = (0..zone.replicas).filter_map(|ordinal| Some((ordinal, zone.pod(ordinal, pods)?)));
            // A pod that runs on no node cannot be resized, and is created again when it starts.
            let existing = existing.filter(|(_, pod)| !is_gated(pod));
            for (_, pod) in existing.filter(|(ordinal, pod)| wanted.is_in(&pod.metadata, zone, *ordinal)) {
                match annotation(&pod.metadata, labels::RESOURCES_DIGEST) {
                    Some(present) if present == resources.digest => {
                        let is_deferred = pending_reason(pod) == Some(DEFERRED);
                        resizes.deferred.extend(is_deferred.then(|| pod.name_any()));
                    }
                    Some(_) if is_refused(pod, wanted.digest) => {}
                    Some(_) => resizes.add(zone.set_name, pod, resources),
                    // They were removed by hand.
                    None => {}
                }
            }
        }
        resizes
    }

    fn add(&mut self, set: &str, pod: &Pod, resources: &Resources) {
        if !self.has_pods_of(set) {
            self.sets.push(set.to_string());
        }
        if self.now.len() < MAX_RESIZED_PODS {
            self.now.push(Resize {
                pod: pod.clone(),
                resources: resources.clone(),
            });
        }
    }

    /// Resizes no other pods now.
    pub fn retain(&mut self, is_meant: impl Fn(&Pod) -> bool) {
        self.now.retain(|one| is_meant(&one.pod));
    }

    /// Whether a pod of this StatefulSet has other resources.
    pub fn has_pods_of(&self, set: &str) -> bool {
        self.sets.iter().any(|one| one == set)
    }

    /// That these pods wait for their nodes.
    pub fn text(deferred: &[String]) -> Option<String> {
        let names: Vec<String> = deferred.iter().map(|name| format!("'{name}'")).collect();
        let text = format!(
            "the resize of {} waits for room on the node",
            first_of(&names, 1, " and ")
        );
        (!names.is_empty()).then_some(text)
    }
}

/// Whether pods of a StatefulSet may have other resources than the wanted ones.
pub(super) fn may_differ(set: &StatefulSet, wanted: &Digest) -> bool {
    let pods = set.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
    let present = pods.and_then(|pods| annotation(pods, labels::RESOURCES_DIGEST));
    set.annotations().contains_key(RESIZING) || present != wanted.of_resources()
}

/// Whether the API server refuses to resize a pod, so that it has to be replaced: its validation names the field. What
/// admission refuses, such as a quota, a LimitRange or a webhook, it would refuse to the pod that follows, too.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Refused(Some(_))) && !error.exceeds_quota()
}

#[cfg(test)]
mod tests {
    use super::super::live::states::States;
    use super::super::live::{INFEASIBLE, RESIZE_PENDING};
    use super::super::rollout::instances::Wanted;
    use super::*;

    const COUNT: usize = MAX_RESIZED_PODS + 1;

    /// The revisions of all instances.
    fn revisions() -> String {
        let all = vec!["1"; COUNT];
        json!({"": all}).to_string()
    }

    /// A template with this limit of memory.
    fn digest(memory: &str, image: &str) -> Digest {
        let container = json!({"name": "c", "image": image, "resources": {"limits": {"memory": memory}}});
        let pods = json!({"metadata": {"annotations": {labels::INSTANCE_REVISIONS: revisions()}},
            "spec": {"containers": [container]}});
        let spec = json!({"template": {"spec": {"template": pods}}});
        Digest::of(spec).resizing(true)
    }

    /// A pod that was made from that template.
    fn pod(ordinal: usize, made_from: &Digest) -> Pod {
        let annotations = json!({labels::INSTANCE_REVISIONS: revisions(), labels::SHAPE_DIGEST: made_from.text(),
            labels::RESOURCES_DIGEST: made_from.of_resources()});
        let pod = json!({"metadata": {"name": format!("s-{ordinal}"), "annotations": annotations, "generation": 2}});
        serde_json::from_value(pod).unwrap()
    }

    fn with_condition(mut pod: Pod, reason: &str, generation: Option<i64>) -> Pod {
        let condition =
            json!({"type": RESIZE_PENDING, "status": "True", "reason": reason, "observedGeneration": generation});
        pod.status = serde_json::from_value(json!({"conditions": [condition]})).unwrap();
        pod
    }

    fn annotate(pod: &mut Pod, members: &Value) {
        for (key, value) in members["metadata"]["annotations"].as_object().unwrap() {
            match value.as_str() {
                Some(value) => drop(pod.annotations_mut().insert(key.clone(), value.into())),
                None => drop(pod.annotations_mut().remove(key)),
            }
        }
    }

    fn resizes(wanted: &Digest, replicas: usize, pods: &[Pod]) -> Resizes {
        let revisions = vec!["1".to_string(); replicas];
        let zone = LiveZone {
            name: "",
            index: 0,
            set_name: "s",
            live: None,
            replicas,
            wanted: Some(Wanted {
                digest: wanted,
                revisions: &revisions,
            }),
            states: States::default(),
        };
        Resizes::of(&[zone], pods)
    }

    fn names(resizes: &Resizes) -> Vec<String> {
        resizes.now.iter().map(|one| one.pod.name_any()).collect()
    }

    #[test]
    fn only_a_pod_that_differs_in_nothing_else_is_resized() {
        let (small, large) = (digest("1Gi", "i:1"), digest("2Gi", "i:1"));
        let other = digest("1Gi", "i:2");
        let mut surplus = vec![pod(0, &small), pod(1, &large), pod(2, &other), pod(3, &small)];
        let found = resizes(&large, 3, &surplus);
        assert_eq!(names(&found), ["s-0"]);
        let amounts = json!({"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}});
        assert_eq!(
            found.now[0].members(),
            json!({"spec": {"containers": [{"name": "c", "resources": amounts}]}})
        );
        annotate(&mut surplus[0], &found.now[0].members_when_done());
        assert!(resizes(&large, 3, &surplus).now.is_empty(), "once");
        assert!(
            resizes(&large.clone().resizing(false), 3, &[pod(0, &small)])
                .now
                .is_empty()
        );
    }

    #[test]
    fn a_pod_that_is_refused_the_resources_is_outdated_until_others_are_wanted() {
        let (small, large) = (digest("1Gi", "i:1"), digest("2Gi", "i:1"));
        let mut refused = pod(0, &small);
        let found = resizes(&large, 1, std::slice::from_ref(&refused));
        annotate(&mut refused, &found.now[0].members_when_refused());
        assert!(is_refused(&refused, &large) && !is_refused(&refused, &small));
        assert!(resizes(&large, 1, std::slice::from_ref(&refused)).now.is_empty());
        let third = digest("3Gi", "i:1");
        let found = resizes(&third, 1, std::slice::from_ref(&refused));
        assert_eq!(names(&found), ["s-0"]);
        annotate(&mut refused, &found.now[0].members_when_done());
        assert_eq!(annotation(&refused.metadata, labels::RESIZE_REFUSED), None);
    }

    #[test]
    fn a_node_that_never_has_room_refuses_and_one_that_has_none_now_is_waited_for() {
        let (small, large) = (digest("1Gi", "i:1"), digest("2Gi", "i:1"));
        let sized = |digest: &Digest| {
            let amounts = digest.resources.as_ref().unwrap().amounts.clone();
            let mut pod = pod(0, digest);
            pod.spec = serde_json::from_value(amounts).unwrap();
            pod
        };
        for seen in [None, Some(2)] {
            assert!(is_refused(&with_condition(sized(&large), INFEASIBLE, seen), &large));
            let mut of_others = sized(&large);
            of_others.spec = sized(&small).spec;
            assert!(!is_refused(&with_condition(of_others, INFEASIBLE, seen), &large));
        }
        let before = with_condition(pod(0, &large), INFEASIBLE, Some(1));
        assert!(!is_refused(&before, &large), "the kubelet has not seen these resources");
        assert!(!is_refused(&with_condition(pod(0, &small), INFEASIBLE, None), &large));
        let waits = with_condition(pod(0, &large), DEFERRED, Some(2));
        assert!(!is_refused(&waits, &large));
        let found = resizes(&large, 1, &[waits]);
        assert_eq!(
            (names(&found), found.deferred.as_slice()),
            (vec![], &["s-0".to_string()][..])
        );
        let text = "the resize of 's-0' waits for room on the node";
        assert_eq!(Resizes::text(&found.deferred).as_deref(), Some(text));
        assert_eq!(Resizes::text(&[]), None);
    }

    #[test]
    fn pods_that_are_left_follow_and_their_stateful_set_says_so() {
        let (small, large) = (digest("1Gi", "i:1"), digest("2Gi", "i:1"));
        let mut pods: Vec<Pod> = (0..COUNT).map(|ordinal| pod(ordinal, &small)).collect();
        let found = resizes(&large, COUNT, &pods);
        assert_eq!((found.now.len(), found.has_pods_of("s")), (MAX_RESIZED_PODS, true));
        for (pod, one) in pods.iter_mut().zip(&found.now) {
            annotate(pod, &one.members_when_done());
        }
        let found = resizes(&large, COUNT, &pods);
        assert_eq!((found.now.len(), found.has_pods_of("s")), (1, true));
        annotate(&mut pods[MAX_RESIZED_PODS], &found.now[0].members_when_done());
        assert!(!resizes(&large, COUNT, &pods).has_pods_of("s"));
    }

    #[test]
    fn what_admission_refuses_restarts_no_pod() {
        let error = |kind| Error {
            verb: "patch",
            object_kind: "Pod".into(),
            resource: "pods/resize".into(),
            name: "s-0".into(),
            kind,
        };
        let words = "exceeded quota: few, requested: limits.memory=1Gi";
        assert!(!is_refusal(&error(ErrorKind::Refused(Some(words.into())))));
        assert!(is_refusal(&error(ErrorKind::Refused(Some(
            "spec (FieldValueInvalid)".into()
        )))));
        for kind in [ErrorKind::Refused(None), ErrorKind::Forbidden] {
            assert!(!is_refusal(&error(kind)), "admission, or a missing permission");
        }
    }
}
