//! Name conflicts. A controller checks for them before it creates objects: server-side apply would take over an
//! existing object of another owner, and add an owner reference with which it is deleted.

use crate::client::{AnyObject, Cluster, Error, Target};
use boson_manifest::labels;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use kube::core::ApiResource;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Objects of other owners: kind, name and owner.
    pub foreign: Vec<String>,
    /// Objects that are being deleted.
    pub leaving: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Owner {
    /// Ours, or without an owner but created by this deployment: its owner was deleted without it.
    Ours,
    /// Being deleted, or about to be deleted with an earlier owner of the same name.
    Leaving,
    /// Of another owner: its kind and name, if known.
    Other(String),
}

// === impl Conflicts ===

impl Conflicts {
    /// Which of these objects, that `owner` does not have yet, exist already. Lists the metadata of each kind once.
    ///
    /// # Errors
    /// A call that failed.
    pub async fn find<'o>(
        cluster: &Cluster,
        namespace: &str,
        objects: impl Iterator<Item = &'o Value>,
        owner: &OwnerReference,
    ) -> Result<Self, Error> {
        let mut conflicts = Self::default();
        for (resource, objects) in by_kind(objects)?.into_values() {
            let there = cluster.all_metadata(&resource, namespace).await?;
            for (name, object) in objects {
                if let Some(found) = there.iter().find(|found| found.name.as_deref() == Some(name)) {
                    // A QuarksStatefulSet of a user belongs to no deployment.
                    let deployment = object.label(labels::DEPLOYMENT_NAME).unwrap_or_default();
                    conflicts.add(&resource.kind, name, owner_of(found, owner, deployment));
                }
            }
        }
        Ok(conflicts)
    }

    fn add(&mut self, kind: &str, name: &str, owner: Owner) {
        match owner {
            Owner::Ours => {}
            Owner::Leaving => self.leaving.push(format!("{kind} '{name}'")),
            Owner::Other(other) => self.foreign.push(format!("{kind} '{name}' ({other})")),
        }
    }

    /// The error message about objects of other owners.
    pub fn message(&self) -> Option<String> {
        (!self.foreign.is_empty()).then(|| format!("there is already {}", self.foreign.join(", ")))
    }
}

/// Names and objects of each kind.
type ByKind<'o> = BTreeMap<String, (ApiResource, Vec<(&'o str, &'o Value)>)>;

fn by_kind<'o>(objects: impl Iterator<Item = &'o Value>) -> Result<ByKind<'o>, Error> {
    let mut kinds = ByKind::new();
    for object in objects {
        let Target { resource, name, .. } = object.target()?;
        let key = format!("{} {}", resource.api_version, resource.kind);
        let (_, named) = kinds.entry(key).or_insert_with(|| (resource, Vec::new()));
        named.push((name, object));
    }
    Ok(kinds)
}

/// The owner of an object, from the perspective of `owner`, which creates objects of this deployment.
pub fn owner_of(found: &ObjectMeta, owner: &OwnerReference, deployment: &str) -> Owner {
    if found.deletion_timestamp.is_some() {
        return Owner::Leaving;
    }
    let mut owners = found.owner_references.iter().flatten();
    if let Some(other) = owners.next() {
        return match other {
            _ if other.uid == owner.uid || owners.any(|other| other.uid == owner.uid) => Owner::Ours,
            _ if other.kind == owner.kind && other.name == owner.name => Owner::Leaving,
            other => Owner::Other(format!("of {} '{}'", other.kind, other.name)),
        };
    }
    let label = |key: &str| super::label(found, key);
    // Secrets between the steps of a conversion have a type instead of a manager.
    let is_boson = label(MANAGED_BY) == Some(MANAGER) || label(labels::SECRET_TYPE).is_some();
    if is_boson && label(labels::DEPLOYMENT_NAME) == Some(deployment) {
        Owner::Ours
    } else {
        Owner::Other("not owned by this deployment".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    fn owner(kind: &str, name: &str, uid: &str) -> OwnerReference {
        OwnerReference {
            kind: kind.into(),
            name: name.into(),
            uid: uid.into(),
            ..OwnerReference::default()
        }
    }

    fn meta(owners: Vec<OwnerReference>, labels: &[(&str, &str)]) -> ObjectMeta {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        ObjectMeta {
            name: Some("x".into()),
            owner_references: Some(owners),
            labels: Some(labels.collect()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn an_object_without_a_kind_is_a_defect_and_is_looked_up_nowhere() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "n"}});
        let flawed = json!({"apiVersion": "v1", "metadata": {"name": "a", "namespace": "n"}});
        assert_eq!(
            by_kind([&service, &service].into_iter()).unwrap()["v1 Service"].1.len(),
            2
        );
        let error = by_kind([&service, &flawed].into_iter()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Flawed("has no kind"));
    }

    #[test]
    fn only_our_own_objects_and_leftovers_are_taken_over() {
        let us = owner("BOSHDeployment", "d", "1");
        let of = |found: ObjectMeta| owner_of(&found, &us, "d");
        let other = |text: &str| Owner::Other(text.into());
        assert_eq!(of(meta(vec![us.clone()], &[])), Owner::Ours);
        assert_eq!(of(meta(vec![owner("Node", "n", "9"), us.clone()], &[])), Owner::Ours);
        assert_eq!(of(meta(vec![], &[])), other("not owned by this deployment"));
        let left = [(MANAGED_BY, MANAGER), (labels::DEPLOYMENT_NAME, "d")];
        assert_eq!(of(meta(vec![], &left)), Owner::Ours);
        assert_eq!(of(meta(vec![], &left[1..])), other("not owned by this deployment"));
        let neighbor = owner("BOSHDeployment", "e", "2");
        assert_eq!(of(meta(vec![neighbor], &left)), other("of BOSHDeployment 'e'"));
        assert_eq!(of(meta(vec![owner("BOSHDeployment", "d", "0")], &left)), Owner::Leaving);
        let going = ObjectMeta {
            deletion_timestamp: Some(Time(Timestamp::UNIX_EPOCH)),
            ..meta(vec![], &[])
        };
        assert_eq!(of(going), Owner::Leaving);
    }
}
