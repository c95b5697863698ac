//! Cluster-scoped objects: a few kinds, each read and written by name.

use super::error::Subject;
use super::{Cluster, Created, Error, Fault, FieldManager, Verb, applying};
use k8s_openapi::ClusterResourceScope;
use kube::api::{Api, DeleteParams, Patch, PostParams, Preconditions};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

/// A cluster-scoped kind.
pub trait GlobalKind:
    Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned + Serialize
{
}

impl<K> GlobalKind for K where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned + Serialize
{
}

// === impl Cluster ===

impl Cluster {
    /// Like [`Cluster::get`].
    ///
    /// # Errors
    /// See [`Error`]. A missing object is no error.
    pub async fn get_global<K: GlobalKind>(&self, name: &str) -> Result<Option<K>, Error> {
        let api: Api<K> = Api::all(self.client());
        self.call(&Subject::of::<K>(), Verb::Get, name, || api.get_opt(name))
            .await
    }

    /// Like [`Cluster::create`].
    ///
    /// # Errors
    /// See [`Error`]. An existing object is no error.
    pub async fn create_global<K: GlobalKind>(&self, manager: FieldManager, object: &K) -> Result<Created<K>, Error> {
        let api: Api<K> = Api::all(self.client());
        let (name, parameters) = (object.name_any(), written_by(manager));
        let subject = Subject::of::<K>();
        let made = self.call(&subject, Verb::Create, &name, || api.create(&parameters, object));
        match made.await {
            Ok(made) => Ok(Created::Made(made)),
            Err(error) if error.fault == Fault::AlreadyExists => Ok(Created::Exists),
            Err(error) => Err(error),
        }
    }

    /// Like [`Cluster::apply`].
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn apply_global<K: GlobalKind>(
        &self,
        manager: FieldManager,
        name: &str,
        object: &Value,
    ) -> Result<K, Error> {
        let api: Api<K> = Api::all(self.client());
        let parameters = applying(manager.0);
        let patch = Patch::Apply(object);
        self.call(&Subject::of::<K>(), Verb::Patch, name, || {
            api.patch(name, &parameters, &patch)
        })
        .await
    }

    /// Replaces a subresource of an object, such as `approval`, if the object has not changed since it was read.
    ///
    /// # Errors
    /// See [`Error`]; [`Fault::Conflict`] when it has changed.
    pub async fn replace_part<K: GlobalKind>(
        &self,
        manager: FieldManager,
        part: &'static str,
        object: &K,
    ) -> Result<K, Error> {
        let api: Api<K> = Api::all(self.client());
        let (name, parameters) = (object.name_any(), written_by(manager));
        let subject = Subject::of_part::<K>(part);
        self.call(&subject, Verb::Update, &name, || {
            api.replace_subresource(part, &name, &parameters, object)
        })
        .await
    }

    /// Like [`Cluster::delete`].
    ///
    /// # Errors
    /// See [`Error`]. A missing object is no error.
    pub async fn delete_global<K: GlobalKind>(&self, object: &K) -> Result<(), Error> {
        let api: Api<K> = Api::all(self.client());
        let name = object.name_any();
        let parameters = DeleteParams::background().preconditions(Preconditions {
            uid: object.meta().uid.clone(),
            resource_version: object.meta().resource_version.clone(),
        });
        let subject = Subject::of::<K>();
        let deleted = self.call(&subject, Verb::Delete, &name, || api.delete(&name, &parameters));
        match deleted.await {
            Ok(_) => Ok(()),
            Err(error) if error.fault == Fault::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn written_by(manager: FieldManager) -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(manager.0.into()),
    }
}
