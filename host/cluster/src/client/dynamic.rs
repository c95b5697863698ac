//! Objects of any kind, as JSON: a Rust type would drop the fields that it does not know.

use super::call::{Built, Subject};
use super::object::place;
use super::write::{apply_params, merge_params, post_params};
use super::{AnyObject, Cluster, Error, ErrorKind, FieldManager, Kind, Target, Verb, written};
use boson_pipeline::bundle::kinds::Kind as AdditionalKind;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use kube::Resource;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, ObjectList, Request};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// How many objects are read at a time: each may have a megabyte.
const MAX_PAGE_OBJECTS: u32 = 50;

// === impl Cluster ===

impl Cluster {
    /// All objects of a kind with these labels, as JSON with apiVersion and kind.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_any(&self, resource: &ApiResource, namespace: &str, labels: &str) -> Result<Vec<Value>, Error> {
        let resource = &self.exact(resource);
        let request = path(resource, namespace).list(&ListParams::default().labels(labels));
        let subject = Subject::of_resource(resource);
        let list: ObjectList<DynamicObject> = self.call(&subject, Verb::List, labels, request).await?;
        list.items.into_iter().map(|object| whole(object, resource)).collect()
    }

    /// Visits each object of a kind with these labels, like [`Cluster::list_any`], but not all at a time.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn each_any(
        &self,
        resource: &ApiResource,
        namespace: &str,
        labels: &str,
        mut visit: impl FnMut(Value),
    ) -> Result<(), Error> {
        let resource = &self.exact(resource);
        let subject = Subject::of_resource(resource);
        let mut query = ListParams::default().labels(labels).limit(MAX_PAGE_OBJECTS);
        loop {
            let request = path(resource, namespace).list(&query);
            let page: ObjectList<DynamicObject> = self.call(&subject, Verb::List, labels, request).await?;
            for object in page.items {
                visit(whole(object, resource)?);
            }
            match page.metadata.continue_.filter(|more| !more.is_empty()) {
                Some(more) => query.continue_token = Some(more),
                None => return Ok(()),
            }
        }
    }

    /// The metadata of all objects of a kind.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn all_metadata(&self, resource: &ApiResource, namespace: &str) -> Result<Vec<ObjectMeta>, Error> {
        let resource = &self.exact(resource);
        let request = path(resource, namespace).list_metadata(&ListParams::default());
        self.all_metadata_of(&Subject::of_resource(resource), "", request).await
    }

    /// Server-side apply of an object, validated strictly.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn apply_any(&self, manager: FieldManager, object: &Value) -> Result<Value, Error> {
        self.patch_any(manager, object, false).await
    }

    /// The result that [`Cluster::apply_any`] would have: a dry run.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn try_any(&self, manager: FieldManager, object: &Value) -> Result<Value, Error> {
        self.patch_any(manager, object, true).await
    }

    /// Removes parts of an object that has not changed since it was read; returns the new object. `pointers`: JSON
    /// pointers, each valid after the removals before it. `dry_run`: nothing is written.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when the object has changed.
    pub async fn remove_any(
        &self,
        manager: FieldManager,
        object: &Value,
        pointers: &[String],
        dry_run: bool,
    ) -> Result<Value, Error> {
        let target = self.target(object)?;
        let (resource, name) = (&target.resource, target.name);
        let version = object.resource_version();
        let version = version.ok_or_else(|| Error::flawed(&resource.kind, Some(name), "has no resourceVersion"))?;
        // Not `test`: its failure looks like that of a malformed patch.
        let unchanged = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version});
        let removals = pointers.iter().map(|path| json!({"op": "remove", "path": path}));
        let operations: Vec<Value> = std::iter::once(unchanged).chain(removals).collect();
        let parameters = PatchParams {
            dry_run,
            ..merge_params(manager)
        };
        let request = path(resource, target.namespace).patch(name, &parameters, &Patch::Merge(&operations));
        let request = request.map(|mut request| {
            let kind = HeaderValue::from_static("application/json-patch+json");
            request.headers_mut().insert(CONTENT_TYPE, kind);
            request
        });
        self.patched(&target, dry_run, request).await
    }

    async fn patch_any(&self, manager: FieldManager, object: &Value, dry_run: bool) -> Result<Value, Error> {
        let target = self.target(object)?;
        let parameters = PatchParams {
            dry_run,
            ..apply_params(manager.0)
        };
        let request = path(&target.resource, target.namespace).patch(target.name, &parameters, &Patch::Apply(object));
        self.patched(&target, dry_run, request).await
    }

    /// The object after a patch.
    async fn patched(&self, target: &Target<'_>, dry_run: bool, request: Built) -> Result<Value, Error> {
        let Target { resource, name, .. } = target;
        let subject = Subject::of_resource(resource);
        let changed: DynamicObject = self.call(&subject, Verb::Patch, name, request).await?;
        if !dry_run {
            written::note(&resource.kind, name, Some(changed.metadata.clone()));
        }
        whole(changed, resource)
    }

    /// Creates an object, validated strictly. False if one of that name exists: the caller must check whose it is.
    ///
    /// # Errors
    /// See [`Error`]. An existing object is no error.
    pub async fn create_any(&self, manager: FieldManager, object: &Value) -> Result<bool, Error> {
        let target = self.target(object)?;
        let (resource, name) = (&target.resource, target.name);
        let request = path(resource, target.namespace).create(&post_params(manager), object.to_string().into_bytes());
        let request = request.map(|mut request| {
            // kube has no parameter for it, and without it the server drops fields that it does not know.
            if let Ok(strict) = format!("{}&fieldValidation=Strict", request.uri()).parse() {
                *request.uri_mut() = strict;
            }
            request
        });
        let subject = Subject::of_resource(resource);
        match self.call(&subject, Verb::Create, name, request).await {
            Ok(IgnoredAny) => Ok(true),
            // Also if our first try succeeded and only its answer was lost.
            Err(error) if error.kind == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes exactly this object, like [`Cluster::delete`].
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn delete_any(&self, object: &Value) -> Result<(), Error> {
        let parameters = DeleteParams::background().preconditions(Preconditions {
            uid: object.uid().map(str::to_string),
            resource_version: object.resource_version().map(str::to_string),
        });
        self.delete_with(self.target(object)?, &parameters).await
    }

    /// Deletes this object, even if its status has changed, but nothing that it owns. It exists until Kubernetes has
    /// orphaned its dependents.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] if it is another object. A missing object is no error.
    pub async fn delete_alone<K: Kind>(&self, object: &K) -> Result<(), Error> {
        let (namespace, name) = place(object)?;
        let parameters = DeleteParams::orphan().preconditions(Preconditions {
            uid: object.meta().uid.clone(),
            resource_version: None,
        });
        let target = Target {
            resource: self.exact(&ApiResource::erase::<K>(&())),
            namespace,
            name,
        };
        self.delete_with(target, &parameters).await
    }

    async fn delete_with(&self, target: Target<'_>, parameters: &DeleteParams) -> Result<(), Error> {
        let request = path(&target.resource, target.namespace).delete(target.name, parameters);
        self.deleted(&Subject::of_resource(&target.resource), target.name, request)
            .await
    }

    fn target<'o>(&self, object: &'o Value) -> Result<Target<'o>, Error> {
        let target = object.target()?;
        Ok(Target {
            resource: self.exact(&target.resource),
            ..target
        })
    }

    /// The resource with the plural that an administrator set for its kind.
    fn exact(&self, resource: &ApiResource) -> ApiResource {
        let is_it = |kind: &&AdditionalKind| kind.is_of(&resource.api_version, &resource.kind);
        let plural = self.additional_kinds().iter().find(is_it).and_then(|kind| kind.plural);
        ApiResource {
            plural: plural.unwrap_or(&resource.plural).to_string(),
            ..resource.clone()
        }
    }
}

fn path(resource: &ApiResource, namespace: &str) -> Request {
    Request::new(DynamicObject::url_path(resource, Some(namespace)))
}

/// Lists leave apiVersion and kind out of their items.
fn whole(object: DynamicObject, resource: &ApiResource) -> Result<Value, Error> {
    let name = object.metadata.name.clone();
    let value = serde_json::to_value(object).map_err(|_| Error::flawed(&resource.kind, name.as_deref(), "is not JSON"));
    let mut value = value?;
    value.set_kind(resource);
    Ok(value)
}
