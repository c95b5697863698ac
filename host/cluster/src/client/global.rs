//! Cluster-scoped objects: a few kinds, each read and written by name.

use super::call::{Subject, body};
use super::write::{apply_params, merge_params, of_same_version, post_params, preconditions};
use super::{Cluster, Error, ErrorKind, FieldManager, Verb};
use k8s_openapi::ClusterResourceScope;
use kube::api::{DeleteParams, GetParams, Patch};
use kube::core::Request;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

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
        let request = path::<K>().get(name, &GetParams::default());
        self.find(&Subject::of::<K>(), name, request).await
    }

    /// Like [`Cluster::create`].
    ///
    /// # Errors
    /// See [`Error`]. An existing object is no error.
    pub async fn create_global<K: GlobalKind>(&self, manager: FieldManager, object: &K) -> Result<Option<K>, Error> {
        let name = object.name_any();
        let request = body(object).and_then(|body| path::<K>().create(&post_params(manager), body));
        match self.call(&Subject::of::<K>(), Verb::Create, &name, request).await {
            Err(error) if error.kind == ErrorKind::AlreadyExists => Ok(None),
            made => made.map(Some),
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
        let request = path::<K>().patch(name, &apply_params(manager.0), &Patch::Apply(object));
        self.call(&Subject::of::<K>(), Verb::Patch, name, request).await
    }

    /// Replaces a subresource of an object, such as `approval`, if the object has not changed since it was read.
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when it has changed.
    pub async fn replace_part<K: GlobalKind>(
        &self,
        manager: FieldManager,
        part: &'static str,
        object: &K,
    ) -> Result<K, Error> {
        let name = object.name_any();
        let request =
            body(object).and_then(|body| path::<K>().replace_subresource(part, &name, &post_params(manager), body));
        self.call(&Subject::of_part::<K>(part), Verb::Update, &name, request)
            .await
    }

    /// Like [`Cluster::merge`].
    ///
    /// # Errors
    /// See [`Error`]; [`ErrorKind::Conflict`] when it has changed.
    pub async fn merge_global<K: GlobalKind>(
        &self,
        manager: FieldManager,
        object: &K,
        members: Value,
    ) -> Result<K, Error> {
        let name = object.name_any();
        let patch = of_same_version(object, members);
        let request = path::<K>().patch(&name, &merge_params(manager), &Patch::Merge(patch));
        self.call(&Subject::of::<K>(), Verb::Patch, &name, request).await
    }

    /// Like [`Cluster::delete`].
    ///
    /// # Errors
    /// See [`Error`]. A missing object is no error.
    pub async fn delete_global<K: GlobalKind>(&self, object: &K) -> Result<(), Error> {
        let name = object.name_any();
        let parameters = DeleteParams::background().preconditions(preconditions(object.meta()));
        let request = path::<K>().delete(&name, &parameters);
        self.deleted(&Subject::of::<K>(), &name, request).await
    }
}

fn path<K: GlobalKind>() -> Request {
    Request::new(K::url_path(&(), None))
}
