//! Whether the generated values are retained when the deployment is deleted. Its claims stay, and their data is useless
//! without the values. Pure.
//!
//! # Guarantees
//! A claim is created only after every generated value of the deployment was marked as retained and has no owner. So
//! values survive even if no operator runs when the deployment is deleted, and no finalizer delays the deletion of a
//! deployment or a namespace.
//!
//! # Assumptions
//! Claims carry the deployment's label, as those of instance groups do.

use crate::deployment::plan::object;
use boson_api::QuarksSecret;
use boson_api::deployment::Retain;
use boson_api::secret::ReclaimPolicy;
use boson_cluster::client::AnyObject;
use boson_document::Tree;
use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};

/// The keys that request a persistent disk for an instance group.
const DISK_KEYS: [&str; 3] = ["persistent_disk", "persistent_disk_type", "persistent_disk_pool"];

/// What to do with generated values.
#[derive(Debug, Default)]
pub struct Retention {
    /// QuarksSecrets that the manifest no longer has and that still have another policy.
    pub removed: Vec<QuarksSecret>,
    /// Whether values have yet to be marked as retained, before anything else is written.
    pub is_first: bool,
}

/// Decides the policy, now that all objects are known, and sets it in the wanted QuarksSecrets. `has_claims`: whether
/// claims exist; it counts only if [`needs_claims`].
pub fn decide(wanted: &mut [Value], live: &[Value], retain: Retain, has_claims: bool) -> Retention {
    // Wanted ones count, too: live may be empty because a deleted deployment of this name was just garbage-collected,
    // and a QuarksSecret that is created again without the policy would take over the retained Secret and delete it
    // later.
    if !live.iter().chain(&*wanted).any(is_secret) {
        return Retention::default();
    }
    let policy = policy_for(retain, has_claims || asks_for_claims(live.iter().chain(&*wanted)));
    set_policy(wanted, policy);
    let others = with_other_policy(live, policy);
    let is_removed = |other: &&Value| !wanted.iter().any(|one| is_secret(one) && one.name() == other.name());
    let removed = others.iter().filter(is_removed).cloned();
    Retention {
        removed: removed.filter_map(|one| serde_json::from_value(one).ok()).collect(),
        is_first: policy == ReclaimPolicy::Retain && !others.is_empty(),
    }
}

/// Whether the policy depends on claims that may exist.
pub fn needs_claims(wanted: &[Value], live: &[Value], retain: Retain) -> bool {
    let has_secrets = live.iter().chain(wanted).any(is_secret);
    retain == Retain::WithClaims && has_secrets && !asks_for_claims(live.iter().chain(wanted))
}

/// Whether a claim outlives the deployment. One with an owner, such as the ephemeral volume of a pod, is deleted with
/// it.
pub(crate) fn outlives_deployment(claim: &ObjectMeta) -> bool {
    claim.deletion_timestamp.is_none() && claim.owner_references.iter().flatten().next().is_none()
}

pub fn policy_for(retain: Retain, holds_data: bool) -> ReclaimPolicy {
    match retain {
        Retain::Always => ReclaimPolicy::Retain,
        Retain::WithClaims if holds_data => ReclaimPolicy::Retain,
        Retain::WithClaims | Retain::Never => ReclaimPolicy::Delete,
    }
}

/// The policy of the existing QuarksSecrets, if any: a variable that is added gets the same.
pub fn known_policy(retain: Retain, live: &[Value]) -> Option<ReclaimPolicy> {
    let is_open = retain == Retain::WithClaims && live.is_empty();
    let is_retained = live.iter().any(|one| policy(one) == ReclaimPolicy::Retain);
    (!is_open).then(|| policy_for(retain, is_retained))
}

fn policy(secret: &Value) -> ReclaimPolicy {
    ReclaimPolicy::deserialize(&secret["spec"]["reclaimPolicy"]).unwrap_or_default()
}

/// Sets the policy of all QuarksSecrets among these.
pub fn set_policy(objects: &mut [Value], policy: ReclaimPolicy) {
    for object in objects.iter_mut().filter(|object| is_secret(object)) {
        object["spec"]["reclaimPolicy"] = json!(policy);
    }
}

/// The QuarksSecrets with another policy.
fn with_other_policy(live: &[Value], wanted: ReclaimPolicy) -> Vec<Value> {
    let secrets = live.iter().filter(|object| is_secret(object) && !object.is_going());
    secrets.filter(|object| policy(object) != wanted).cloned().collect()
}

pub fn is_secret(object: &Value) -> bool {
    object.kind() == Some(object::SECRET)
}

/// Whether a manifest requests a disk. Plugins and agent settings may request one, too.
pub fn asks_for_disks(manifest: &Tree) -> bool {
    let groups = manifest.items("instance_groups").iter();
    let mut keys = groups.flat_map(|group| DISK_KEYS.iter().filter_map(|key| group.get(key)));
    keys.any(|value| value.as_i64() != Some(0) && *value != Tree::Null)
}

/// Whether claims are among the objects, or will be created for them. Live ones count, too: a group that is held back
/// is not among the wanted objects, and may create its first claim at any time.
fn asks_for_claims<'o>(objects: impl IntoIterator<Item = &'o Value>) -> bool {
    let has_templates = |templates: &Value| templates.as_array().is_some_and(|templates| !templates.is_empty());
    objects.into_iter().any(|object| match object.kind() {
        Some("PersistentVolumeClaim") => true,
        Some("StatefulSet") => has_templates(&object["spec"]["volumeClaimTemplates"]),
        Some(object::STATEFUL_SET) => has_templates(&object["spec"]["template"]["spec"]["volumeClaimTemplates"]),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    fn secret(name: &str, policy: Option<&str>) -> Value {
        let mut secret = json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksSecret",
            "metadata": {"name": name}, "spec": {"type": "password", "secretName": name}});
        if let Some(policy) = policy {
            secret["spec"]["reclaimPolicy"] = policy.into();
        }
        secret
    }

    #[test]
    fn claims_decide_unless_the_specification_does() {
        use ReclaimPolicy::{Delete, Retain as Keep};
        for (retain, with, without) in [
            (Retain::WithClaims, Keep, Delete),
            (Retain::Always, Keep, Keep),
            (Retain::Never, Delete, Delete),
        ] {
            assert_eq!(
                (policy_for(retain, true), policy_for(retain, false)),
                (with, without),
                "{retain:?}"
            );
        }
    }

    #[test]
    fn an_added_variable_gets_the_policy_of_the_others_and_the_first_are_guessed() {
        use ReclaimPolicy::{Delete, Retain as Keep};
        let live = [secret("a", Some("Delete")), secret("b", Some("Retain"))];
        assert_eq!(
            known_policy(Retain::WithClaims, &live),
            Some(Keep),
            "an earlier write may have been interrupted"
        );
        assert_eq!(known_policy(Retain::WithClaims, &live[..1]), Some(Delete));
        // An operator that knew no policy.
        assert_eq!(known_policy(Retain::WithClaims, &[secret("a", None)]), Some(Delete));
        assert_eq!(known_policy(Retain::WithClaims, &[]), None);
        assert_eq!(known_policy(Retain::Never, &live), Some(Delete));
        assert_eq!(known_policy(Retain::Always, &[]), Some(Keep));
    }

    #[test]
    fn disks_in_a_manifest_and_claims_among_objects_are_found() {
        let asks = |group: &str| asks_for_disks(&parse(&format!(r#"{{"instance_groups": [{{}}, {group}]}}"#)).unwrap());
        assert!(asks(r#"{"persistent_disk": 1024}"#) && asks(r#"{"persistent_disk_type": "large"}"#));
        assert!(!asks(r#"{"persistent_disk": 0}"#) && !asks(r#"{"name": "a"}"#));
        let templates = json!([{"metadata": {"name": "c"}}]);
        let group = |templates: &Value| json!({"kind": "QuarksStatefulSet", "spec": {"template": {"spec": {"volumeClaimTemplates": templates}}}});
        assert!(asks_for_claims(&[secret("a", None), group(&templates)]));
        assert!(asks_for_claims(&[json!({"kind": "PersistentVolumeClaim"})]));
        assert!(asks_for_claims(&[
            json!({"kind": "StatefulSet", "spec": {"volumeClaimTemplates": templates}})
        ]));
        assert!(!asks_for_claims(&[
            secret("a", None),
            group(&json!([])),
            group(&Value::Null)
        ]));
    }

    #[test]
    fn only_what_has_another_policy_is_written() {
        let mut live = vec![
            secret("a", Some("Retain")),
            secret("b", Some("Delete")),
            secret("c", None),
            json!({"kind": "Service"}),
        ];
        let names = |live: &[Value], policy| {
            let others = with_other_policy(live, policy).into_iter();
            others.map(|one| one["metadata"]["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&live, ReclaimPolicy::Retain), ["b", "c"]);
        assert_eq!(names(&live, ReclaimPolicy::Delete), ["a"]);
        set_policy(&mut live, ReclaimPolicy::Retain);
        assert!(names(&live, ReclaimPolicy::Retain).is_empty() && live[3] == json!({"kind": "Service"}));
    }

    #[test]
    fn values_are_retained_before_anything_else_is_written() {
        let service = json!({"kind": "Service", "metadata": {"name": "s"}});
        let live = [secret("a", Some("Delete")), secret("old", Some("Delete"))];
        let of = |retain, has_claims| {
            let mut wanted = vec![secret("a", None), service.clone()];
            let retention = decide(&mut wanted, &live, retain, has_claims);
            (retention.is_first, wanted[0]["spec"]["reclaimPolicy"].clone())
        };
        assert_eq!(of(Retain::WithClaims, true), (true, "Retain".into()));
        assert_eq!(of(Retain::WithClaims, false), (false, "Delete".into()));
        assert_eq!(of(Retain::Always, false), (true, "Retain".into()));
        let kept = [secret("a", Some("Retain"))];
        let again = decide(&mut [secret("a", None)], &kept, Retain::Always, false);
        assert!(!again.is_first && again.removed.is_empty());
        let free = decide(&mut [secret("b", None)], &kept, Retain::Never, false);
        assert!(!free.is_first, "they are released last");
        assert_eq!(free.removed[0].metadata.name.as_deref(), Some("a"));
    }

    #[test]
    fn claims_are_listed_only_if_they_decide() {
        let secrets = [secret("a", None)];
        let claim = [json!({"kind": "PersistentVolumeClaim"})];
        assert!(needs_claims(&secrets, &[], Retain::WithClaims) && needs_claims(&[], &secrets, Retain::WithClaims));
        assert!(!needs_claims(&secrets, &[], Retain::Never) && !needs_claims(&secrets, &[], Retain::Always));
        assert!(!needs_claims(&secrets, &claim, Retain::WithClaims) && !needs_claims(&[], &[], Retain::WithClaims));
    }

    #[test]
    fn a_claim_with_an_owner_does_not_stay() {
        let mut claim = ObjectMeta::default();
        assert!(outlives_deployment(&claim));
        claim.owner_references = Some(vec![]);
        assert!(outlives_deployment(&claim));
        claim.owner_references = Some(vec![Default::default()]);
        assert!(!outlives_deployment(&claim));
    }
}
