//! What uses a CA that is being rotated: the certificates that it has signed, and what the deployments that use them
//! wait for. Read only during a rotation.

use crate::secret::position::{self, Position};
use crate::secret::signer::local_ca;
use crate::secret::stored::desired::{self, Owner};
use boson_api::secret::Copy;
use boson_api::{BoshDeployment, QuarksSecret};
use boson_cluster::client::{Cluster, Error, ErrorKind, Identity};
use boson_cluster::consumers::{Versions, newest_links, pending, version_digest};
use boson_cluster::objects::entry;
use boson_manifest::labels::{SECRET_TYPE, secret_type};
use k8s_openapi::api::core::v1::Secret;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Consumers {
    /// The certificates, also in copies of their Secrets.
    pub leaves: Vec<Leaf>,
    /// What deployments wait for until all their instances have the present values.
    pub pending: Vec<String>,
}

/// A certificate that the CA has signed.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// Name of its Secret.
    pub name: String,
    pub certificate: String,
    pub ca: String,
    /// Whether it is a CA that is being rotated itself.
    pub is_rotating: bool,
}

/// What is found while reading.
#[derive(Default)]
struct Found {
    leaves: Vec<Leaf>,
    /// The Secrets with the CA and the certificates, by namespace.
    used: BTreeMap<String, Versions>,
}

/// Reads what uses the CA in this Secret of the QuarksSecret, and in its copies.
///
/// # Errors
/// See [`Error`]. Namespaces that the operator may not read have no copies by it, and count as without users.
pub async fn read(cluster: &Cluster, object: &QuarksSecret) -> Result<Consumers, Error> {
    let Identity { namespace, .. } = Identity::of(object)?;
    let own = (namespace, object.spec.secret_name.as_str());
    let mut found = Found::default();
    for (at, secret) in std::iter::once(own).chain(places(&object.spec.copies)) {
        match find(cluster, at, secret, &mut found).await {
            Err(error) if error.kind == ErrorKind::Forbidden && at != namespace => {}
            other => other?,
        }
    }
    let Found { leaves, used } = found;
    let mut pending = Vec::new();
    for (at, secrets) in &used {
        match pending_deployments(cluster, at, secrets).await {
            Err(error) if error.kind == ErrorKind::Forbidden && at != namespace => {}
            other => pending.extend(other?),
        }
    }
    Ok(Consumers { leaves, pending })
}

/// Namespaces and names.
fn places(copies: &[Copy]) -> impl Iterator<Item = (&str, &str)> {
    copies.iter().map(|copy| (copy.namespace.as_str(), copy.name.as_str()))
}

/// Finds the certificates of a namespace that are signed by the CA in this Secret.
async fn find(cluster: &Cluster, namespace: &str, ca: &str, found: &mut Found) -> Result<(), Error> {
    let Some(secret) = cluster.get::<Secret>(namespace, ca).await? else {
        return Ok(());
    };
    found.uses(namespace, &secret);
    for leaf in cluster.list_in_pages::<QuarksSecret>(namespace, "").await? {
        if signing_ca(&leaf) != Some(ca) {
            continue;
        }
        let name = &leaf.spec.secret_name;
        let secret = cluster.get::<Secret>(namespace, name).await?;
        // One that a user has made is not signed again.
        let Some(secret) = secret.filter(|secret| desired::owner(&leaf, secret) == Owner::Us) else {
            continue;
        };
        found.add(namespace, &leaf, &secret);
        for (at, copy) in places(&leaf.spec.copies) {
            match cluster.get::<Secret>(at, copy).await {
                Ok(Some(copy)) => found.add(at, &leaf, &copy),
                Ok(None) => {}
                Err(error) if error.kind == ErrorKind::Forbidden => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// What the deployments of a namespace wait for that use these Secrets.
async fn pending_deployments(cluster: &Cluster, namespace: &str, secrets: &Versions) -> Result<Vec<String>, Error> {
    let deployments: Vec<BoshDeployment> = cluster.list_in_pages(namespace, "").await?;
    let labels = format!("{SECRET_TYPE}={}", secret_type::LINKS);
    let links = cluster.list_metadata::<Secret>(namespace, &labels).await?;
    Ok(pending(&deployments, secrets, &newest_links(&deployments, &links)))
}

/// The Secret with the CA of a certificate that is signed here.
fn signing_ca(object: &QuarksSecret) -> Option<&str> {
    desired::certificate_keys(object.spec.kind)?;
    Some(&local_ca(object)?.name)
}

// === impl Found ===

impl Found {
    fn uses(&mut self, namespace: &str, secret: &Secret) {
        let name = secret.metadata.name.clone().unwrap_or_default();
        let versions = self.used.entry(namespace.into()).or_default();
        versions.insert(name, version_digest(&secret.metadata));
    }

    fn add(&mut self, namespace: &str, object: &QuarksSecret, secret: &Secret) {
        self.uses(namespace, secret);
        self.leaves.extend(Leaf::of(object, secret));
    }
}

// === impl Leaf ===

impl Leaf {
    /// The certificate in a Secret of this QuarksSecret, or in a copy.
    pub fn of(object: &QuarksSecret, secret: &Secret) -> Option<Self> {
        let keys = desired::certificate_keys(object.spec.kind)?;
        let text = |key| entry(secret, key).unwrap_or_default();
        Some(Self {
            name: secret.metadata.name.clone().unwrap_or_default(),
            certificate: text(keys.certificate),
            ca: text("ca"),
            is_rotating: position::authority(object).is_some() && position::position(secret) != Position::Settled,
        })
    }
}
