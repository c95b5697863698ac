//! Writes of objects of known kinds in namespaces.

use super::call::{Subject, body};
use super::object::place;
use super::{AnyObject, Cluster, Error, ErrorKind, FieldManager, Kind, Verb, path, written};
use kube::Resource;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions, ValidationDirective};
use serde::Serialize;
use serde_json::{Map, Value, json};

// === impl Cluster ===

impl Cluster {
    /// Creates an object that must not exist yet. None if an object of that name exists, of another owner or from an
    /// earlier try whose answer was lost: read it, and check its owner.
    ///
    /// # Errors
    /// See [`Error`]. An existing object is no error.
    pub async fn create<K: Kind>(&self, manager: FieldManager, object: &K) -> Result<Option<K>, Error> {
        let (namespace, name) = place(object)?;
        let request = body(object).and_then(|body| path::<K>(namespace).create(&post_params(manager), body));
        match self.call(&Subject::of::<K>(), Verb::Create, name, request).await {
            // Also if our first try succeeded and only its answer was lost.
            Err(error) if error.kind == ErrorKind::AlreadyExists => Ok(None),
            made => note_written(name, made).map(Some),
        }
    }

    /// Replaces an object that has not changed since it was read: its `resourceVersion` must be set.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when it has changed.
    pub async fn replace<K: Kind>(&self, manager: FieldManager, object: &K) -> Result<K, Error> {
        let (namespace, name) = place(object)?;
        if object.meta().resource_version.is_none() {
            // The API server would replace any version.
            return Err(Error::of(&Subject::of::<K>(), Verb::Update, name, ErrorKind::Conflict));
        }
        let request = body(object).and_then(|body| path::<K>(namespace).replace(name, &post_params(manager), body));
        note_written(name, self.call(&Subject::of::<K>(), Verb::Update, name, request).await)
    }

    /// Server-side apply: sets these fields, and removes fields that this manager set before and no longer sets.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn apply<K: Kind>(&self, manager: FieldManager, object: &K) -> Result<K, Error> {
        self.apply_as(manager.0, object).await
    }

    /// Server-side apply with the manager that another program uses.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn apply_as<K: Kind>(&self, manager: &str, object: &K) -> Result<K, Error> {
        let (namespace, name) = place(object)?;
        let request = path::<K>(namespace).patch(name, &apply_params(manager), &Patch::Apply(object));
        note_written(name, self.call(&Subject::of::<K>(), Verb::Patch, name, request).await)
    }

    /// Merges members into an object, if it has not changed: `resource_version` is part of what is sent.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when it has changed.
    pub async fn merge<K: Kind>(&self, manager: FieldManager, object: &K, members: Value) -> Result<K, Error> {
        let (namespace, name) = place(object)?;
        let patch = of_same_version(object, members);
        let request = path::<K>(namespace).patch(name, &merge_params(manager), &Patch::Merge(patch));
        note_written(name, self.call(&Subject::of::<K>(), Verb::Patch, name, request).await)
    }

    /// Merges members into an object by a subresource, such as `resize`, if it has not changed since it was read. Items
    /// of lists are merged by their names.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when it has changed.
    pub async fn merge_part<K: Kind>(
        &self,
        manager: FieldManager,
        part: &'static str,
        object: &K,
        members: Value,
    ) -> Result<K, Error> {
        let (namespace, name) = place(object)?;
        let patch = of_same_version(object, members);
        let parameters = merge_params(manager);
        let request = path::<K>(namespace).patch_subresource(part, name, &parameters, &Patch::Strategic(patch));
        let subject = Subject::of_part::<K>(part);
        note_written(name, self.call(&subject, Verb::Patch, name, request).await)
    }

    /// Sets the status of an object that has not changed since it was read.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when it has changed.
    pub async fn set_status<K: Kind>(
        &self,
        manager: FieldManager,
        object: &K,
        status: &impl Serialize,
    ) -> Result<K, Error> {
        let (namespace, name) = place(object)?;
        let status = whole_status(object, status);
        let status = status.map_err(|_| Error::flawed(&K::kind(&()), Some(name), "is not JSON"))?;
        // A replaced object of the same name must not get the status of the old one.
        let patch = of_same_version(object, json!({"metadata": {"name": name}, "status": status}));
        let parameters = merge_params(manager);
        let request = path::<K>(namespace).patch_subresource("status", name, &parameters, &Patch::Merge(patch));
        self.call(&Subject::of::<K>(), Verb::Patch, name, request).await
    }

    /// Like [`Cluster::delete`], but a pod does not exist any more at once: what runs on its node may go on.
    ///
    /// # Errors
    /// As [`Cluster::delete`].
    pub async fn delete_now<K: Kind>(&self, object: &K) -> Result<(), Error> {
        self.delete_as(object, DeleteParams::background().grace_period(0)).await
    }

    /// Deletes exactly this object: not a later one of the same name, nor one that has changed since it was read.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] if it is another object or has changed. A missing object is no error.
    pub async fn delete<K: Kind>(&self, object: &K) -> Result<(), Error> {
        self.delete_as(object, DeleteParams::background()).await
    }

    async fn delete_as<K: Kind>(&self, object: &K, parameters: DeleteParams) -> Result<(), Error> {
        let (namespace, name) = place(object)?;
        let parameters = parameters.preconditions(preconditions(object.meta()));
        let request = path::<K>(namespace).delete(name, &parameters);
        self.deleted(&Subject::of::<K>(), name, request).await
    }
}

pub(super) fn post_params(manager: FieldManager) -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(manager.0.into()),
    }
}

/// A patch that is no server-side apply.
pub(super) fn merge_params(manager: FieldManager) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.0.into()),
        ..PatchParams::default()
    }
}

/// A patch of exactly this object, as it was read.
pub(super) fn of_same_version<K: Resource>(object: &K, mut patch: Value) -> Value {
    patch.set_resource_version(object.meta().resource_version.as_deref());
    patch.set_uid(object.meta().uid.as_deref());
    patch
}

/// For a deletion of exactly this object, as it was read.
pub(super) fn preconditions(meta: &ObjectMeta) -> Preconditions {
    Preconditions {
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
    }
}

/// Server-side apply. Forced: else a conflict after a `kubectl edit` would stop the operator for ever.
pub(super) fn apply_params(manager: &str) -> PatchParams {
    PatchParams {
        force: true,
        field_manager: Some(manager.into()),
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    }
}

fn note_written<K: Kind>(name: &str, result: Result<K, Error>) -> Result<K, Error> {
    result.inspect(|object| written::note(&K::kind(&()), name, Some(object.meta().clone())))
}

/// What sets the status of `object` in a merge patch: members that it no longer has are set to null. Otherwise they
/// would stay, and each reconcile would find the status wrong again.
///
/// # Errors
/// One of the types cannot be serialized: a defect.
fn whole_status(object: &impl Serialize, status: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    let old = serde_json::to_value(object)?;
    let mut status: Map<String, Value> = serde_json::from_value(serde_json::to_value(status)?)?;
    for (key, _) in old["status"].as_object().into_iter().flatten() {
        status.entry(key).or_insert(Value::Null);
    }
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_is_no_object_is_an_error_and_no_patch() {
        assert!(whole_status(&json!({}), &json!("done")).is_err());
    }

    #[test]
    fn removed_members_are_set_to_null() {
        let object = json!({"status": {"copied": true, "generated": true}});
        let of = |object: &Value, status: &Value| Value::Object(whole_status(object, status).unwrap());
        assert_eq!(
            of(&object, &json!({"generated": false})),
            json!({"copied": null, "generated": false})
        );
        assert_eq!(of(&json!({}), &json!({"a": 1})), json!({"a": 1}));
    }
}
