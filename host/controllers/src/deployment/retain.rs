//! Whether the generated values are retained when the deployment is deleted. Its claims stay, and their data is useless without the values.
//!
//! # Guarantees
//! A claim is created only after every generated value of the deployment was marked as retained and has no owner. So values survive even if no
//! operator runs when the deployment is deleted, and no finalizer delays the deletion of a deployment or a namespace.
//!
//! # Assumptions
//! Claims carry the deployment's label, as those of instance groups do.

use super::MANAGER;
use super::flow::Flow;
use super::stop::Stop;
use boson_api::QuarksSecret;
use boson_api::deployment::Retain;
use boson_api::secret::ReclaimPolicy;
use boson_cluster::client::Error;
use boson_cluster::objects;
use boson_document::Tree;
use boson_manifest::labels;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::ObjectMeta;
use serde_json::{Value, json};

/// The keys that request a persistent disk for an instance group.
const DISKS: [&str; 3] = ["persistent_disk", "persistent_disk_type", "persistent_disk_pool"];

// === impl Flow ===

impl Flow<'_> {
    /// The policy as far as it is known before the conversion: the one decided before, or a guess at first. [`Flow::retain`] decides. `live`: the
    /// existing QuarksSecrets.
    pub(super) async fn first_policy(&self, manifest: &Tree, live: &[Value]) -> Result<ReclaimPolicy, Error> {
        let retain = self.object.spec.retain();
        if let Some(policy) = known(retain, live) {
            return Ok(policy);
        }
        let holds_data = asks_for_disks(manifest) || self.has_claims().await?;
        Ok(decided(retain, holds_data))
    }

    /// Decides the policy, now that all objects are known, and sets it in the wanted QuarksSecrets. If values have yet to be retained, all else waits
    /// for that. Returns the QuarksSecrets that the manifest no longer has and that still have another policy.
    pub(super) async fn retain(&self, wanted: &mut [Value], live: &mut [Value]) -> Result<Vec<Value>, Stop> {
        // Wanted ones count, too: live may be empty because a deleted deployment of this name was just garbage-collected, and a QuarksSecret that is
        // created again without the policy would take over the retained Secret and delete it later.
        if !live.iter().chain(&*wanted).any(is_secret) {
            return Ok(Vec::new());
        }
        let retain = self.object.spec.retain();
        // A live group that is held back is not among the wanted objects, and may create its first claim at any time.
        let asks = asks_for_claims(wanted) || asks_for_claims(live);
        let holds_data = asks || (retain == Retain::WithClaims && self.has_claims().await?);
        let policy = decided(retain, holds_data);
        set(wanted, policy);
        let others = others(live, policy);
        let is_removed = |other: &&Value| !wanted.iter().any(|one| is_secret(one) && is_same(one, other));
        let removed: Vec<Value> = others.iter().filter(is_removed).cloned().collect();
        if policy == ReclaimPolicy::Delete || others.is_empty() {
            return Ok(removed);
        }
        let secrets = wanted.iter().filter(|object| is_secret(object)).cloned().collect();
        for object in &self.differences(secrets, live).await?.apply {
            self.write(object).await?;
        }
        self.follow(&removed, policy).await?;
        Err(Stop::Waiting("the generated values to be retained".into()))
    }

    /// Sets the policy of QuarksSecrets that the manifest no longer has.
    pub(super) async fn follow(&self, removed: &[Value], policy: ReclaimPolicy) -> Result<(), Error> {
        for object in removed {
            let Ok(object) = serde_json::from_value::<QuarksSecret>(object.clone()) else {
                continue;
            };
            self.note_write();
            let members = json!({"spec": {"reclaimPolicy": policy.as_str()}});
            self.context.cluster.merge(MANAGER, &object, members).await?;
        }
        Ok(())
    }

    /// Whether the deployment, or an earlier one of its name, has claims.
    async fn has_claims(&self) -> Result<bool, Error> {
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, self.names.deployment());
        let cluster = &self.context.cluster;
        let claims = cluster
            .list_metadata::<PersistentVolumeClaim>(self.namespace, &labels)
            .await?;
        Ok(claims.iter().any(stays))
    }
}

/// Whether a claim outlives the deployment. One with an owner, such as the ephemeral volume of a pod, is deleted with it.
pub(crate) fn stays(claim: &ObjectMeta) -> bool {
    claim.deletion_timestamp.is_none() && claim.owner_references.iter().flatten().next().is_none()
}

fn decided(retain: Retain, holds_data: bool) -> ReclaimPolicy {
    match retain {
        Retain::Always => ReclaimPolicy::Retain,
        Retain::WithClaims if holds_data => ReclaimPolicy::Retain,
        Retain::WithClaims | Retain::Never => ReclaimPolicy::Delete,
    }
}

/// The policy of the existing QuarksSecrets, if any: a variable that is added gets the same.
fn known(retain: Retain, live: &[Value]) -> Option<ReclaimPolicy> {
    match retain {
        Retain::Always | Retain::Never => Some(decided(retain, false)),
        Retain::WithClaims if live.is_empty() => None,
        Retain::WithClaims => Some(decided(
            retain,
            live.iter().any(|one| policy(one) == ReclaimPolicy::Retain),
        )),
    }
}

fn policy(secret: &Value) -> ReclaimPolicy {
    match secret["spec"]["reclaimPolicy"] == ReclaimPolicy::Retain.as_str() {
        true => ReclaimPolicy::Retain,
        false => ReclaimPolicy::Delete,
    }
}

/// Sets the policy of all QuarksSecrets among these.
pub(super) fn set(objects: &mut [Value], policy: ReclaimPolicy) {
    for object in objects.iter_mut().filter(|object| is_secret(object)) {
        object["spec"]["reclaimPolicy"] = policy.as_str().into();
    }
}

/// The QuarksSecrets with another policy.
fn others(live: &[Value], wanted: ReclaimPolicy) -> Vec<Value> {
    let secrets = live
        .iter()
        .filter(|object| is_secret(object) && !objects::is_going(object));
    secrets.filter(|object| policy(object) != wanted).cloned().collect()
}

fn is_secret(object: &Value) -> bool {
    object["kind"] == "QuarksSecret"
}

fn is_same(one: &Value, other: &Value) -> bool {
    one["metadata"]["name"] == other["metadata"]["name"]
}

/// Whether a manifest requests a disk. Plugins and agent settings may request one, too.
fn asks_for_disks(manifest: &Tree) -> bool {
    let groups = manifest.items("instance_groups").iter();
    let mut keys = groups.flat_map(|group| DISKS.iter().filter_map(|key| group.get(key)));
    keys.any(|value| value.as_i64() != Some(0) && *value != Tree::Null)
}

/// Whether claims are among the objects, or will be created for them.
fn asks_for_claims(objects: &[Value]) -> bool {
    let has_templates = |templates: &Value| templates.as_array().is_some_and(|templates| !templates.is_empty());
    objects.iter().any(|object| match object["kind"].as_str() {
        Some("PersistentVolumeClaim") => true,
        Some("StatefulSet") => has_templates(&object["spec"]["volumeClaimTemplates"]),
        Some("QuarksStatefulSet") => has_templates(&object["spec"]["template"]["spec"]["volumeClaimTemplates"]),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    fn secret(name: &str, policy: Option<&str>) -> Value {
        let mut secret = json!({"kind": "QuarksSecret", "metadata": {"name": name}, "spec": {"type": "password"}});
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
                (decided(retain, true), decided(retain, false)),
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
            known(Retain::WithClaims, &live),
            Some(Keep),
            "an earlier write may have been interrupted"
        );
        assert_eq!(known(Retain::WithClaims, &live[..1]), Some(Delete));
        // An operator that knew no policy.
        assert_eq!(known(Retain::WithClaims, &[secret("a", None)]), Some(Delete));
        assert_eq!(known(Retain::WithClaims, &[]), None);
        assert_eq!(known(Retain::Never, &live), Some(Delete));
        assert_eq!(known(Retain::Always, &[]), Some(Keep));
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
            let others = others(live, policy).into_iter();
            others.map(|one| one["metadata"]["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&live, ReclaimPolicy::Retain), ["b", "c"]);
        assert_eq!(names(&live, ReclaimPolicy::Delete), ["a"]);
        set(&mut live, ReclaimPolicy::Retain);
        assert!(names(&live, ReclaimPolicy::Retain).is_empty() && live[3] == json!({"kind": "Service"}));
    }

    #[test]
    fn a_claim_with_an_owner_does_not_stay() {
        let mut claim = ObjectMeta::default();
        assert!(stays(&claim));
        claim.owner_references = Some(vec![]);
        assert!(stays(&claim));
        claim.owner_references = Some(vec![Default::default()]);
        assert!(!stays(&claim));
    }
}
