//! Labels that only a controller can give to pods: their ordinal, as the predecessor's webhook did, and the version of
//! the desired manifest from which their StatefulSet's version was made. In the template of a StatefulSet they would
//! differ between pods, or replace all pods at each change of the manifest. And labels and annotations of the template
//! that pods of an earlier one lack: tags of a manifest replace no pod.

use crate::stateful_set::live::{self, REVISION, is_observed, is_updated_in_place};
use crate::stateful_set::memory::{Key, is_labelled};
use crate::stateful_set::plan::Seen;
use crate::stateful_set::rollout::earlier_template::set_back_from;
use crate::stateful_set::{Context, MANAGER};
use boson_cluster::client::{Error, ErrorKind, Identity, pod_identity};
use boson_cluster::objects::{annotation, label};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::json;
use std::collections::BTreeMap;

/// A pod that lacks labels or annotations.
#[derive(Debug, PartialEq)]
struct UnlabelledPod {
    /// Its identity; nothing else of it is sent.
    pod: Pod,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// What pods of a StatefulSet lack.
#[derive(Debug, Default, PartialEq)]
struct MissingLabels {
    unlabelled: Vec<UnlabelledPod>,
    /// The revision of a pod is not known yet: decide again after the next change.
    again: bool,
}

// === impl Context ===

impl Context {
    /// Labels the pods of these StatefulSets that lack labels. Whether the next reconcile must look again, though no
    /// pod may change until then.
    pub(super) async fn label(&self, place: Identity<'_>, seen: &Seen, names: &[String]) -> Result<bool, Error> {
        let mut again = false;
        for name in names {
            if self.label_pods(place.namespace, seen, name).await? {
                self.labelled.mark_unlabelled(&Key::of(place), name);
                again = true;
            }
        }
        Ok(again)
    }

    async fn label_pods(&self, namespace: &str, seen: &Seen, name: &str) -> Result<bool, Error> {
        let pods: Vec<ObjectMeta> = match &seen.pods {
            Some(pods) => {
                let of_set = pods.iter().filter(|pod| live::is_pod_of(pod, name));
                of_set.map(|pod| pod.metadata.clone()).collect()
            }
            None => {
                let selector = format!("{}={name}", labels::STATEFUL_SET_NAME);
                self.cluster.list_metadata::<Pod>(namespace, &selector).await?
            }
        };
        let mut all = seen.live.sets.iter();
        let Some(set) = all.find(|one| one.metadata.name.as_deref() == Some(name)) else {
            return Ok(false);
        };
        let MissingLabels { unlabelled, again } = missing_labels(set, &pods);
        for one in unlabelled {
            let metadata = ObjectMeta {
                labels: Some(one.labels).filter(|labels| !labels.is_empty()),
                annotations: Some(one.annotations).filter(|annotations| !annotations.is_empty()),
                ..ObjectMeta::default()
            };
            let members = json!({ "metadata": metadata });
            match self.cluster.merge(MANAGER, &one.pod, members).await {
                Ok(_) => {}
                // Nothing else depends on these labels.
                Err(error) if error.kind == ErrorKind::Forbidden => tracing::warn!(%error, "pods get no labels"),
                // It was deleted, and is followed by another one.
                Err(error) if error.is_race() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(again)
    }
}

/// What pods of a StatefulSet lack. `pods`: all pods with its label.
fn missing_labels(set: &StatefulSet, pods: &[ObjectMeta]) -> MissingLabels {
    let mut missing = MissingLabels::default();
    // An earlier template has earlier tags.
    let is_wanted = set_back_from(set).is_none();
    for pod in pods.iter().filter(|pod| pod.deletion_timestamp.is_none()) {
        let template = set.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
        let template = template.filter(|template| is_wanted && has_revisions(template) && has_revisions(pod));
        let lacks = |of: fn(&ObjectMeta) -> Option<&BTreeMap<String, String>>| {
            let tags = template.and_then(of).into_iter().flatten();
            let lacks =
                tags.filter(|(key, value)| is_tag(key) && of(pod).and_then(|all| all.get(*key)) != Some(*value));
            lacks.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let annotations: BTreeMap<String, String> = lacks(|one| one.annotations.as_ref());
        let mut wanted: BTreeMap<String, String> = lacks(|one| one.labels.as_ref());
        if !is_labelled(pod) {
            wanted.extend(ordinal(pod).map(|ordinal| (labels::POD_ORDINAL.to_string(), ordinal.to_string())));
        }
        let version = set.labels().get(labels::DEPLOYMENT_VERSION).filter(|_| is_wanted);
        if let Some(version) = version.filter(|_| label(pod, labels::DEPLOYMENT_VERSION).is_none()) {
            match is_of_template(set, pod) {
                Some(true) => drop(wanted.insert(labels::DEPLOYMENT_VERSION.to_string(), version.clone())),
                // A pod of an earlier template, whose version is not known any more.
                Some(false) => {}
                None => missing.again = true,
            }
        }
        if !wanted.is_empty() || !annotations.is_empty() {
            missing.unlabelled.push(UnlabelledPod {
                pod: pod_identity(pod),
                labels: wanted,
                annotations,
            });
        }
    }
    missing
}

fn has_revisions(metadata: &ObjectMeta) -> bool {
    annotation(metadata, labels::INSTANCE_REVISIONS).is_some()
}

/// Whether a user can set it in a manifest. The others tell what a pod was made from, as that of `kubectl rollout
/// restart` does.
fn is_tag(key: &str) -> bool {
    !key.contains(labels::GROUP) && !key.starts_with("kubectl.kubernetes.io/")
}

/// Whether the pod was made from the present template of the StatefulSet. None: its controller has not seen that
/// template yet.
fn is_of_template(set: &StatefulSet, pod: &ObjectMeta) -> Option<bool> {
    if !is_updated_in_place(set) {
        return Some(true);
    }
    let newest = set.status.as_ref().and_then(|status| status.update_revision.as_deref());
    is_observed(set).then(|| label(pod, REVISION) == newest)
}

/// Kubernetes 1.28 and later set a label; the name ends in the ordinal in any case.
fn ordinal(pod: &ObjectMeta) -> Option<&str> {
    let name = pod.name.as_deref().and_then(|name| name.rsplit_once('-'));
    label(pod, labels::KUBERNETES_POD_INDEX).or(name.map(|(_, ordinal)| ordinal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn pod(name: &str, labels: &[(&str, &str)]) -> ObjectMeta {
        let labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        ObjectMeta {
            name: Some(name.into()),
            uid: Some(format!("uid of {name}")),
            labels: Some(labels.collect()),
            ..ObjectMeta::default()
        }
    }

    fn set(claims: Value) -> StatefulSet {
        let set = json!({
            "metadata": {"name": "s", "generation": 2, "labels": {labels::DEPLOYMENT_VERSION: "7"}},
            "spec": {"volumeClaimTemplates": claims},
            "status": {"replicas": 2, "observedGeneration": 2, "updateRevision": "new"}
        });
        serde_json::from_value(set).unwrap()
    }

    fn of(set: &StatefulSet, pods: &[ObjectMeta]) -> Vec<String> {
        let missing = missing_labels(set, pods);
        let unlabelled = missing.unlabelled.iter().map(|one| {
            let texts: Vec<&str> = one.labels.values().map(String::as_str).collect();
            format!("{} {}", one.pod.metadata.name.as_deref().unwrap(), texts.join(","))
        });
        let again = missing.again.then(|| "again".to_string());
        unlabelled.chain(again).collect()
    }

    #[test]
    fn a_new_pod_gets_both_labels_and_a_labelled_one_keeps_its_own() {
        let old = [(labels::POD_ORDINAL, "1"), (labels::DEPLOYMENT_VERSION, "3")];
        let pods = [
            pod("s-0", &[(labels::KUBERNETES_POD_INDEX, "0")]),
            pod("s-1", &old),
            pod("s-12", &[]),
        ];
        assert_eq!(of(&set(json!([])), &pods), ["s-0 7,0", "s-12 7,12"]);
        let mut going = pod("s-0", &[]);
        going.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
        ));
        assert_eq!(of(&set(json!([])), &[going]), [""; 0]);
        let missing = missing_labels(&set(json!([])), &pods);
        assert_eq!(missing.unlabelled[0].pod.metadata.uid.as_deref(), Some("uid of s-0"));
        assert_eq!(missing.unlabelled[0].pod.metadata.resource_version, None);
    }

    #[test]
    fn where_pods_roll_in_place_only_those_of_the_present_template_get_its_version() {
        let mut set = set(json!([{"metadata": {"name": "data"}}]));
        let pods = [pod("s-0", &[(REVISION, "old")]), pod("s-1", &[(REVISION, "new")])];
        assert_eq!(of(&set, &pods), ["s-0 0", "s-1 7,1"]);
        set.status.as_mut().unwrap().observed_generation = Some(1);
        assert_eq!(of(&set, &pods), ["s-0 0", "s-1 1", "again"]);
    }

    #[test]
    fn pods_of_an_earlier_template_get_the_tags_of_the_present_one() {
        let mut set = set(json!([]));
        let metadata = |tags: &[(&str, &str)]| {
            let tags = tags.iter().map(|(key, value)| (key.to_string(), value.to_string()));
            Some(tags.collect::<BTreeMap<_, _>>())
        };
        let revisions = (labels::INSTANCE_REVISIONS, "{}");
        let restarted = ("kubectl.kubernetes.io/restartedAt", "now");
        set.spec.as_mut().unwrap().template.metadata = Some(ObjectMeta {
            labels: metadata(&[("tier", "web")]),
            annotations: metadata(&[revisions, ("team", "blue"), (labels::RENDERED_AS, "v2"), restarted]),
            ..ObjectMeta::default()
        });
        let labelled = [(labels::POD_ORDINAL, "0"), (labels::DEPLOYMENT_VERSION, "7")];
        let mut old = pod("s-0", &labelled);
        old.annotations = metadata(&[revisions, ("team", "red"), (labels::RENDERED_AS, "v1")]);
        let missing = missing_labels(&set, &[old.clone(), pod("s-1", &labelled)]);
        assert_eq!(missing.unlabelled.len(), 1, "one of a user's set stays as it is");
        assert_eq!(Some(missing.unlabelled[0].labels.clone()), metadata(&[("tier", "web")]));
        assert_eq!(
            Some(missing.unlabelled[0].annotations.clone()),
            metadata(&[("team", "blue")])
        );
    }

    #[test]
    fn a_stateful_set_of_an_earlier_operator_has_no_version() {
        let mut set = set(json!([]));
        set.metadata.labels = None;
        assert_eq!(of(&set, &[pod("s-0", &[])]), ["s-0 0"]);
    }
}
