//! The members that objects of all kinds have, for code that handles objects of any kind as JSON. Each key is spelled
//! only here: a typo in a key would read as a missing member.

mod identity;
mod kind;
mod resource;

pub(super) use identity::place;
pub use identity::{Identity, NamespacedName, owner, pod_identity};
pub use kind::{Kind, api, api_of_any};
pub use resource::resource;
pub(crate) use resource::resource_of;

use super::Error;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, OwnerReference};
use kube::core::ApiResource;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Field managers of the operator begin with this.
pub const OPERATOR_PREFIX: &str = "boson-";

const API_VERSION: &str = "apiVersion";
const KIND: &str = "kind";
const METADATA: &str = "metadata";
const SPEC: &str = "spec";
const STATUS: &str = "status";
const NAME: &str = "name";
const NAMESPACE: &str = "namespace";
const UID: &str = "uid";
const RESOURCE_VERSION: &str = "resourceVersion";
const DELETION_TIMESTAMP: &str = "deletionTimestamp";
const LABELS: &str = "labels";
const ANNOTATIONS: &str = "annotations";
const OWNER_REFERENCES: &str = "ownerReferences";
const FINALIZERS: &str = "finalizers";
const MANAGED_FIELDS: &str = "managedFields";

/// Fields of an object that one manager has set.
#[derive(Clone, Copy, Debug)]
pub struct ManagedFields<'v> {
    pub manager: &'v str,
    /// Whether they belong to a subresource, such as the status.
    pub of_subresource: bool,
    /// The fields, in the format `FieldsV1`.
    pub fields: &'v Map<String, Value>,
}

/// What a call about an object names.
#[derive(Clone, Debug)]
pub struct Target<'o> {
    pub resource: ApiResource,
    pub namespace: &'o str,
    pub name: &'o str,
}

/// An object of any kind, as JSON.
pub trait AnyObject {
    fn json(&self) -> &Value;
    fn json_mut(&mut self) -> &mut Value;

    fn api_version(&self) -> Option<&str> {
        text(self.json(), API_VERSION)
    }

    fn kind(&self) -> Option<&str> {
        text(self.json(), KIND)
    }

    fn name(&self) -> Option<&str> {
        text(self.json().get(METADATA)?, NAME)
    }

    fn namespace(&self) -> Option<&str> {
        text(self.json().get(METADATA)?, NAMESPACE)
    }

    fn uid(&self) -> Option<&str> {
        text(self.json().get(METADATA)?, UID)
    }

    /// The version that was read.
    fn resource_version(&self) -> Option<&str> {
        text(self.json().get(METADATA)?, RESOURCE_VERSION)
    }

    fn is_going(&self) -> bool {
        let metadata = self.json().get(METADATA);
        metadata.is_some_and(|metadata| text(metadata, DELETION_TIMESTAMP).is_some())
    }

    fn label(&self, key: &str) -> Option<&str> {
        text(self.json().get(METADATA)?.get(LABELS)?, key)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        text(self.json().get(METADATA)?.get(ANNOTATIONS)?, key)
    }

    /// Whether the object with this UID is one of its owners.
    fn has_owner(&self, uid: &str) -> bool {
        items(self.json().get(METADATA), OWNER_REFERENCES).any(|owner| text(owner, UID) == Some(uid))
    }

    /// Who has set which of its fields.
    fn managed_fields(&self) -> impl Iterator<Item = ManagedFields<'_>> {
        items(self.json().get(METADATA), MANAGED_FIELDS).filter_map(|entry| {
            Some(ManagedFields {
                manager: text(entry, "manager")?,
                of_subresource: text(entry, "subresource").is_some_and(|name| !name.is_empty()),
                fields: entry.get("fieldsV1")?.as_object()?,
            })
        })
    }

    fn spec(&self) -> Option<&Value> {
        self.json().get(SPEC)
    }

    /// Its members except for metadata and status.
    fn content(&self) -> impl Iterator<Item = (&String, &Value)> {
        let members = self.json().as_object().into_iter().flatten();
        members.filter(|(key, _)| ![METADATA, STATUS].contains(&key.as_str()))
    }

    /// Its labels, annotations, owners and finalizers: the metadata that is not managed by the API server.
    fn marks(&self) -> [Option<&Value>; 4] {
        let metadata = self.json().get(METADATA);
        [LABELS, ANNOTATIONS, OWNER_REFERENCES, FINALIZERS]
            .map(|key| metadata?.get(key).filter(|value| !value.is_null()))
    }

    /// The object as a type of its kind. The type drops fields that it does not know: read it, and write the JSON.
    ///
    /// # Errors
    /// [`super::ErrorKind::Unreadable`]: it does not have the form of the kind.
    fn typed<K: DeserializeOwned>(&self) -> Result<K, Error> {
        K::deserialize(self.json())
            .map_err(|_| Error::unreadable(self.kind().unwrap_or("object"), self.name().unwrap_or_default()))
    }

    /// Its kind, namespace and name, for a call.
    ///
    /// # Errors
    /// [`super::ErrorKind::Flawed`]: it lacks one of them.
    fn target(&self) -> Result<Target<'_>, Error> {
        let lacks = |what| move || Error::flawed(self.kind().unwrap_or("object"), self.name(), what);
        let api_version = self.api_version().ok_or_else(lacks("has no apiVersion"))?;
        let kind = self.kind().ok_or_else(lacks("has no kind"))?;
        Ok(Target {
            resource: resource(api_version, kind),
            namespace: self.namespace().ok_or_else(lacks("has no namespace"))?,
            name: self.name().ok_or_else(lacks("has no name"))?,
        })
    }

    /// Sets its kind. Lists leave it out of their items.
    fn set_kind(&mut self, resource: &ApiResource) {
        set(self.json_mut(), &[API_VERSION], resource.api_version.as_str().into());
        set(self.json_mut(), &[KIND], resource.kind.as_str().into());
    }

    fn set_name(&mut self, name: &str) {
        set(self.json_mut(), &[METADATA, NAME], name.into());
    }

    /// Sets the version that must not have changed.
    fn set_resource_version(&mut self, version: Option<&str>) {
        set(self.json_mut(), &[METADATA, RESOURCE_VERSION], version.into());
    }

    /// Sets the UID that it must have.
    fn set_uid(&mut self, uid: Option<&str>) {
        set(self.json_mut(), &[METADATA, UID], uid.into());
    }

    /// Sets a label, or removes it.
    fn set_label(&mut self, key: &str, value: Option<&str>) {
        set_or_remove(self.json_mut(), &[METADATA, LABELS], key, value);
    }

    /// Sets an annotation, or removes it.
    fn set_annotation(&mut self, key: &str, value: Option<&str>) {
        set_or_remove(self.json_mut(), &[METADATA, ANNOTATIONS], key, value);
    }

    /// Sets its only owner.
    fn set_owner(&mut self, owner: &OwnerReference) {
        set(self.json_mut(), &[METADATA, OWNER_REFERENCES], json!([owner]));
    }

    /// Replaces all members except for metadata by those of `other`, and adds the labels and annotations of `other`.
    fn overlay(&mut self, other: &Value) {
        for (key, value) in other.as_object().into_iter().flatten() {
            if key != METADATA {
                set(self.json_mut(), &[key], value.clone());
            }
        }
        for list in [LABELS, ANNOTATIONS] {
            let entries = other.get(METADATA).and_then(|metadata| metadata.get(list)?.as_object());
            for (key, value) in entries.into_iter().flatten() {
                set(self.json_mut(), &[METADATA, list, key], value.clone());
            }
        }
    }
}

impl AnyObject for Value {
    fn json(&self) -> &Value {
        self
    }

    fn json_mut(&mut self) -> &mut Value {
        self
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn items<'v>(value: Option<&'v Value>, key: &str) -> impl Iterator<Item = &'v Value> {
    let items = value.and_then(|value| value.get(key)?.as_array());
    items.into_iter().flatten()
}

/// Sets a member of nested objects; other values on the path are replaced.
fn set(value: &mut Value, path: &[&str], what: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = what;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Value::Object(members) = value {
        set(members.entry(*first).or_insert(Value::Null), rest, what);
    }
}

fn set_or_remove(value: &mut Value, path: &[&str; 2], key: &str, entry: Option<&str>) {
    let [parent, list] = *path;
    if let Some(entry) = entry {
        return set(value, &[parent, list, key], entry.into());
    }
    let entries = value
        .get_mut(parent)
        .and_then(|parent| parent.get_mut(list)?.as_object_mut());
    if let Some(entries) = entries {
        entries.remove(key);
    }
}

/// The managers of fields of the object itself, not of its subresources.
pub fn managers(object: &ObjectMeta) -> impl Iterator<Item = (&str, &ManagedFieldsEntry)> {
    let entries = object.managed_fields.iter().flatten();
    let own = entries.filter(|one| one.subresource.as_ref().is_none_or(String::is_empty));
    own.map(|one| (one.manager.as_deref().unwrap_or_default(), one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;
    use k8s_openapi::api::core::v1::Service;

    #[test]
    fn an_object_without_a_part_that_calls_need_is_a_defect() {
        let whole = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "n"}});
        let target = whole.target().unwrap();
        assert_eq!(
            (target.resource.plural.as_str(), target.namespace, target.name),
            ("services", "n", "a")
        );
        for (parent, part, lacks) in [
            ("", "apiVersion", "has no apiVersion"),
            ("", "kind", "has no kind"),
            ("/metadata", "name", "has no name"),
            ("/metadata", "namespace", "has no namespace"),
        ] {
            let mut flawed = whole.clone();
            flawed
                .pointer_mut(parent)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(part);
            let error = flawed.target().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Flawed(lacks));
            assert!(error.to_string().contains("operator-flawed-object"), "{error}");
        }
    }

    #[test]
    fn an_object_of_another_form_is_unreadable() {
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": 1}});
        let error = service.typed::<Service>().unwrap_err();
        assert_eq!((error.kind, error.name.as_str()), (ErrorKind::Unreadable, "a"));
        assert!(json!({"kind": "Pod", "apiVersion": "v1"}).typed::<Service>().is_err());
    }

    #[test]
    fn labels_and_annotations_are_set_and_removed() {
        let mut object = json!({"kind": "K", "metadata": {"annotations": null}});
        object.set_label("a", None);
        assert_eq!(object.label("a"), None);
        object.set_label("a", Some("b"));
        object.set_annotation("c", Some("d"));
        assert_eq!((object.label("a"), object.annotation("c")), (Some("b"), Some("d")));
        object.set_label("a", None);
        assert_eq!(object.label("a"), None);
    }
}
