//! The documents that a BOSHDeployment refers to: its manifest and its ops files.

use super::flow::Flow;
use super::inputs;
use super::stop::Stop;
use crate::api::deployment::{Input, InputKind};
use crate::api::{BoshDeploymentSpec, ReferenceType, ResourceReference};
use crate::client::{Cluster, Error};
use crate::conversion::Web;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml::{self, Document};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

/// Key of a manifest.
const MANIFEST: &str = "manifest";
/// Key of an ops file.
const OPS: &str = "ops";

/// What was read.
pub(super) struct Documents {
    pub manifest: Document,
    pub ops: Vec<Document>,
    /// For the places of diagnostics.
    pub sources: Sources,
}

/// Something that the specification refers to, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// `configmap/scale`.
    pub name: String,
    /// See [`inputs`]; none where there is no such thing.
    pub digest: Option<String>,
    /// Whether a web server gives it.
    pub is_url: bool,
}

/// What was found of them.
pub(super) struct Looked {
    /// Those that could be read, the manifest first.
    read: Vec<Document>,
    /// What is wrong with the others.
    pub errors: Vec<Diagnostic>,
    pub sources: Sources,
    /// What the documents are, the manifest first.
    pub found: Vec<Source>,
}

/// What a reference leads to.
struct Found {
    /// `configmap/scale/ops`: how diagnostics name it.
    name: String,
    bytes: Vec<u8>,
    secret: bool,
    digest: String,
}

// === impl Flow ===

impl Flow<'_> {
    /// Reads all documents, and notes what they are.
    pub(super) async fn look(&self) -> Result<Looked, Error> {
        let (cluster, web) = (&self.context.cluster, &*self.context.conversion.web);
        let spec = &self.object.spec;
        let looked = look(cluster, web, self.namespace, spec).await?;
        self.progress.uses(looked.inputs());
        let mut all = looked.found.clone();
        all.extend(given(cluster, self.namespace, spec).await?);
        self.progress.has_read(inputs::digest(&all));
        Ok(looked)
    }
}

/// Reads those that are there, and says what is wrong with the others.
async fn look(cluster: &Cluster, web: &dyn Web, namespace: &str, spec: &BoshDeploymentSpec) -> Result<Looked, Error> {
    let mut looked = Looked {
        read: Vec::new(),
        errors: Vec::new(),
        sources: Sources::default(),
        found: Vec::new(),
    };
    for (reference, key, place) in references(spec) {
        let found = match reference.kind {
            ReferenceType::Url => fetch(web, &reference.name).await,
            _ => find(cluster, namespace, reference, key).await?,
        };
        let digest = found.as_ref().ok().map(|found| found.digest.clone());
        looked.found.push(source(reference, digest));
        let found = found.map_err(|error| error.in_document("boshdeployment").at(place));
        match found.and_then(|found| document(&found, &mut looked.sources)) {
            Ok(document) => looked.read.push(document),
            Err(error) => looked.errors.push(error),
        }
    }
    Ok(looked)
}

/// The documents in their order, each with its key and its place.
fn references(spec: &BoshDeploymentSpec) -> impl Iterator<Item = (&ResourceReference, &'static str, String)> {
    let ops = spec.ops.iter().enumerate();
    std::iter::once((&spec.manifest, MANIFEST, "/spec/manifest".to_string()))
        .chain(ops.map(|(nth, one)| (one, OPS, format!("/spec/ops/{nth}"))))
}

fn source(reference: &ResourceReference, digest: Option<String>) -> Source {
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

/// The Secrets of `spec.vars`, as they are now.
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

/// The digest of all that a specification refers to, as it is now: what the status has once the operator has read the same.
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

impl Looked {
    /// The documents, as what a deployment is made from.
    pub(super) fn inputs(&self) -> impl Iterator<Item = Input> {
        let kind = |nth| if nth == 0 { InputKind::Manifest } else { InputKind::Ops };
        let found = self.found.iter().enumerate();
        found.map(move |(nth, source)| inputs::document(kind(nth), source))
    }

    /// All documents, where nothing is wrong with any.
    pub(super) fn whole(self) -> Result<Documents, Stop> {
        let Self {
            read,
            errors,
            mut sources,
            ..
        } = self;
        if !errors.is_empty() {
            return Err(Stop::wrong(errors, &sources));
        }
        let mut read = read.into_iter();
        let Some(manifest) = read.next() else {
            return Err(Stop::Waiting("the manifest".into()));
        };
        sources.set_main(&manifest.name);
        Ok(Documents {
            manifest,
            ops: read.collect(),
            sources,
        })
    }
}

fn document(found: &Found, sources: &mut Sources) -> Result<Document, Diagnostic> {
    let document = yaml::read_bytes(&found.name, &found.bytes)?;
    sources.add_document(document.clone(), found.secret);
    Ok(document)
}

/// Whether any of the documents is on a web server, which tells nobody when it changes.
pub(super) fn on_the_web(spec: &BoshDeploymentSpec) -> bool {
    let mut all = std::iter::once(&spec.manifest).chain(&spec.ops);
    all.any(|reference| reference.kind == ReferenceType::Url)
}

async fn fetch(web: &dyn Web, url: &str) -> Result<Found, Diagnostic> {
    let bytes = web.document(url).await?;
    Ok(Found {
        digest: inputs::of_bytes(&bytes),
        bytes,
        // A query may hold a token, and names stand in conditions.
        name: without_query(url).to_string(),
        secret: false,
    })
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

async fn find(
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
        // Those are fetched.
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
                .help(format!("the document goes under the key '{key}'")),
        ),
        None => Err(Diagnostic::error(
            "deployment-not-found",
            format!("there is no {kind} '{name}' in this namespace"),
        )
        .help("create it; the deployment goes on by itself then")),
    })
}

fn config_map_entry(object: ConfigMap, key: &str) -> Option<Vec<u8>> {
    let text = object.data.unwrap_or_default().remove(key).map(String::into_bytes);
    text.or_else(|| object.binary_data.unwrap_or_default().remove(key).map(|bytes| bytes.0))
}
