//! Reads, creates and applies objects of a cluster over a connection that stays open. Tests that wait for something
//! look at it five times a second: with `kubectl`, each look costs a process, a TLS handshake and an authentication.

use super::Cluster;
use super::client::{connect, twice};
use crate::runtime::finish;
use crate::{WAIT_TIMEOUT, try_wait_for_value};
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{
    Api, DeleteParams, DynamicObject, EvictParams, ListParams, LogParams, Patch, PatchParams, PostParams, TypeMeta,
};
use kube::discovery::{ApiCapabilities, ApiGroup, ApiResource, Discovery, Scope, verbs};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// `kubectl`'s: a later `kubectl apply --server-side` of the same objects meets no conflict.
const FIELD_MANAGER: &str = "kubectl";

/// The connection, and the kinds that the server had when one was last missing.
#[derive(Default)]
pub(super) struct Connection {
    client: OnceLock<Client>,
    kinds: Mutex<Vec<(ApiResource, ApiCapabilities)>>,
}

// === impl Cluster ===

impl Cluster {
    /// What `kubectl get WHAT --output=json` prints: the object for `kind/name`, and `items` for a kind, or for several
    /// with commas between them.
    ///
    /// # Errors
    /// There is no such object or kind.
    pub fn get(&self, namespace: &str, what: &str) -> Result<Value> {
        if what.contains('/') {
            let found = self.find(namespace, what)?;
            return found.with_context(|| format!("there is no {what}"));
        }
        let mut items = Vec::new();
        for kind in what.split(',') {
            items.extend(self.list(namespace, kind, "")?);
        }
        Ok(json!({"items": items}))
    }

    /// The object for `kind/name`, if there is one.
    ///
    /// # Errors
    /// There is no such kind.
    pub fn find(&self, namespace: &str, what: &str) -> Result<Option<Value>> {
        let (kind, name) = what.split_once('/').context("no kind/name")?;
        let (_, api) = self.objects(namespace, kind)?;
        let found = twice(|| {
            let (api, name) = (api.clone(), name.to_owned());
            async move { api.get_opt(&name).await }
        })?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// The objects of a kind that this label selector selects. `namespace`: empty for all.
    ///
    /// # Errors
    /// There is no such kind, or the selector is malformed.
    pub fn list(&self, namespace: &str, kind: &str, selector: &str) -> Result<Vec<Value>> {
        let (resource, api) = self.objects(namespace, kind)?;
        Self::list_of(&resource, &api, selector)
    }

    /// All objects, each in the preferred version of its group.
    ///
    /// # Errors
    /// A kind cannot be listed, for example because its definition is being deleted.
    pub fn all(&self) -> Result<Vec<Value>> {
        let mut objects = Vec::new();
        for (resource, abilities) in self.discover()? {
            if abilities.supports_operation(verbs::LIST) {
                let api = self.api("", &resource, &abilities)?;
                objects.extend(Self::list_of(&resource, &api, "")?);
            }
        }
        Ok(objects)
    }

    fn list_of(resource: &ApiResource, api: &Api<DynamicObject>, selector: &str) -> Result<Vec<Value>> {
        let query = ListParams::default().labels(selector);
        let found = twice(|| {
            let (api, query) = (api.clone(), query.clone());
            async move { api.list(&query).await }
        })?;
        // The API server leaves their kind out of a list.
        let typed = |object: DynamicObject| {
            serde_json::to_value(DynamicObject {
                types: Some(TypeMeta {
                    api_version: resource.api_version.clone(),
                    kind: resource.kind.clone(),
                }),
                ..object
            })
        };
        Ok(found.items.into_iter().map(typed).collect::<Result<_, _>>()?)
    }

    /// As `kubectl apply --server-side` does, in this order. `namespace`: of objects that name none.
    ///
    /// # Errors
    /// The server refuses one: the following ones are not applied.
    pub fn apply(&self, namespace: &str, objects: &[Value]) -> Result<()> {
        self.apply_as(&PatchParams::apply(FIELD_MANAGER), namespace, objects)
    }

    /// As [`Self::apply`] with `--force-conflicts`.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn force_apply(&self, namespace: &str, objects: &[Value]) -> Result<()> {
        self.apply_as(&PatchParams::apply(FIELD_MANAGER).force(), namespace, objects)
    }

    fn apply_as(&self, how: &PatchParams, namespace: &str, objects: &[Value]) -> Result<()> {
        let how = how.clone().validation_strict();
        for object in objects {
            let api = self.api_of(namespace, object)?;
            let name = object["metadata"]["name"].as_str().context("no name")?;
            let applied = twice(|| {
                let (api, name, object, how) = (api.clone(), name.to_owned(), object.clone(), how.clone());
                async move { api.patch(&name, &how, &Patch::Apply(object)).await }
            });
            applied.with_context(|| format!("{} '{name}'", object["kind"]))?;
        }
        Ok(())
    }

    /// As `kubectl create` does. `namespace`: of an object that names none.
    ///
    /// # Errors
    /// The server refuses it, or it exists.
    pub fn create(&self, namespace: &str, object: &Value) -> Result<()> {
        let api = self.api_of(namespace, object)?;
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        finish(async move { Ok(api.create(&PostParams::default(), &object).await?) })?;
        Ok(())
    }

    /// Requests that the object for `kind/name` is deleted.
    ///
    /// # Errors
    /// There is no such object or kind.
    pub fn delete(&self, namespace: &str, what: &str) -> Result<()> {
        let (kind, name) = what.split_once('/').context("no kind/name")?;
        let (_, api) = self.objects(namespace, kind)?;
        let name = name.to_owned();
        finish(async move { Ok(api.delete(&name, &DeleteParams::default()).await?) })?;
        Ok(())
    }

    /// The last lines of a container's log.
    ///
    /// # Errors
    /// There is no such container, or it has not started.
    pub fn tail(&self, namespace: &str, pod: &str, container: &str, lines: i64) -> Result<String> {
        let pods: Api<Pod> = Api::namespaced(self.client()?, namespace);
        let query = LogParams {
            container: Some(container.to_owned()),
            tail_lines: Some(lines),
            ..LogParams::default()
        };
        twice(|| {
            let (pods, pod, query) = (pods.clone(), pod.to_owned(), query.clone());
            async move { pods.logs(&pod, &query).await }
        })
    }

    /// Whether the disruption budget allows the eviction of a pod now, which it begins.
    ///
    /// # Errors
    /// The server refuses it for another reason.
    pub fn evict(&self, namespace: &str, pod: &str) -> Result<bool> {
        let pods: Api<Pod> = Api::namespaced(self.client()?, namespace);
        let pod = pod.to_owned();
        finish(async move {
            match pods.evict(&pod, &EvictParams::default()).await {
                Ok(_) => Ok(true),
                Err(kube::Error::Api(refusal)) if refusal.message.contains("disruption budget") => Ok(false),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Sets a label of a namespace.
    ///
    /// # Errors
    /// There is no such namespace.
    pub fn label_namespace(&self, namespace: &str, label: &str, value: &str) -> Result<()> {
        let (_, api) = self.objects("", "namespace")?;
        let labels = json!({"metadata": {"labels": {label: value}}});
        twice(|| {
            let (api, name, labels) = (api.clone(), namespace.to_owned(), labels.clone());
            async move { api.patch(&name, &PatchParams::default(), &Patch::Merge(labels)).await }
        })?;
        Ok(())
    }

    fn api_of(&self, namespace: &str, object: &Value) -> Result<Api<DynamicObject>> {
        let api_version = object["apiVersion"].as_str().context("no apiVersion")?;
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let (mut resource, abilities) = self.resource(|one| one.group == group && object["kind"] == one.kind)?;
        resource.version = version.to_owned();
        resource.api_version = api_version.to_owned();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(namespace);
        self.api(namespace, &resource, &abilities)
    }

    /// By one of the names that `kubectl` accepts: of the kind, or plural, with the group or without.
    fn objects(&self, namespace: &str, kind: &str) -> Result<(ApiResource, Api<DynamicObject>)> {
        let kind = kind.to_lowercase();
        let (name, group) = kind.split_once('.').unwrap_or((&kind, ""));
        let is_it = |one: &ApiResource| {
            let is_named = one.plural == name || one.kind.to_lowercase() == name;
            is_named && (group.is_empty() || one.group == group)
        };
        let (resource, abilities) = self
            .resource(is_it)
            .with_context(|| format!("the server has no kind '{kind}'"))?;
        let api = self.api(namespace, &resource, &abilities)?;
        Ok((resource, api))
    }

    fn api(&self, namespace: &str, resource: &ApiResource, abilities: &ApiCapabilities) -> Result<Api<DynamicObject>> {
        let client = self.client()?;
        Ok(match abilities.scope {
            Scope::Namespaced if !namespace.is_empty() => Api::namespaced_with(client, namespace, resource),
            _ => Api::all_with(client, resource),
        })
    }

    fn resource(&self, is_it: impl Fn(&ApiResource) -> bool) -> Result<(ApiResource, ApiCapabilities)> {
        let is_it = |(resource, _): &&(ApiResource, ApiCapabilities)| is_it(resource);
        if let Some(found) = self.connection.kinds.lock().iter().find(is_it) {
            return Ok(found.clone());
        }
        let all = self.discover()?;
        let found = all.iter().find(is_it).cloned();
        *self.connection.kinds.lock() = all;
        found.context("the server has no such kind")
    }

    /// The kinds of now. A group that another test defines or deletes meanwhile may be in the list, and have no kinds.
    fn discover(&self) -> Result<Vec<(ApiResource, ApiCapabilities)>> {
        let client = self.client()?;
        let look = || {
            let client = client.clone();
            finish(async move { Ok(Discovery::new(client).run().await?) })
        };
        let all = try_wait_for_value("the kinds of the server", WAIT_TIMEOUT, look)?;
        // The core group comes first: without a group, events are its.
        let groups = all.groups_alphabetical().into_iter();
        Ok(groups.flat_map(ApiGroup::recommended_resources).collect())
    }

    fn client(&self) -> Result<Client> {
        if let Some(client) = self.connection.client.get() {
            return Ok(client.clone());
        }
        let client = finish(connect(self.kubeconfig()))?;
        Ok(self.connection.client.get_or_init(|| client).clone())
    }
}

/// Whether a condition of an object is true.
pub(super) fn has_condition(object: &Value, kind: &str) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == kind && one["status"] == "True")
}

// === impl Connection ===

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").finish_non_exhaustive()
    }
}
