//! Calls to the API server, each bounded: 10 seconds for an answer, at most two more tries after an answer that says
//! "not now".
//!
//! kube waits for ever and retries 15 times; a call without an answer would block its object until the operator
//! restarts. All writes of all controllers use this module, so that they are counted and limited in one place.

mod call;
mod connect;
mod containers;
mod discovery;
mod dynamic;
mod error;
mod events;
mod global;
mod identity;
mod lists;
mod managers;
mod namespaced;
mod object;
mod outage;
pub mod recorded;
mod resource;
mod retry;
mod status_patch;
mod watch_backoff;
pub mod written;

pub use connect::{Connection, connect};
pub use containers::{Container, Ended, Input};
pub use discovery::Served;
pub use error::{Error, ErrorKind};
pub use global::GlobalKind;
pub use identity::{Identity, NamespacedName, owner, pod_identity};
pub use kube::Client;
pub use kube::api::{AttachedProcess, LogParams, TerminalSize};
pub use managers::{OPERATOR_PREFIX, managers};
pub use namespaced::{Kind, api, api_of_any};
pub use object::{AnyObject, ManagedFields, Target};
pub use resource::resource;
pub(crate) use resource::resource_of;
pub use watch_backoff::WatchBackoff;

use call::body;
use error::Subject;
pub use events::{Events, Notice};
pub(crate) use outage::Outage;
use recorded::Recorded;

use crate::metrics::Metrics;
use boson_pipeline::bundle::kinds::Kind as AdditionalKind;
use k8s_openapi::api::core::v1::Namespace;
use kube::Resource;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, ValidationDirective};
use kube::core::Request;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for one answer. Watches are bounded by kube's own idle timeout instead.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The owner of the fields that an apply sets: one name per controller, so that two of them never take fields from each
/// other unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldManager(pub &'static str);

/// A verb, as in RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Get,
    List,
    Create,
    Update,
    Patch,
    Delete,
}

/// The API server, for controllers.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    metrics: Arc<Metrics>,
    outage: Outage,
    recorded: Recorded,
    answer: Duration,
    /// Kinds that an administrator allows besides those that every conversion may create.
    additional: Arc<[AdditionalKind]>,
}

// === impl Verb ===

impl Verb {
    /// Its name in RBAC.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

// === impl Cluster ===

impl Cluster {
    /// With a client that does not retry by itself: see [`connect()`].
    pub fn new(client: Client, metrics: Arc<Metrics>) -> Self {
        let answer = ANSWER_TIMEOUT;
        Self {
            client,
            metrics,
            outage: Outage::default(),
            recorded: Recorded::default(),
            answer,
            additional: Arc::default(),
        }
    }

    /// Sets the kinds that an administrator allows besides those that every conversion may create.
    #[must_use]
    pub fn with_kinds(mut self, additional: Vec<AdditionalKind>) -> Self {
        self.additional = additional.into();
        self
    }

    /// The kinds that an administrator allows besides those that every conversion may create.
    pub fn additional_kinds(&self) -> &[AdditionalKind] {
        &self.additional
    }

    /// Sets another limit for one answer.
    #[must_use]
    pub fn with_answer_timeout(mut self, answer: Duration) -> Self {
        self.answer = answer;
        self
    }

    /// The client, for watches.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether the API server answers.
    pub(crate) fn outage(&self) -> &Outage {
        &self.outage
    }

    /// The events of this process that are not written yet.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The present object. A quorum read, never from a cache, because decisions about secrets depend on it.
    ///
    /// # Errors
    /// See [`Error`]. A missing object is no error.
    pub async fn get<K: Kind>(&self, namespace: &str, name: &str) -> Result<Option<K>, Error> {
        let request = path::<K>(namespace).get(name, &GetParams::default());
        self.find(&Subject::of::<K>(), name, request).await
    }

    /// The namespace itself.
    ///
    /// # Errors
    /// See [`Error`]. A missing namespace is no error.
    pub async fn namespace(&self, name: &str) -> Result<Option<Namespace>, Error> {
        self.get_global(name).await
    }

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
    pub async fn merge<K: Kind>(
        &self,
        manager: FieldManager,
        object: &K,
        members: serde_json::Value,
    ) -> Result<K, Error> {
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
        members: serde_json::Value,
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
        let status = status_patch::whole(object, status);
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
        let parameters = parameters.preconditions(Preconditions {
            uid: object.meta().uid.clone(),
            resource_version: object.meta().resource_version.clone(),
        });
        let request = path::<K>(namespace).delete(name, &parameters);
        self.deleted(&Subject::of::<K>(), name, request).await
    }
}

/// The objects of a kind in a namespace.
fn path<K: Kind>(namespace: &str) -> Request {
    Request::new(K::url_path(&(), Some(namespace)))
}

fn post_params(manager: FieldManager) -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(manager.0.into()),
    }
}

/// A patch that is no server-side apply.
fn merge_params(manager: FieldManager) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.0.into()),
        ..PatchParams::default()
    }
}

/// A patch of exactly this object, as it was read.
fn of_same_version<K: Resource>(object: &K, mut patch: serde_json::Value) -> serde_json::Value {
    patch.set_resource_version(object.meta().resource_version.as_deref());
    patch.set_uid(object.meta().uid.as_deref());
    patch
}

/// Server-side apply. Forced: else a conflict after a `kubectl edit` would stop the operator for ever.
fn apply_params(manager: &str) -> PatchParams {
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

/// Namespace and name.
fn place<K: Kind>(object: &K) -> Result<(&str, &str), Error> {
    let meta = object.meta();
    let lacks = |what| move || Error::flawed(&K::kind(&()), meta.name.as_deref(), what);
    let namespace = meta.namespace.as_deref().ok_or_else(lacks("has no namespace"))?;
    Ok((namespace, meta.name.as_deref().ok_or_else(lacks("has no name"))?))
}
