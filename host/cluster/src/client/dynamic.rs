//! Objects of any kind, as JSON: a Rust type would drop the fields that it does not know.

use super::error::Subject;
use super::{AnyObject, Cluster, Error, Fault, FieldManager, Kind, Verb, applying, written};
use boson_pipeline::bundle::kinds::Kind as AdditionalKind;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, Request};
use kube::{Api, Resource};
use serde_json::{Value, json};

/// How many objects are read at a time: each may have a megabyte.
const PAGE: u32 = 50;

// === impl Cluster ===

impl Cluster {
    /// All objects of a kind with these labels, as JSON with apiVersion and kind.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_any(&self, resource: &ApiResource, namespace: &str, labels: &str) -> Result<Vec<Value>, Error> {
        let api = self.any(resource, namespace);
        let query = ListParams::default().labels(labels);
        let subject = Subject::of_resource(&self.exact(resource));
        let list = self.call(&subject, Verb::List, labels, || api.list(&query)).await?;
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
        let api = self.any(resource, namespace);
        let subject = Subject::of_resource(resource);
        let mut query = ListParams::default().labels(labels).limit(PAGE);
        loop {
            let page = self.call(&subject, Verb::List, labels, || api.list(&query)).await?;
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
        let api = self.any(resource, namespace);
        let subject = Subject::of_resource(resource);
        let query = ListParams::default();
        let list = self
            .call(&subject, Verb::List, "", || api.list_metadata(&query))
            .await?;
        Ok(list.items.into_iter().map(|object| object.metadata).collect())
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
    /// See [`Error`]; [`Fault::Conflict`] when the object has changed.
    pub async fn remove_any(
        &self,
        manager: FieldManager,
        object: &Value,
        pointers: &[String],
        dry_run: bool,
    ) -> Result<Value, Error> {
        let (resource, namespace, name) = self.place(object)?;
        let version = object.resource_version();
        let version = version.ok_or_else(|| Error::flawed(&resource.kind, Some(name), "has no resourceVersion"))?;
        // Not `test`: its failure looks like that of a malformed patch.
        let unchanged = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version});
        let removals = pointers.iter().map(|path| json!({"op": "remove", "path": path}));
        let operations: Vec<Value> = std::iter::once(unchanged).chain(removals).collect();
        let parameters = PatchParams {
            dry_run,
            field_manager: Some(manager.0.into()),
            ..PatchParams::default()
        };
        let path = DynamicObject::url_path(&resource, Some(namespace));
        let (subject, client) = (Subject::of_resource(&resource), self.client());
        let send = || {
            let client = client.clone();
            let request = Request::new(&path).patch(name, &parameters, &Patch::Merge(&operations));
            async move {
                let mut request = request.map_err(kube::Error::BuildRequest)?;
                let kind = HeaderValue::from_static("application/json-patch+json");
                request.headers_mut().insert(CONTENT_TYPE, kind);
                client.request::<DynamicObject>(request).await
            }
        };
        let changed = self.call(&subject, Verb::Patch, name, send).await?;
        if !dry_run {
            written::note(&resource.kind, name, Some(changed.metadata.clone()));
        }
        whole(changed, &resource)
    }

    async fn patch_any(&self, manager: FieldManager, object: &Value, dry_run: bool) -> Result<Value, Error> {
        let (resource, namespace, name) = self.place(object)?;
        let api = self.any(&resource, namespace);
        let parameters = PatchParams {
            dry_run,
            ..applying(manager.0)
        };
        let patch = Patch::Apply(object);
        let subject = Subject::of_resource(&resource);
        let applied = self
            .call(&subject, Verb::Patch, name, || api.patch(name, &parameters, &patch))
            .await?;
        if !dry_run {
            written::note(&resource.kind, name, Some(applied.metadata.clone()));
        }
        whole(applied, &resource)
    }

    /// Creates an object, validated strictly. False if one of that name exists: the caller must check whose it is.
    ///
    /// # Errors
    /// See [`Error`]. An existing object is no error.
    pub async fn create_any(&self, manager: FieldManager, object: &Value) -> Result<bool, Error> {
        let (resource, namespace, name) = self.place(object)?;
        let path = DynamicObject::url_path(&resource, Some(namespace));
        let parameters = PostParams {
            dry_run: false,
            field_manager: Some(manager.0.into()),
        };
        let subject = Subject::of_resource(&resource);
        let client = self.client();
        let send = || {
            let (client, request) = (
                client.clone(),
                Request::new(&path).create(&parameters, object.to_string().into_bytes()),
            );
            async move {
                let mut request = request.map_err(kube::Error::BuildRequest)?;
                // kube has no parameter for it, and without it the server drops fields that it does not know.
                if let Ok(strict) = format!("{}&fieldValidation=Strict", request.uri()).parse() {
                    *request.uri_mut() = strict;
                }
                client.request::<DynamicObject>(request).await
            }
        };
        match self.call(&subject, Verb::Create, name, send).await {
            Ok(_) => Ok(true),
            // Also if our first try succeeded and only its answer was lost.
            Err(error) if error.fault == Fault::AlreadyExists => Ok(false),
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
        self.delete_with(self.place(object)?, &parameters).await
    }

    /// Deletes this object, even if its status has changed, but nothing that it owns. It exists until Kubernetes has
    /// orphaned its dependents.
    ///
    /// # Errors
    /// See [`Error`]; [`Fault::Conflict`] if it is another object. A missing object is no error.
    pub async fn delete_alone<K: Kind>(&self, object: &K) -> Result<(), Error> {
        let (namespace, name) = super::place(object)?;
        let parameters = DeleteParams::orphan().preconditions(Preconditions {
            uid: object.meta().uid.clone(),
            resource_version: None,
        });
        self.delete_with((ApiResource::erase::<K>(&()), namespace, name), &parameters)
            .await
    }

    async fn delete_with(
        &self,
        (resource, namespace, name): (ApiResource, &str, &str),
        parameters: &DeleteParams,
    ) -> Result<(), Error> {
        let api = self.any(&resource, namespace);
        let subject = Subject::of_resource(&resource);
        match self
            .call(&subject, Verb::Delete, name, || api.delete(name, parameters))
            .await
        {
            Ok(_) => {
                written::note(&resource.kind, name, None);
                Ok(())
            }
            Err(error) if error.fault == Fault::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn any(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client(), namespace, &self.exact(resource))
    }

    fn place<'o>(&self, object: &'o Value) -> Result<(ApiResource, &'o str, &'o str), Error> {
        let (resource, namespace, name) = object.place()?;
        Ok((self.exact(&resource), namespace, name))
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

/// Lists leave apiVersion and kind out of their items.
fn whole(object: DynamicObject, resource: &ApiResource) -> Result<Value, Error> {
    let name = object.metadata.name.clone();
    let value = serde_json::to_value(object).map_err(|_| Error::flawed(&resource.kind, name.as_deref(), "is not JSON"));
    let mut value = value?;
    value.set_kind(resource);
    Ok(value)
}
