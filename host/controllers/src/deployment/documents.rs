//! The documents that a BOSHDeployment refers to: its manifest, its ops files and its cloud configs. `reading` reads them.

use super::flow::Flow;
use super::inputs;
use super::reading::Reader;
use super::stop::Stop;
use crate::conversion::Web;
use boson_api::deployment::{Input, InputKind};
use boson_api::{BoshDeploymentSpec, ReferenceType, ResourceReference};
use boson_budget::Share;
use boson_cluster::client::{Cluster, Error};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::yaml::Document;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use std::sync::Arc;

/// Key of a manifest.
const MANIFEST: &str = "manifest";
/// Key of an ops file.
const OPS: &str = "ops";

/// Key of a cloud config.
const CLOUD_CONFIG: &str = "cloud-config";

/// The documents of a deployment, without errors.
pub(super) struct Documents {
    pub manifest: Arc<Document>,
    /// In the order of the specification; a file that is named twice is in the list twice.
    pub ops: Vec<Arc<Document>>,
    pub cloud_configs: Vec<Arc<Document>>,
    /// For the positions of diagnostics.
    pub sources: Sources,
    /// The memory that the conversion may use for them.
    pub share: Share,
    /// The values in those of them that are Secrets.
    pub secrets: Secrets,
}

/// The present state of something that the specification refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// `configmap/scale`.
    pub name: String,
    /// See [`inputs`]; none if it does not exist.
    pub digest: Option<String>,
    /// Whether it is on a web server.
    pub is_url: bool,
}

/// The documents of a deployment, as far as they could be read.
pub(super) struct ReadDocuments {
    /// Those that could be read: the manifest, ops files, cloud configs.
    pub read: Vec<Arc<Document>>,
    /// How many of the documents are ops files.
    pub ops: usize,
    /// What is wrong with the others.
    pub errors: Vec<Diagnostic>,
    pub sources: Sources,
    /// The state of each document, the manifest first.
    pub found: Vec<Source>,
    /// The memory that the conversion may use; none if there is nothing to convert.
    pub share: Option<Share>,
    /// The values in those documents that are Secrets.
    pub secrets: Secrets,
}

/// A document that was found.
pub(super) struct Found {
    /// Its name in diagnostics: `configmap/scale/ops`.
    pub name: String,
    pub bytes: Vec<u8>,
    pub secret: bool,
    pub digest: String,
}

// === impl Flow ===

impl Flow<'_> {
    /// Reads all documents, and notes their digests.
    pub(super) async fn read_documents(&self) -> Result<ReadDocuments, Stop> {
        let (conversion, spec) = (&self.context.conversion, &self.object.spec);
        let reader = Reader {
            cluster: &self.context.cluster,
            web: &*conversion.web,
            budget: &conversion.budget,
            namespace: self.namespace,
        };
        let read = reader.read(spec).await?;
        self.progress.uses(read.inputs());
        let mut all = read.found.clone();
        all.extend(given(reader.cluster, self.namespace, spec).await?);
        self.progress.has_read(inputs::digest(&all));
        Ok(read)
    }
}

/// The references in order, each with the key of its document and its JSON pointer.
pub(super) fn references(
    spec: &BoshDeploymentSpec,
) -> impl Iterator<Item = (&ResourceReference, &'static str, String)> {
    let ops = spec.ops.iter().enumerate();
    let first = spec.cloud_config.iter();
    let more = spec.cloud_configs.iter().enumerate();
    std::iter::once((&spec.manifest, MANIFEST, "/spec/manifest".to_string()))
        .chain(ops.map(|(nth, one)| (one, OPS, format!("/spec/ops/{nth}"))))
        .chain(first.map(|one| (one, CLOUD_CONFIG, "/spec/cloudConfig".to_string())))
        .chain(more.map(|(nth, one)| (one, CLOUD_CONFIG, format!("/spec/cloudConfigs/{nth}"))))
}

pub(super) fn source(reference: &ResourceReference, digest: Option<String>) -> Source {
    let kind = match reference.kind {
        ReferenceType::Configmap => "configmap/",
        ReferenceType::Secret => "secret/",
        ReferenceType::Url => "",
    };
    Source {
        // A query may hold a token.
        name: format!("{kind}{}", without_query(&reference.name)),
        digest,
        is_url: reference.kind == ReferenceType::Url,
    }
}

/// The present state of the Secrets of `spec.vars`.
pub(super) async fn given(cluster: &Cluster, namespace: &str, spec: &BoshDeploymentSpec) -> Result<Vec<Source>, Error> {
    let mut given = Vec::new();
    for variable in &spec.vars {
        let secret: Option<Secret> = cluster.get(namespace, &variable.secret).await?;
        given.push(Source {
            name: format!("{} secret/{}", variable.name, variable.secret),
            digest: secret.map(|secret| inputs::of_secret(&secret.metadata)),
            is_url: false,
        });
    }
    Ok(given)
}

/// The present digest of everything that a specification refers to. The status has the same once the operator has read it.
pub(crate) async fn digest_now(cluster: &Cluster, namespace: &str, spec: &BoshDeploymentSpec) -> Result<String, Error> {
    let mut all = Vec::new();
    for (reference, key, _) in references(spec) {
        let found = match reference.kind {
            ReferenceType::Url => None,
            _ => find(cluster, namespace, reference, key).await?.ok(),
        };
        all.push(source(reference, found.map(|found| found.digest)));
    }
    all.extend(given(cluster, namespace, spec).await?);
    Ok(inputs::digest(&all))
}

// === impl Looked ===

impl ReadDocuments {
    /// The documents, as inputs of the deployment.
    pub(super) fn inputs(&self) -> impl Iterator<Item = Input> {
        let kind = |nth| match nth {
            0 => InputKind::Manifest,
            nth if nth <= self.ops => InputKind::Ops,
            _ => InputKind::CloudConfig,
        };
        let found = self.found.iter().enumerate();
        found.map(move |(nth, source)| inputs::document(kind(nth), source))
    }

    /// All documents, if none has an error.
    pub(super) fn whole(self) -> Result<Documents, Stop> {
        let Self {
            read,
            ops,
            errors,
            mut sources,
            share,
            secrets,
            ..
        } = self;
        if !errors.is_empty() {
            return Err(Stop::wrong(errors, &sources));
        }
        let mut read = read.into_iter();
        let (Some(manifest), Some(share)) = (read.next(), share) else {
            return Err(Stop::Waiting("the manifest".into()));
        };
        sources.set_main(&manifest.name);
        Ok(Documents {
            manifest,
            ops: read.by_ref().take(ops).collect(),
            cloud_configs: read.collect(),
            sources,
            share,
            secrets,
        })
    }
}

/// Whether any of the documents is on a web server, which sends no event when it changes.
pub(super) fn on_the_web(spec: &BoshDeploymentSpec) -> bool {
    spec.documents().any(|reference| reference.kind == ReferenceType::Url)
}

pub(super) async fn fetch(web: &dyn Web, url: &str) -> Result<Found, Diagnostic> {
    let bytes = web.document(url).await?;
    Ok(Found {
        digest: inputs::of_bytes(&bytes),
        bytes,
        // A query may hold a token, and conditions quote names.
        name: without_query(url).to_string(),
        secret: false,
    })
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

pub(super) async fn find(
    cluster: &Cluster,
    namespace: &str,
    reference: &ResourceReference,
    key: &str,
) -> Result<Result<Found, Diagnostic>, Error> {
    let name = &reference.name;
    let (kind, data) = match reference.kind {
        ReferenceType::Configmap => {
            let object: Option<ConfigMap> = cluster.get(namespace, name).await?;
            let entry = |object| {
                let bytes = config_map_entry(object, key)?;
                Some((inputs::of_bytes(&bytes), bytes))
            };
            ("ConfigMap", object.map(entry))
        }
        ReferenceType::Secret => {
            let object: Option<Secret> = cluster.get(namespace, name).await?;
            let entry = |object: Secret| {
                let bytes = object.data.unwrap_or_default().remove(key)?.0;
                Some((inputs::of_secret(&object.metadata), bytes))
            };
            ("Secret", object.map(entry))
        }
        // The caller fetches those.
        ReferenceType::Url => ("url", None),
    };
    Ok(match data {
        Some(Some((digest, bytes))) => Ok(Found {
            name: format!("{}/{name}/{key}", kind.to_lowercase()),
            digest,
            bytes,
            secret: reference.kind == ReferenceType::Secret,
        }),
        Some(None) => Err(
            Diagnostic::error("deployment-no-key", format!("{kind} '{name}' has no key '{key}'"))
                .help(format!("put the document under the key '{key}'")),
        ),
        None => Err(Diagnostic::error(
            "deployment-not-found",
            format!("there is no {kind} '{name}' in this namespace"),
        )
        .help("create it; the deployment then continues automatically")),
    })
}

fn config_map_entry(object: ConfigMap, key: &str) -> Option<Vec<u8>> {
    let text = object.data.unwrap_or_default().remove(key).map(String::into_bytes);
    text.or_else(|| object.binary_data.unwrap_or_default().remove(key).map(|bytes| bytes.0))
}
