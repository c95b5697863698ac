//! Who has set fields of an object, from the API server's record of it (`metadata.managedFields`).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};

/// Field managers of the operator begin with this.
pub const OPERATOR_PREFIX: &str = "boson-";

/// The managers of fields of the object itself, not of its subresources.
pub fn managers(object: &ObjectMeta) -> impl Iterator<Item = (&str, &ManagedFieldsEntry)> {
    let entries = object.managed_fields.iter().flatten();
    let own = entries.filter(|one| one.subresource.as_ref().is_none_or(String::is_empty));
    own.map(|one| (one.manager.as_deref().unwrap_or_default(), one))
}
