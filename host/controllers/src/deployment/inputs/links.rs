//! The links from outside of a deployment: what native Secrets and Services provide to it, and what other deployments
//! share.

use super::{digests, shared_links};
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::observe;
use crate::deployment::reconcile::Reconcile;
use boson_api::deployment::{Input, InputKind};
use boson_cluster::client::{Error, Kind};
use boson_document::{Pointer, Tree, json};
use boson_pipeline::external::{
    self, MAX_NATIVE_BYTES, MAX_NATIVE_INSTANCES, MAX_NATIVE_OBJECTS, Native, Object, SERVICE_LABEL,
};
use boson_pipeline::stage::External;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use std::collections::BTreeSet;

struct Fetched {
    /// Its name in diagnostics: `secret/db`.
    document: String,
    tree: Tree,
}

/// Reads all links, and notes the digests of what provides them. Messages about the manifest do not contain their
/// values from then on.
pub async fn read(run: &Reconcile<'_>, manifest: &mut Manifest) -> Result<External, DeployError> {
    let fetched = fetch(run).await?;
    let objects: Vec<Object<'_>> = fetched.iter().map(Fetched::object).collect();
    let Native { links, diagnostics } = external::native(&objects, &run.deployment.name);
    let external = External {
        native: links,
        deployments: shared_links::read(run, manifest).await?,
    };
    let mut secrets = external::secrets(&external);
    secrets.except_names(&manifest.tree);
    manifest.secrets_mut().add(secrets);
    if diagnostics.iter().any(boson_pipeline::Diagnostic::is_error) {
        return Err(manifest.errors(diagnostics));
    }
    manifest.warnings.extend(diagnostics);
    Ok(external)
}

/// The Secrets and Services that provide links to the deployment, and the endpoints of the Services. Stops early if
/// they are too large together, which [`external::native`] reports.
async fn fetch(run: &Reconcile<'_>) -> Result<Vec<Fetched>, Error> {
    let cluster = &run.context.cluster;
    let (mut fetched, mut bytes, mut endpoints) = (Vec::new(), 0, 0);
    for name in names::<Secret>(run, "Secret").await? {
        let Some(mut secret) = cluster.get::<Secret>(run.namespace, &name).await? else {
            continue;
        };
        let data = secret.data.iter().flatten();
        bytes += data.map(|(key, value)| key.len() + value.0.len()).sum::<usize>();
        run.progress
            .uses([input("secret", &name, digests::of_secret(&secret.metadata))]);
        secret.metadata.managed_fields = None;
        fetched.push(Fetched::new("secret", &secret));
        if bytes > MAX_NATIVE_BYTES {
            return Ok(fetched);
        }
    }
    for name in names::<Service>(run, "Service").await? {
        let Some(mut service) = cluster.get::<Service>(run.namespace, &name).await? else {
            continue;
        };
        service.metadata.managed_fields = None;
        let labels = format!("{SERVICE_LABEL}={name}");
        let slices: Vec<EndpointSlice> = cluster.list(run.namespace, &labels).await?;
        endpoints += slices.iter().map(|slice| slice.endpoints.len()).sum::<usize>();
        let first = fetched.len();
        fetched.push(Fetched::new("service", &service));
        let slices = slices.into_iter().map(without_times);
        fetched.extend(slices.map(|slice| Fetched::new("endpointslice", &slice)));
        let state: Vec<String> = fetched.iter().skip(first).map(|one| json::to_text(&one.tree)).collect();
        run.progress
            .uses([input("service", &name, digests::of_bytes(state.concat().as_bytes()))]);
        if endpoints > MAX_NATIVE_INSTANCES {
            break;
        }
    }
    Ok(fetched)
}

/// Without what changes although the endpoints are the same.
fn without_times(mut slice: EndpointSlice) -> EndpointSlice {
    slice.metadata = ObjectMeta {
        name: slice.metadata.name,
        namespace: slice.metadata.namespace,
        labels: slice.metadata.labels,
        ..ObjectMeta::default()
    };
    slice
}

/// The names of the objects of a kind that provide links to the deployment, one more than it may have at most.
async fn names<K: Kind>(run: &Reconcile<'_>, kind: &str) -> Result<BTreeSet<String>, Error> {
    let names = match observe::linked(run.context, run.object, kind).await {
        Some(names) => names,
        // Without the cache, the metadata of all objects is listed.
        None => {
            let all = run.context.cluster.list_metadata::<K>(run.namespace, "").await?;
            let marked = all.into_iter().filter(is_marked);
            marked.filter_map(|meta| meta.name).collect()
        }
    };
    Ok(names.into_iter().take(MAX_NATIVE_OBJECTS + 1).collect())
}

fn is_marked(meta: &ObjectMeta) -> bool {
    let annotations = meta.annotations.as_ref();
    external::is_marked(|key| annotations.is_some_and(|all| all.contains_key(key)))
}

fn input(kind: &str, name: &str, digest: String) -> Input {
    Input {
        kind: InputKind::Link,
        name: format!("{kind}/{name}"),
        digest,
    }
}

// === impl Fetched ===

impl Fetched {
    fn new<K: Kind>(kind: &str, object: &K) -> Self {
        let text = serde_json::to_string(object).unwrap_or_default();
        Self {
            document: format!("{kind}/{}", object.name_any()),
            // The API server's objects are JSON.
            tree: json::parse(&text).unwrap_or_default(),
        }
    }

    fn object(&self) -> Object<'_> {
        Object {
            document: &self.document,
            pointer: Pointer::root(),
            tree: &self.tree,
        }
    }
}
