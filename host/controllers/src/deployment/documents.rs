//! The documents that a BOSHDeployment refers to: its manifest and its ops files.

use super::stop::Stop;
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

/// What was found of them.
pub(super) struct Looked {
    /// Those that could be read, the manifest first.
    read: Vec<Document>,
    /// What is wrong with the others.
    pub errors: Vec<Diagnostic>,
    pub sources: Sources,
}

/// What a reference leads to.
struct Found {
    /// `configmap/scale/ops`: how diagnostics name it.
    name: String,
    bytes: Vec<u8>,
    secret: bool,
}

/// Reads all of them, so that all that is missing is told at once.
pub(super) async fn read(
    cluster: &Cluster,
    web: &dyn Web,
    namespace: &str,
    spec: &BoshDeploymentSpec,
) -> Result<Documents, Stop> {
    look(cluster, web, namespace, spec).await?.whole()
}

/// Reads those that are there, and says what is wrong with the others.
pub(super) async fn look(
    cluster: &Cluster,
    web: &dyn Web,
    namespace: &str,
    spec: &BoshDeploymentSpec,
) -> Result<Looked, Error> {
    let mut looked = Looked {
        read: Vec::new(),
        errors: Vec::new(),
        sources: Sources::default(),
    };
    let ops = spec.ops.iter().enumerate();
    let references = std::iter::once((&spec.manifest, MANIFEST, "/spec/manifest".to_string()))
        .chain(ops.map(|(nth, one)| (one, OPS, format!("/spec/ops/{nth}"))));
    for (reference, key, place) in references {
        let found = match reference.kind {
            ReferenceType::Url => fetch(web, &reference.name).await,
            _ => find(cluster, namespace, reference, key).await?,
        };
        let found = found.map_err(|error| error.in_document("boshdeployment").at(place));
        match found.and_then(|found| document(&found, &mut looked.sources)) {
            Ok(document) => looked.read.push(document),
            Err(error) => looked.errors.push(error),
        }
    }
    Ok(looked)
}

// === impl Looked ===

impl Looked {
    /// All documents, where nothing is wrong with any.
    pub(super) fn whole(self) -> Result<Documents, Stop> {
        let Self {
            read,
            errors,
            mut sources,
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
    Ok(Found {
        bytes: web.document(url).await?,
        // A query may hold a token, and names stand in conditions.
        name: url.split(['?', '#']).next().unwrap_or_default().to_string(),
        secret: false,
    })
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
            ("ConfigMap", object.map(|object| config_map_entry(object, key)))
        }
        ReferenceType::Secret => {
            let object: Option<Secret> = cluster.get(namespace, name).await?;
            let entry = |object: Secret| object.data.unwrap_or_default().remove(key).map(|bytes| bytes.0);
            ("Secret", object.map(entry))
        }
        // Those are fetched.
        ReferenceType::Url => ("url", None),
    };
    Ok(match data {
        Some(Some(bytes)) => Ok(Found {
            name: format!("{}/{name}/{key}", kind.to_lowercase()),
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
