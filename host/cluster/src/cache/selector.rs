//! The objects that concern one deployment: what it owns, what it refers to, the values of its variables. Pure.

use super::{ObjectDigest, Place};
use crate::client::written::Written;
use boson_manifest::labels;
use boson_pipeline::external;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::{BTreeMap, BTreeSet};

/// The only kind that belongs to a deployment by label: claims outlive their deployment, so they have no owner.
pub(super) const CLAIM_KIND: &str = "PersistentVolumeClaim";

/// The kind of instance groups.
const GROUP_KIND: &str = "QuarksStatefulSet";

/// The endpoints of Services. They belong to the deployments that their Service provides a link to.
pub(super) const SLICE_KIND: &str = "EndpointSlice";

/// Selects the objects that concern one deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    pub namespace: String,
    pub uid: String,
    /// Value of the label that its objects have.
    pub label: String,
    /// Its name: native objects that provide links to it have that in an annotation or a label.
    pub name: String,
    /// What it refers to: kind and name.
    pub refers: Vec<(&'static str, String)>,
    /// Prefixes of the Secrets of its variables, and of those with the links of other deployments.
    pub prefixes: Vec<String>,
}

/// Digests of all objects that a selector matches, by kind and name.
pub type Digests = BTreeMap<(String, String), ObjectDigest>;

// === impl Selector ===

impl Selector {
    /// The digests after these writes.
    pub fn after(&self, mut digests: Digests, written: &[Written]) -> Digests {
        for one in written {
            let key = (one.kind.clone(), one.name.clone());
            match &one.now {
                Some(meta) if self.holds(&one.kind, &one.name, &index_keys(&one.kind, meta)) => {
                    digests.insert(key, ObjectDigest::of(meta));
                    let same = meta.generation.map(ObjectDigest::of_generation);
                    let is_other = |active: &ObjectDigest| Some(*active) != same;
                    if one.kind == GROUP_KIND && digests.get(&active(&one.name)).is_some_and(is_other) {
                        digests.remove(&active(&one.name));
                    }
                }
                // An event, or another object that does not match.
                Some(_) => {}
                None => {
                    digests.remove(&key);
                    if one.kind == GROUP_KIND {
                        digests.remove(&active(&one.name));
                    }
                }
            }
        }
        digests
    }

    /// Whether it matches the object at this place with these index keys.
    pub fn matches(&self, place: &Place, index_keys: &[String]) -> bool {
        place.namespace == self.namespace && self.holds(place.kind, &place.name, index_keys)
    }

    /// The index key of its claims.
    pub(super) fn claims(&self) -> String {
        claims(&self.namespace, &self.label)
    }

    /// The index keys of the native objects that provide links to it.
    pub(super) fn links(&self) -> BTreeSet<String> {
        [&self.name, &self.label]
            .map(|value| links(&self.namespace, value))
            .into()
    }

    fn holds(&self, kind: &str, name: &str, index_keys: &[String]) -> bool {
        index_keys.contains(&self.uid)
            || index_keys.contains(&self.claims())
            || self.links().iter().any(|key| index_keys.contains(key))
            || self.refers.iter().any(|(of, to)| *of == kind && to == name)
            || (kind == "Secret" && self.prefixes.iter().any(|prefix| name.starts_with(prefix)))
    }
}

/// The key of the digest that exists while the Service of an instance group may begin to lead to the active pod. An
/// object of another generation may not until its status says so.
pub(super) fn active(group: &str) -> (String, String) {
    (format!("{GROUP_KIND}/active"), group.into())
}

/// What an object belongs to.
pub(super) fn index_keys(kind: &str, meta: &ObjectMeta) -> Vec<String> {
    let owners = meta.owner_references.iter().flatten().map(|owner| owner.uid.clone());
    let claim = label(meta, labels::DEPLOYMENT_NAME).filter(|_| kind == CLAIM_KIND);
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let claim = claim.map(|label| claims(namespace, label));
    let link = linked_to(kind, meta).map(|deployment| links(namespace, deployment));
    let slice = service(kind, meta).map(|name| endpoints(namespace, name));
    owners.chain(claim).chain(link).chain(slice).collect()
}

/// The deployment that a native object provides a link to.
fn linked_to<'m>(kind: &str, meta: &'m ObjectMeta) -> Option<&'m String> {
    let annotations = meta.annotations.as_ref();
    let is_native = ["Secret", "Service"].contains(&kind)
        && external::is_marked(|key| annotations.is_some_and(|all| all.contains_key(key)));
    let annotation = annotations.and_then(|all| all.get(labels::DEPLOYMENT_NAME));
    let named = annotation.or(label(meta, labels::DEPLOYMENT_NAME));
    named.filter(|_| is_native)
}

/// The Service of an EndpointSlice.
fn service<'m>(kind: &str, meta: &'m ObjectMeta) -> Option<&'m String> {
    label(meta, external::SERVICE_LABEL).filter(|_| kind == SLICE_KIND)
}

fn label<'m>(meta: &'m ObjectMeta, key: &str) -> Option<&'m String> {
    meta.labels.as_ref()?.get(key)
}

/// Whether an object of a kind that users create, too, may concern a deployment.
pub(super) fn concerns(kind: &str, meta: &ObjectMeta) -> bool {
    match kind {
        "Service" => label(meta, labels::DEPLOYMENT_NAME).is_some() || linked_to(kind, meta).is_some(),
        SLICE_KIND => service(kind, meta).is_some(),
        _ => true,
    }
}

/// The index key of the native objects that provide links to a deployment.
fn links(namespace: &str, deployment: &str) -> String {
    format!("{LINKS_PREFIX}{namespace}/{deployment}")
}

/// How all of [`links`] begin.
const LINKS_PREFIX: &str = "links/";

/// Whether an index key is one of [`links`].
pub(super) fn is_of_links(key: &str) -> bool {
    key.starts_with(LINKS_PREFIX)
}

/// The deployment of an index key of [`links`] in this namespace, or in any.
pub(super) fn deployment_of_links<'h>(key: &'h str, namespace: Option<&str>) -> Option<&'h str> {
    let (here, deployment) = key.strip_prefix(LINKS_PREFIX)?.split_once('/')?;
    Some(deployment).filter(|_| namespace.is_none_or(|namespace| namespace == here))
}

/// The index key of the EndpointSlices of a Service.
pub(super) fn endpoints(namespace: &str, service: &str) -> String {
    format!("endpoints/{namespace}/{service}")
}

/// The index key of a deployment's claims. No UID has a slash.
pub(super) fn claims(namespace: &str, label: &str) -> String {
    format!("{namespace}/{label}")
}
