//! Decides which Secrets to read, and which workloads to roll because the content of a link has changed. Pure.

use super::consumed::{Consumed, LinkName};
use super::digest::DigestKey;
use super::found::provided_link;
use super::memory::{Contents, Known, Settled};
use super::stores::PodMeta;
use boson_cluster::objects::annotation;
use boson_manifest::labels::LINKS_DIGEST;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The controller of a pod, or a pod that stands alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Workload {
    pub kind: String,
    pub name: String,
    pub uid: String,
}

pub(super) struct Observed {
    /// The pods that consume links of the deployment.
    pub pods: Vec<Arc<PodMeta>>,
    /// The links, and what was done about their pods.
    pub known: Known,
    pub key: DigestKey,
}

/// The workloads to roll.
#[derive(Debug)]
pub(super) struct Plan {
    pub due: Vec<Outdated>,
    /// The others with outdated pods: everything was done for them.
    pub settled: Settled,
}

/// Pods of one workload that run with another content of their links than the present one.
#[derive(Clone, Debug)]
pub(super) struct Outdated {
    pub workload: Workload,
    /// One of the pods.
    pub pod: Arc<PodMeta>,
    pub digest: String,
}

// === impl Workload ===

impl Workload {
    /// Whether the object of its kind and name with this metadata is this one.
    pub fn is_same(&self, meta: &ObjectMeta) -> bool {
        meta.uid.as_ref() == Some(&self.uid)
    }

    /// The Deployment of this ReplicaSet. `meta`: the metadata of the ReplicaSet of its name.
    pub fn deployment(&self, meta: &ObjectMeta) -> Option<Self> {
        owner(meta).filter(|owner| self.is_same(meta) && owner.kind == "Deployment")
    }
}

pub(super) fn plan(deployment: &str, observed: &Observed) -> Plan {
    let Known { contents, settled, .. } = &observed.known;
    let outdated = outdated_workloads(&observed.pods, deployment, contents, &observed.key);
    let mut settled = settled.clone();
    let due = due_workloads(outdated, &mut settled);
    Plan { due, settled }
}

/// The links that these pods ask for.
pub(super) fn wanted_links(pods: &[Arc<PodMeta>], deployment: &str) -> BTreeSet<LinkName> {
    let consumed = pods.iter().filter_map(|pod| consumed_links(&pod.metadata, deployment));
    consumed.flat_map(|consumed| consumed.links).collect()
}

/// The links whose Secret has to be read: those that are not known in the present version. Forgets the content of links
/// that nobody asks for, or that do not exist. `secret`: the metadata of the Secret of a link.
pub(super) fn unread_links(
    wanted: &BTreeSet<LinkName>,
    deployment: &str,
    contents: &mut Contents,
    secret: impl Fn(&LinkName) -> Option<ObjectMeta>,
) -> Vec<LinkName> {
    contents.retain(|link, _| wanted.contains(link));
    let mut unread = Vec::new();
    for link in wanted {
        match secret(link).filter(|meta| provided_link(meta, deployment).as_ref() == Some(link)) {
            None => drop(contents.remove(link)),
            Some(meta) => {
                let known = contents.get(link).map(|content| content.version.as_str());
                if known != meta.resource_version.as_deref() {
                    unread.push(link.clone());
                }
            }
        }
    }
    unread
}

/// The pods that run with another content of their links than the present one, by their workload. Pods that are about
/// to end do not count.
fn outdated_workloads(pods: &[Arc<PodMeta>], deployment: &str, links: &Contents, key: &DigestKey) -> Vec<Outdated> {
    let mut found: BTreeMap<String, Outdated> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
        let consumed = consumed_links(&pod.metadata, deployment);
        let digest = consumed.and_then(|consumed| digest(&consumed, links, key));
        let Some((digest, workload)) = digest.zip(workload(&pod.metadata)) else {
            continue;
        };
        if recorded_digest(&pod.metadata) == Some(digest.as_str()) {
            continue;
        }
        found.entry(workload.uid.clone()).or_insert_with(|| Outdated {
            workload,
            pod: pod.clone(),
            digest,
        });
    }
    found.into_values().collect()
}

/// Those that nothing was done about since the content changed. Forgets workloads without outdated pods.
fn due_workloads(mut outdated: Vec<Outdated>, settled: &mut Settled) -> Vec<Outdated> {
    settled.retain(|uid, digest| {
        let mut outdated = outdated.iter();
        outdated.any(|one| one.workload.uid == *uid && one.digest == *digest)
    });
    outdated.retain(|one| !settled.contains_key(&one.workload.uid));
    outdated
}

pub(super) fn workload(pod: &ObjectMeta) -> Option<Workload> {
    owner(pod).or_else(|| {
        Some(Workload {
            kind: "Pod".into(),
            name: pod.name.clone()?,
            uid: pod.uid.clone()?,
        })
    })
}

/// The controller of an object; none if it stands alone.
fn owner(meta: &ObjectMeta) -> Option<Workload> {
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(Workload {
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

/// The members to merge into a workload with outdated pods, so that these are replaced. None: it rolls already, or its
/// template asks for no link of this deployment that exists: another change is about to replace its pods. `template`:
/// the metadata of its pod template.
pub(super) fn roll_patch(template: &ObjectMeta, deployment: &str, links: &Contents, key: &DigestKey) -> Option<Value> {
    let digest = digest(&consumed_links(template, deployment)?, links, key)?;
    if recorded_digest(template) == Some(digest.as_str()) {
        return None;
    }
    Some(json!({"spec": {"template": {"metadata": {"annotations": {LINKS_DIGEST: digest}}}}}))
}

/// The links of this deployment that the annotations ask for.
fn consumed_links(meta: &ObjectMeta, deployment: &str) -> Option<Consumed> {
    let consumed = Consumed::of(meta.annotations.as_ref()).ok().flatten()?;
    (consumed.deployment == deployment).then_some(consumed)
}

/// The present digest of these links; none if one of them does not exist.
fn digest(consumed: &Consumed, links: &Contents, key: &DigestKey) -> Option<String> {
    let all = consumed.links.iter().map(|link| Some(links.get(link)?.digest));
    key.digest(all.collect::<Option<Vec<_>>>()?)
}

fn recorded_digest(meta: &ObjectMeta) -> Option<&str> {
    annotation(meta, LINKS_DIGEST)
}

#[cfg(test)]
mod tests {
    use super::super::memory::Content;
    use super::*;
    use boson_manifest::labels::{API_VERSION, CONSUMES, DEPLOYMENT, ENTANGLEMENT, LINK};
    use std::cell::Cell;

    fn link(name: &str) -> LinkName {
        LinkName {
            kind: "t".into(),
            name: name.into(),
        }
    }

    fn content(version: &str, digest: u8) -> Content {
        Content {
            version: version.into(),
            digest: [digest; 32],
        }
    }

    fn contents(digest: u8) -> Contents {
        [(link("a"), content("1", digest))].into()
    }

    fn key() -> DigestKey {
        let key = DigestKey::default();
        key.set(Some("k".into()));
        key
    }

    fn meta(name: &str, digest: Option<&str>) -> Value {
        let mut annotations = json!({DEPLOYMENT: "cf", CONSUMES: format!(r#"[{{"name":"{name}","type":"t"}}]"#)});
        if let Some(digest) = digest {
            annotations[LINKS_DIGEST] = digest.into();
        }
        json!({"name": "p", "uid": "p", "annotations": annotations})
    }

    fn pod(name: &str, digest: Option<&str>) -> Arc<PodMeta> {
        Arc::new(serde_json::from_value(json!({"metadata": meta(name, digest)})).unwrap())
    }

    /// The pod with this number of one of the workloads.
    fn of_workload(nth: usize, workloads: usize) -> Arc<PodMeta> {
        let mut meta = meta("a", Some(&now(1)));
        meta["uid"] = format!("pod-{nth}").into();
        let name = format!("w-{}", nth % workloads);
        meta["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": true}]);
        Arc::new(serde_json::from_value(json!({"metadata": meta})).unwrap())
    }

    fn now(digest: u8) -> String {
        key().digest([contents(digest)[&link("a")].digest]).unwrap()
    }

    fn secret(link: &LinkName, version: &str) -> ObjectMeta {
        let value = json!({
            "name": "s", "resourceVersion": version, "labels": {ENTANGLEMENT: "true"},
            "annotations": {LINK: json!({"name": link.name, "type": link.kind}).to_string()},
            "ownerReferences": [{"apiVersion": API_VERSION, "kind": "BOSHDeployment", "name": "cf", "uid": "u"}],
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn pods_with_another_content_are_outdated_unless_they_end_or_the_link_is_missing() {
        let (old, new) = (now(1), now(2));
        let of = |pod: Arc<PodMeta>| outdated_workloads(&[pod], "cf", &contents(2), &key()).len();
        assert_eq!(of(pod("a", Some(&old))), 1);
        assert_eq!(of(pod("a", None)), 1);
        assert_eq!(of(pod("a", Some(&new))), 0);
        assert_eq!(of(pod("gone", Some(&old))), 0);
        let mut ending = meta("a", Some(&old));
        ending["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(
            of(Arc::new(serde_json::from_value(json!({"metadata": ending})).unwrap())),
            0
        );
        let all = [pod("a", Some(&old))];
        assert_eq!(outdated_workloads(&all, "other", &contents(2), &key()).len(), 0);
        assert_eq!(
            outdated_workloads(&all, "cf", &contents(2), &DigestKey::default()).len(),
            0
        );
        assert_eq!(
            wanted_links(&[pod("a", None), pod("b", None)], "cf"),
            [link("a"), link("b")].into()
        );
    }

    #[test]
    fn a_thousand_events_of_64_workloads_cost_one_read_and_one_roll_each() {
        let pods: Vec<_> = (0..1000).map(|nth| of_workload(nth, 64)).collect();
        let (mut known, mut settled) = (Contents::new(), Settled::new());
        let (mut reads, mut rolls) = (0, 0);
        for _ in 0..1000 {
            let wanted = wanted_links(&pods, "cf");
            for link in unread_links(&wanted, "cf", &mut known, |link| Some(secret(link, "7"))) {
                reads += 1;
                known.insert(link, content("7", 2));
            }
            for one in due_workloads(outdated_workloads(&pods, "cf", &known, &key()), &mut settled) {
                rolls += 1;
                settled.insert(one.workload.uid, one.digest);
            }
        }
        assert_eq!((reads, rolls), (1, 64));
        // All pods were replaced: nothing is remembered.
        assert!(due_workloads(Vec::new(), &mut settled).is_empty() && settled.is_empty());
    }

    #[test]
    fn a_replica_set_that_was_created_again_does_not_tell_the_deployment_of_the_one_before() {
        let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": true});
        let meta = |uid: &str| -> ObjectMeta {
            serde_json::from_value(json!({"name": "r", "uid": uid, "ownerReferences": [owner]})).unwrap()
        };
        let set = Workload {
            kind: "ReplicaSet".into(),
            name: "r".into(),
            uid: "old".into(),
        };
        assert_eq!(set.deployment(&meta("old")).unwrap().name, "d");
        assert_eq!(set.deployment(&meta("new")), None);
    }

    #[test]
    fn only_a_secret_that_has_changed_is_read() {
        let wanted: BTreeSet<LinkName> = [link("a"), link("b"), link("none"), link("foreign")].into();
        let version = Cell::new("1");
        let all = |of: &LinkName| match of.name.as_str() {
            "none" => None,
            "foreign" => Some(secret(&link("another"), "1")),
            "b" => Some(secret(of, version.get())),
            _ => Some(secret(of, "1")),
        };
        let mut known = Contents::new();
        assert_eq!(unread_links(&wanted, "cf", &mut known, all), [link("a"), link("b")]);
        known.extend([(link("a"), content("1", 1)), (link("b"), content("1", 1))]);
        known.insert(link("none"), content("1", 1));
        known.insert(link("unwanted"), content("1", 1));
        assert_eq!(unread_links(&wanted, "cf", &mut known, all), []);
        assert_eq!(known.len(), 2, "of what is gone, or nobody asks for, nothing remains");
        version.set("2");
        assert_eq!(unread_links(&wanted, "cf", &mut known, all), [link("b")]);
    }

    #[test]
    fn a_new_content_is_due_again() {
        let pods = [of_workload(0, 1)];
        let mut settled = Settled::from([("w-0".to_string(), now(2))]);
        assert!(due_workloads(outdated_workloads(&pods, "cf", &contents(2), &key()), &mut settled).is_empty());
        assert_eq!(
            due_workloads(outdated_workloads(&pods, "cf", &contents(3), &key()), &mut settled).len(),
            1
        );
        assert!(settled.is_empty());
    }

    #[test]
    fn a_workload_rolls_once_for_a_content() {
        let patch = |template: Value| {
            let template: ObjectMeta = serde_json::from_value(template).unwrap();
            roll_patch(&template, "cf", &contents(2), &key())
        };
        let members = patch(meta("a", Some(&now(1)))).unwrap();
        assert_eq!(
            members["spec"]["template"]["metadata"]["annotations"],
            json!({LINKS_DIGEST: now(2)})
        );
        assert_eq!(patch(meta("a", Some(&now(2)))), None);
        assert_eq!(patch(meta("gone", None)), None);
        assert_eq!(
            patch(json!({"name": "a user's"})),
            None,
            "a workload that the webhook has not marked is not rolled"
        );
    }
}
