//! The desired Secret: its name, owner and annotations.

use super::marks;
use boson_api::QuarksSecret;
use boson_api::secret::{ReclaimPolicy, SecretType};
use boson_cluster::client::{Error, Identity, owner as owner_reference};
use boson_cluster::objects::{annotation, label};
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_pipeline::plain;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Annotations that record the source of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub request: String,
    /// Digest of the CA.
    pub signed: Option<String>,
    /// Fingerprint of the CA beside it.
    pub trusted: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This QuarksSecret, or none: restored from a backup, or retained by a QuarksSecret of the same name.
    Us,
    User,
    /// Another object: its kind and name.
    Other(String),
    /// It is being deleted, or will be with an earlier object of the same name.
    Leaving,
}

/// The keys of a certificate in a Secret.
#[derive(Clone, Copy, Debug)]
pub struct CertificateKeys {
    pub certificate: &'static str,
    pub private_key: &'static str,
}

/// Labels and annotations that came from the QuarksSecret.
#[derive(Default, Serialize, Deserialize)]
struct Names {
    labels: BTreeSet<String>,
    annotations: BTreeSet<String>,
}

/// The keys of the certificate, for types that have one.
pub fn certificate_keys(kind: SecretType) -> Option<CertificateKeys> {
    let (certificate, private_key) = match kind {
        SecretType::Certificate => ("certificate", "private_key"),
        SecretType::Tls => ("tls.crt", "tls.key"),
        _ => return None,
    };
    Some(CertificateKeys {
        certificate,
        private_key,
    })
}

/// The type that a value is of, by the first of these keys that its Secret has.
pub fn type_of_value(secret: &Secret) -> Option<SecretType> {
    let data = secret.data.as_ref()?;
    let of = [
        ("tls.crt", SecretType::Tls),
        ("certificate", SecretType::Certificate),
        ("public_key_fingerprint", SecretType::Ssh),
        ("public_key", SecretType::Rsa),
        ("password_hash", SecretType::User),
        ("username", SecretType::BasicAuth),
        ("password", SecretType::Password),
    ];
    of.into_iter()
        .find(|(key, _)| data.contains_key(*key))
        .map(|(_, kind)| kind)
}

/// `type` of the Secret.
pub fn kubernetes_type(kind: SecretType) -> &'static str {
    match kind {
        SecretType::Tls => "kubernetes.io/tls",
        SecretType::BasicAuth => "kubernetes.io/basic-auth",
        SecretType::DockerConfigJson => "kubernetes.io/dockerconfigjson",
        _ => "Opaque",
    }
}

pub fn owner(object: &QuarksSecret, secret: &Secret) -> Owner {
    let meta = &secret.metadata;
    if meta.deletion_timestamp.is_some() {
        return Owner::Leaving;
    }
    if label(meta, labels::SECRET_KIND) != Some(labels::secret_kind::GENERATED) {
        return Owner::User;
    }
    let owners = meta.owner_references.iter().flatten();
    let Some(controller) = owners.into_iter().find(|owner| owner.controller == Some(true)) else {
        return match retained_by(meta) {
            Some(name) if Some(name) != object.metadata.name.as_deref() => {
                Owner::Other(format!("QuarksSecret '{name}', which retained it"))
            }
            _ => Owner::Us,
        };
    };
    if Some(&controller.uid) == object.metadata.uid.as_ref() {
        return Owner::Us;
    }
    let namesake =
        controller.kind == QuarksSecret::kind(&()) && Some(&controller.name) == object.metadata.name.as_ref();
    if namesake {
        Owner::Leaving
    } else {
        Owner::Other(format!("{} '{}'", controller.kind, controller.name))
    }
}

/// A Secret with this value.
///
/// # Errors
/// The value is too large for a Secret, or has a key that Kubernetes does not accept.
pub fn new_secret(object: &QuarksSecret, value: &Tree, marks: &Marks) -> Result<Secret, String> {
    let empty = lowered_secret(object, value)?;
    let mut secret = with_trusted_ca(with_marks(object, &Secret::default(), marks)?, marks.trusted.clone());
    secret.metadata.name = Some(object.spec.secret_name.clone());
    secret.metadata.namespace = object.metadata.namespace.clone();
    secret.type_ = Some(kubernetes_type(object.spec.kind).into());
    secret.data = empty.data;
    Ok(secret)
}

/// A Secret with a new value, in place of the old one.
///
/// # Errors
/// As [`with_marks`].
pub fn replaced_secret(object: &QuarksSecret, old: &Secret, made: Secret, marks: &Marks) -> Result<Secret, String> {
    let next = with_marks(object, &without_marks(old.clone()), marks)?;
    let mut next = with_trusted_ca(next, marks.trusted.clone());
    next.data = made.data;
    Ok(next)
}

/// The same Secret, with the annotation about the CA beside its own.
pub fn with_trusted_ca(mut secret: Secret, fingerprint: Option<String>) -> Secret {
    let annotations = secret.metadata.annotations.get_or_insert_default();
    annotations.remove(marks::TRUSTED);
    annotations.extend(fingerprint.map(|fingerprint| (marks::TRUSTED.to_string(), fingerprint)));
    secret
}

/// The same Secret with the desired labels, annotations and owner. Those of others stay.
///
/// # Errors
/// They cannot be determined. Without them, the Secret would count as its user's.
pub fn with_marks(object: &QuarksSecret, secret: &Secret, new: &Marks) -> Result<Secret, String> {
    let mut out = secret.clone();
    let wanted = lowered_secret(object, &placeholder_value())?.metadata;
    let labels = wanted.labels.unwrap_or_default();
    let mut annotations = wanted.annotations.unwrap_or_default();
    let names = Names {
        labels: labels.keys().cloned().collect(),
        annotations: annotations.keys().cloned().collect(),
    };
    let old_annotations = secret.metadata.annotations.clone().unwrap_or_default();
    let before = old_annotations
        .get(marks::SET)
        .and_then(|text| serde_json::from_str::<Names>(text).ok());
    let before = before.unwrap_or_default();
    let names = serde_json::to_string(&names).map_err(|_| "its labels are not JSON")?;
    annotations.insert(marks::SET.into(), names);
    // Only if it is missing: the annotation was set when the value was generated.
    let mut remember = |key: &str, value: Option<&String>| {
        if let Some(value) = old_annotations.get(key).or(value) {
            annotations.insert(key.into(), value.clone());
        }
    };
    remember(marks::REQUEST, Some(&new.request));
    remember(marks::SIGNED, new.signed.as_ref());
    out.metadata.labels = Some(overlay(secret.metadata.labels.clone(), &before.labels, labels));
    out.metadata.annotations = Some(overlay(Some(old_annotations), &before.annotations, annotations));
    set_owner(object, &mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// Removes the annotations about the source, before [`with_marks`] sets them again.
pub fn without_marks(mut secret: Secret) -> Secret {
    if let Some(annotations) = &mut secret.metadata.annotations {
        annotations.remove(marks::REQUEST);
        annotations.remove(marks::SIGNED);
    }
    secret
}

fn overlay(
    old: Option<BTreeMap<String, String>>,
    ours_before: &BTreeSet<String>,
    new: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut out = old.unwrap_or_default();
    out.retain(|key, _| !ours_before.contains(key));
    out.extend(new);
    out
}

/// The QuarksSecret that retained a Secret without an owner.
pub(crate) fn retained_by(meta: &ObjectMeta) -> Option<&str> {
    let by = annotation(meta, labels::RETAINED_BY)?;
    Some(by.split_once('/').map_or(by, |(name, _)| name))
}

/// Sets the owner reference, or the annotation of a retained Secret. Its UID makes every adoption a write, so that a
/// concurrent `host prune`, which read the Secret before, fails to delete it.
fn set_owner(object: &QuarksSecret, secret: &mut Secret) -> Result<(), Error> {
    let Identity { name, uid, .. } = Identity::of(object)?;
    let mut owners = secret.metadata.owner_references.take().unwrap_or_default();
    let annotations = secret.metadata.annotations.get_or_insert_default();
    let is_owner = owners.iter().any(|owner| owner.uid == uid);
    match object.spec.reclaim_policy {
        ReclaimPolicy::Retain => {
            owners.retain(|owner| owner.uid != uid);
            annotations.insert(labels::RETAINED_BY.into(), format!("{name}/{uid}"));
        }
        ReclaimPolicy::Delete => {
            annotations.remove(labels::RETAINED_BY);
            if !is_owner {
                owners.push(reference(object)?);
            }
        }
    }
    secret.metadata.owner_references = (!owners.is_empty()).then_some(owners);
    Ok(())
}

/// Owner and controller. It does not block the deletion of the owner: that would need permissions for finalizers.
///
/// # Errors
/// See [`owner_reference`].
pub fn reference(object: &QuarksSecret) -> Result<OwnerReference, Error> {
    let mut owner = owner_reference(object)?;
    owner.block_owner_deletion = Some(false);
    Ok(owner)
}

/// Built by the same function as on the command line.
fn lowered_secret(object: &QuarksSecret, value: &Tree) -> Result<Secret, String> {
    let text = serde_json::to_string(object).map_err(|_| "it is not JSON")?;
    let mut tree = json::parse(&text).map_err(|error| error.to_string())?;
    if matches!(
        object.spec.kind,
        SecretType::DockerConfigJson | SecretType::TemplatedConfig
    ) && let Some(spec) = tree.get_mut("spec")
    {
        // The command line has no such types; their members are the entries.
        spec.set("type", "password");
    }
    let made = plain::secret::secret(&tree, value).map_err(|diagnostic| diagnostic.message)?;
    serde_json::from_str(&json::to_text(&made)).map_err(|_| "it is not a Secret".into())
}

/// A placeholder value for every type, if only the metadata matters.
fn placeholder_value() -> Tree {
    ["certificate", "private_key", "username", "password"]
        .into_iter()
        .map(|key| (key, Tree::from("")))
        .collect()
}
