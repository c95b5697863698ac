//! The objects that concern one deployment: what it owns, what it refers to, the values of its variables. Pure.

use super::{Digest, Place};
use crate::client::written::Written;
use boson_manifest::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// The only kind that belongs to a deployment by label: claims outlive their deployment, so they have no owner.
pub(super) const CLAIM: &str = "PersistentVolumeClaim";

/// Selects the objects that concern one deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Namespace of the deployment.
    pub namespace: String,
    /// UID of the deployment.
    pub uid: String,
    /// Value of the label that its objects have.
    pub label: String,
    /// What it refers to: kind and name.
    pub refers: Vec<(&'static str, String)>,
    /// Prefix of the Secrets of its variables.
    pub variables: String,
}

/// Digests of all objects that a selector matches, by kind and name.
pub type Digests = BTreeMap<(String, String), Digest>;

// === impl Selector ===

impl Selector {
    /// The digests after these writes.
    pub fn after(&self, mut digests: Digests, written: &[Written]) -> Digests {
        for one in written {
            let key = (one.kind.clone(), one.name.clone());
            match &one.now {
                Some(meta) if self.holds(&one.kind, &one.name, &homes(&one.kind, meta)) => {
                    digests.insert(key, Digest::of(meta));
                }
                // An event, or another object that does not match.
                Some(_) => {}
                None => {
                    digests.remove(&key);
                }
            }
        }
        digests
    }

    /// Whether it matches the object at this place with these homes.
    pub fn matches(&self, place: &Place, homes: &[String]) -> bool {
        place.namespace == self.namespace && self.holds(place.kind, &place.name, homes)
    }

    fn holds(&self, kind: &str, name: &str, homes: &[String]) -> bool {
        homes.contains(&self.uid)
            || homes.contains(&claims(&self.namespace, &self.label))
            || self.refers.iter().any(|(of, to)| *of == kind && to == name)
            || (kind == "Secret" && name.starts_with(&self.variables))
    }
}

/// What an object belongs to.
pub(super) fn homes(kind: &str, meta: &ObjectMeta) -> Vec<String> {
    let owners = meta.owner_references.iter().flatten().map(|owner| owner.uid.clone());
    let label = meta
        .labels
        .as_ref()
        .and_then(|labels| labels.get(labels::DEPLOYMENT_NAME));
    let claim = label.filter(|_| kind == CLAIM);
    let claim = claim.map(|label| claims(meta.namespace.as_deref().unwrap_or_default(), label));
    owners.chain(claim).collect()
}

/// The home of a deployment's claims. No UID has a slash.
pub(super) fn claims(namespace: &str, label: &str) -> String {
    format!("{namespace}/{label}")
}
