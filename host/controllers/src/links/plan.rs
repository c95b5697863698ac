//! Decides which workloads to roll because the content of a link has changed. Pure.

use super::consumed::{Consumed, LinkName};
use super::digest::DigestKey;
use super::found::Link;
use boson_manifest::labels::LINKS_DIGEST;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The links of a deployment that its consumers ask for, by name; those that do not exist are left out.
pub(super) type Links = BTreeMap<LinkName, Link>;

/// The owner of a pod: its kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub kind: String,
    pub name: String,
    pub uid: String,
}

/// What to do about a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Merge these members into it: its pods are replaced.
    Roll(Value),
    /// It rolls already.
    Rolls,
    /// Its template asks for no link of this deployment that exists: another change is about to replace its pods.
    Nothing,
}

/// The links that these pods ask for.
pub(super) fn wanted(pods: &[Pod], deployment: &str) -> BTreeSet<LinkName> {
    let consumed = pods.iter().filter_map(|pod| consumed(&pod.metadata, deployment));
    consumed.flat_map(|consumed| consumed.links).collect()
}

/// The pods that run with another content of their links than the present one. Pods that have ended, or are about to,
/// do not count.
pub(super) fn outdated<'p>(pods: &'p [Pod], deployment: &str, links: &Links, key: &DigestKey) -> Vec<&'p Pod> {
    let is_outdated = |pod: &&Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let has_ended = matches!(phase, Some("Succeeded" | "Failed")) || pod.metadata.deletion_timestamp.is_some();
        let consumed = consumed(&pod.metadata, deployment);
        let digest = consumed.and_then(|consumed| digest(&consumed, links, key));
        !has_ended && digest.is_some_and(|digest| recorded(&pod.metadata) != Some(&digest))
    };
    pods.iter().filter(is_outdated).collect()
}

/// The controller of an object; none if it stands alone.
pub(super) fn owner(meta: &ObjectMeta) -> Option<Owner> {
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some(Owner {
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

/// What to do about a workload with outdated pods. `template`: the metadata of its pod template.
pub(super) fn step(template: Option<&ObjectMeta>, deployment: &str, links: &Links, key: &DigestKey) -> Step {
    let Some(template) = template else { return Step::Nothing };
    let consumed = consumed(template, deployment);
    match consumed.and_then(|consumed| digest(&consumed, links, key)) {
        None => Step::Nothing,
        Some(digest) if recorded(template) == Some(&digest) => Step::Rolls,
        Some(digest) => {
            Step::Roll(json!({"spec": {"template": {"metadata": {"annotations": {LINKS_DIGEST: digest}}}}}))
        }
    }
}

/// The links of this deployment that the annotations ask for.
fn consumed(meta: &ObjectMeta, deployment: &str) -> Option<Consumed> {
    let consumed = Consumed::of(meta.annotations.as_ref()).ok().flatten()?;
    (consumed.deployment == deployment).then_some(consumed)
}

/// The present digest of these links; none if one of them does not exist.
fn digest(consumed: &Consumed, links: &Links, key: &DigestKey) -> Option<String> {
    let all = consumed.links.iter().map(|link| Some(links.get(link)?.content));
    key.digest(all.collect::<Option<Vec<_>>>()?)
}

fn recorded(meta: &ObjectMeta) -> Option<&String> {
    meta.annotations.as_ref()?.get(LINKS_DIGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_manifest::labels::{CONSUMES, DEPLOYMENT};

    fn link(name: &str) -> LinkName {
        LinkName {
            kind: "t".into(),
            name: name.into(),
        }
    }

    fn links(content: u8) -> Links {
        let mut one = Link::with_content([content; 32]);
        one.link = link("a");
        [(link("a"), one)].into()
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
        json!({"name": "p", "annotations": annotations})
    }

    fn pod(name: &str, digest: Option<&str>, phase: &str) -> Pod {
        serde_json::from_value(json!({"metadata": meta(name, digest), "status": {"phase": phase}})).unwrap()
    }

    fn now(content: u8) -> String {
        key().digest([links(content)[&link("a")].content]).unwrap()
    }

    #[test]
    fn pods_with_another_content_are_outdated_unless_they_have_ended_or_the_link_is_missing() {
        let (old, new) = (now(1), now(2));
        let of = |pod: Pod| outdated(&[pod], "cf", &links(2), &key()).len();
        assert_eq!(of(pod("a", Some(&old), "Running")), 1);
        assert_eq!(of(pod("a", Some(&old), "Pending")), 1);
        assert_eq!(of(pod("a", None, "Running")), 1);
        assert_eq!(of(pod("a", Some(&new), "Running")), 0);
        assert_eq!(of(pod("a", Some(&old), "Succeeded")), 0);
        assert_eq!(of(pod("gone", Some(&old), "Running")), 0);
        assert_eq!(
            outdated(&[pod("a", Some(&old), "Running")], "other", &links(2), &key()).len(),
            0
        );
        assert_eq!(
            outdated(
                &[pod("a", Some(&old), "Running")],
                "cf",
                &links(2),
                &DigestKey::default()
            )
            .len(),
            0
        );
        assert_eq!(
            wanted(&[pod("a", None, ""), pod("b", None, "")], "cf"),
            [link("a"), link("b")].into()
        );
    }

    #[test]
    fn a_workload_rolls_once_for_a_content() {
        let step = |template: Value| {
            let template: ObjectMeta = serde_json::from_value(template).unwrap();
            step(Some(&template), "cf", &links(2), &key())
        };
        let Step::Roll(members) = step(meta("a", Some(&now(1)))) else {
            unreachable!()
        };
        assert_eq!(
            members["spec"]["template"]["metadata"]["annotations"],
            json!({LINKS_DIGEST: now(2)})
        );
        assert_eq!(step(meta("a", Some(&now(2)))), Step::Rolls);
        assert_eq!(step(meta("gone", None)), Step::Nothing);
        assert_eq!(
            step(json!({"name": "a user's"})),
            Step::Nothing,
            "a workload that the webhook has not marked is not rolled"
        );
        assert_eq!(super::step(None, "cf", &links(2), &key()), Step::Nothing);
    }
}
