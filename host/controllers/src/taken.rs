//! Names that somebody else's objects have. A controller asks before it makes objects: server-side apply would take over whatever has the name,
//! and give it an owner with which it is deleted.

use crate::client::{Cluster, Error, resource};
use boson_deployment::labels;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use serde_json::Value;
use std::collections::BTreeMap;

/// Objects that stand in the way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Of somebody who keeps them: what they are and whose.
    pub foreign: Vec<String>,
    /// On their way out, by themselves.
    pub leaving: Vec<String>,
}

/// Whose an object is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The owner's, or nobody's that the owner's deployment once made: its owner was deleted without it.
    Ours,
    /// Deleted, or about to go with an owner of the same name that is gone.
    Leaving,
    /// Somebody else's: kind and name, or that nobody is known.
    Other(String),
}

// === impl Taken ===

impl Taken {
    /// Which of these objects, that `owner` does not have yet, exist as somebody else's. One list of each kind, of what is around the content.
    ///
    /// # Errors
    /// A call that failed.
    pub(crate) async fn find<'o>(
        cluster: &Cluster,
        namespace: &str,
        objects: impl Iterator<Item = &'o Value>,
        owner: &OwnerReference,
    ) -> Result<Self, Error> {
        let mut kinds: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
        for object in objects {
            let text = |key: &str| object[key].as_str().unwrap_or_default();
            kinds
                .entry((text("apiVersion"), text("kind")))
                .or_default()
                .push(object);
        }
        let mut taken = Self::default();
        for ((api_version, kind), objects) in kinds {
            let there = cluster.all_metadata(&resource(api_version, kind), namespace).await?;
            for object in objects {
                let name = object["metadata"]["name"].as_str();
                if let Some(found) = there.iter().find(|found| found.name.as_deref() == name) {
                    let deployment = object["metadata"]["labels"][labels::DEPLOYMENT_NAME].as_str();
                    taken.add(kind, found, whose(found, owner, deployment.unwrap_or_default()));
                }
            }
        }
        Ok(taken)
    }

    fn add(&mut self, kind: &str, found: &ObjectMeta, whose: Whose) {
        let name = found.name.as_deref().unwrap_or_default();
        match whose {
            Whose::Ours => {}
            Whose::Leaving => self.leaving.push(format!("{kind} '{name}'")),
            Whose::Other(other) => self.foreign.push(format!("{kind} '{name}' ({other})")),
        }
    }

    /// What to say of those that stay.
    pub(crate) fn complaint(&self) -> Option<String> {
        (!self.foreign.is_empty()).then(|| format!("there is already {}", self.foreign.join(", ")))
    }
}

/// Whose an object is, seen by `owner`, who makes objects of this deployment.
pub(crate) fn whose(found: &ObjectMeta, owner: &OwnerReference, deployment: &str) -> Whose {
    if found.deletion_timestamp.is_some() {
        return Whose::Leaving;
    }
    let mut owners = found.owner_references.iter().flatten();
    if let Some(other) = owners.next() {
        return match other {
            _ if other.uid == owner.uid || owners.any(|other| other.uid == owner.uid) => Whose::Ours,
            _ if other.kind == owner.kind && other.name == owner.name => Whose::Leaving,
            other => Whose::Other(format!("of {} '{}'", other.kind, other.name)),
        };
    }
    let label = |key: &str| {
        found
            .labels
            .as_ref()
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
    };
    // Secrets between the steps of a conversion have a type instead of a manager.
    let is_boson = label(MANAGED_BY) == Some(MANAGER) || label(labels::SECRET_TYPE).is_some();
    match is_boson && label(labels::DEPLOYMENT_NAME) == Some(deployment) {
        true => Whose::Ours,
        false => Whose::Other("made by somebody else".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

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
    fn only_what_is_ours_or_was_left_behind_by_us_is_taken() {
        let us = owner("BOSHDeployment", "d", "1");
        let of = |found: ObjectMeta| whose(&found, &us, "d");
        let other = |text: &str| Whose::Other(text.into());
        assert_eq!(of(meta(vec![us.clone()], &[])), Whose::Ours);
        assert_eq!(of(meta(vec![owner("Node", "n", "9"), us.clone()], &[])), Whose::Ours);
        assert_eq!(of(meta(vec![], &[])), other("made by somebody else"));
        let left = [(MANAGED_BY, MANAGER), (labels::DEPLOYMENT_NAME, "d")];
        assert_eq!(of(meta(vec![], &left)), Whose::Ours);
        assert_eq!(of(meta(vec![], &left[1..])), other("made by somebody else"));
        let neighbor = owner("BOSHDeployment", "e", "2");
        assert_eq!(of(meta(vec![neighbor], &left)), other("of BOSHDeployment 'e'"));
        assert_eq!(of(meta(vec![owner("BOSHDeployment", "d", "0")], &left)), Whose::Leaving);
        let going = ObjectMeta {
            deletion_timestamp: Some(Time(Timestamp::UNIX_EPOCH)),
            ..meta(vec![], &[])
        };
        assert_eq!(of(going), Whose::Leaving);
    }
}
