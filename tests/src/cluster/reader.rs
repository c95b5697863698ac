//! Reads objects of a cluster over a connection that stays open. Tests that wait for something look at it five times a
//! second: with `kubectl`, each look costs a process, a TLS handshake and an authentication.

use super::Cluster;
use anyhow::{Context, Result};
use kube::api::{Api, DynamicObject, ListParams, TypeMeta};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::discovery::{ApiCapabilities, ApiResource, Scope};
use kube::discovery::Discovery;
use kube::{Client, Config};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};
use tokio::runtime::Runtime;

/// In the audit log, tests tell by it whether a request is of the operator or theirs.
const USER_AGENT: &str = "kubectl/tests";

static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
});

/// The connection, and the kinds that the server had when one was last missing.
#[derive(Default)]
pub(super) struct Reader {
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
        if let Some((kind, name)) = what.split_once('/') {
            let (_, api) = self.objects(namespace, kind)?;
            let name = name.to_string();
            let found = twice(|| {
                let (api, name) = (api.clone(), name.clone());
                async move { api.get(&name).await }
            })?;
            return Ok(serde_json::to_value(found)?);
        }
        let mut items = Vec::new();
        for kind in what.split(',') {
            items.extend(self.list(namespace, kind, "")?);
        }
        Ok(json!({"items": items}))
    }

    /// The objects of a kind that this label selector selects.
    ///
    /// # Errors
    /// There is no such kind, or the selector is malformed.
    pub fn list(&self, namespace: &str, kind: &str, selector: &str) -> Result<Vec<Value>> {
        let (resource, api) = self.objects(namespace, kind)?;
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

    fn objects(&self, namespace: &str, kind: &str) -> Result<(ApiResource, Api<DynamicObject>)> {
        let (resource, abilities) = self.resource(kind)?;
        let client = self.client()?;
        let api = match abilities.scope {
            Scope::Namespaced => Api::namespaced_with(client, namespace, &resource),
            Scope::Cluster => Api::all_with(client, &resource),
        };
        Ok((resource, api))
    }

    /// By one of the names that `kubectl` accepts: of the kind, or plural, with the group or without.
    fn resource(&self, kind: &str) -> Result<(ApiResource, ApiCapabilities)> {
        let kind = kind.to_lowercase();
        let (name, group) = kind.split_once('.').unwrap_or((&kind, ""));
        let is_it = |(resource, _): &&(ApiResource, ApiCapabilities)| {
            let is_named = resource.plural == name || resource.kind.to_lowercase() == name;
            is_named && (group.is_empty() || resource.group == group)
        };
        if let Some(found) = self.reader.kinds.lock().iter().find(is_it) {
            return Ok(found.clone());
        }
        let client = self.client()?;
        let all = finish(async move { Ok(Discovery::new(client).run().await?) })?;
        // The core group comes first: without a group, events are its.
        let all: Vec<_> = all
            .groups_alphabetical()
            .into_iter()
            .flat_map(kube::discovery::ApiGroup::recommended_resources)
            .collect();
        let found = all.iter().find(is_it).cloned();
        *self.reader.kinds.lock() = all;
        found.with_context(|| format!("the server has no kind '{kind}'"))
    }

    fn client(&self) -> Result<Client> {
        if let Some(client) = self.reader.client.get() {
            return Ok(client.clone());
        }
        let client = finish(connect(self.kubeconfig()))?;
        Ok(self.reader.client.get_or_init(|| client).clone())
    }
}

async fn connect(kubeconfig: PathBuf) -> Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config
        .headers
        .push((http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT)));
    // What fails is to fail in the test.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

/// A second time if there was no answer: the server may have ended the connection, for example because it restarted.
fn twice<T, F>(ask: impl Fn() -> F) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = kube::Result<T>> + Send + 'static,
{
    let once = || {
        let answer = ask();
        finish(async move { Ok(answer.await) })
    };
    Ok(match once()? {
        Err(error) if !matches!(error, kube::Error::Api(_)) => once()??,
        answer => answer?,
    })
}

/// Also for tests that have a runtime, in which another one cannot be waited for.
fn finish<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let runtime = RUNTIME.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let (sender, receiver) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        let _ = sender.send(work.await);
    });
    receiver.recv().context("the request was ended")?
}

// === impl Reader ===

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").finish_non_exhaustive()
    }
}
