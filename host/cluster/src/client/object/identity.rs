//! What identifies an object of a known kind. The API server gives each object all of it, so a missing part is a
//! defect. Nothing must be written for such an object: what depends on it would have no owner, or a wrong one.

use super::Kind;
use crate::client::Error;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// Where an object is, and which of those that have been there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'o> {
    pub namespace: &'o str,
    pub name: &'o str,
    pub uid: &'o str,
}

/// Namespace and name of an object of a known kind.
pub type NamespacedName = (String, String);

// === impl Identity ===

impl<'o> Identity<'o> {
    /// The identity of an object that was read.
    ///
    /// # Errors
    /// [`crate::client::ErrorKind::Flawed`]: a part is missing.
    pub fn of<K: Kind>(object: &'o K) -> Result<Self, Error> {
        let (namespace, name) = place(object)?;
        let uid = object.meta().uid.as_deref();
        let uid = uid.ok_or_else(|| Error::flawed(&K::kind(&()), Some(name), "has no UID"))?;
        Ok(Self { namespace, name, uid })
    }
}

/// Namespace and name.
pub(in crate::client) fn place<K: Kind>(object: &K) -> Result<(&str, &str), Error> {
    let meta = object.meta();
    let lacks = |what| move || Error::flawed(&K::kind(&()), meta.name.as_deref(), what);
    let namespace = meta.namespace.as_deref().ok_or_else(lacks("has no namespace"))?;
    Ok((namespace, meta.name.as_deref().ok_or_else(lacks("has no name"))?))
}

/// The pod with nothing but its identity, to patch its labels or annotations. It has no resource version: the status of
/// a pod changes often, and the UID is enough to patch no other one.
pub fn pod_identity(meta: &ObjectMeta) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            ..ObjectMeta::default()
        },
        ..Pod::default()
    }
}

/// The reference to an object as owner and controller.
///
/// # Errors
/// [`crate::client::ErrorKind::Flawed`]: it has no name or UID.
pub fn owner<K: Kind>(object: &K) -> Result<OwnerReference, Error> {
    let name = object.meta().name.as_deref();
    let reference = object.controller_owner_ref(&());
    reference.ok_or_else(|| Error::flawed(&K::kind(&()), name, "has no name or UID"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;
    use k8s_openapi::api::core::v1::Secret;

    #[test]
    fn an_object_without_name_namespace_or_uid_is_a_defect() {
        let mut secret = Secret::default();
        let lacks = |secret: &Secret| Identity::of(secret).unwrap_err().kind;
        assert_eq!(lacks(&secret), ErrorKind::Flawed("has no namespace"));
        secret.metadata.namespace = Some("n".into());
        assert_eq!(lacks(&secret), ErrorKind::Flawed("has no name"));
        secret.metadata.name = Some("s".into());
        assert_eq!(lacks(&secret), ErrorKind::Flawed("has no UID"));
        assert_eq!(
            owner(&secret).unwrap_err().kind,
            ErrorKind::Flawed("has no name or UID")
        );
        secret.metadata.uid = Some("u".into());
        let identity = Identity::of(&secret).unwrap();
        assert_eq!((identity.namespace, identity.name, identity.uid), ("n", "s", "u"));
        assert_eq!(owner(&secret).unwrap().uid, "u");
    }
}
