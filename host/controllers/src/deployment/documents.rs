//! The documents that a BOSHDeployment refers to: its manifest and its ops files.

use super::stop::Stop;
use crate::api::{BoshDeploymentSpec, ReferenceType, ResourceReference};
use crate::client::Cluster;
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

/// What a reference leads to.
struct Found {
    /// `configmap/scale/ops`: how diagnostics name it.
    name: String,
    bytes: Vec<u8>,
    secret: bool,
}

/// Reads all of them, so that all that is missing is told at once.
pub(super) async fn read(cluster: &Cluster, namespace: &str, spec: &BoshDeploymentSpec) -> Result<Documents, Stop> {
    let mut sources = Sources::default();
    let mut errors = Vec::new();
    let mut read = Vec::new();
    let ops = spec.ops.iter().enumerate();
    let references = std::iter::once((&spec.manifest, MANIFEST, "/spec/manifest".to_string()))
        .chain(ops.map(|(nth, one)| (one, OPS, format!("/spec/ops/{nth}"))));
    for (reference, key, place) in references {
        let found = find(cluster, namespace, reference, key).await?;
        match found.map_err(|error| error.in_document("boshdeployment").at(place)) {
            Ok(found) => match document(&found, &mut sources) {
                Ok(document) => read.push(document),
                Err(error) => errors.push(error),
            },
            Err(error) => errors.push(error),
        }
    }
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

fn document(found: &Found, sources: &mut Sources) -> Result<Document, Diagnostic> {
    let document = yaml::read_bytes(&found.name, &found.bytes)?;
    sources.add_document(document.clone(), found.secret);
    Ok(document)
}

async fn find(
    cluster: &Cluster,
    namespace: &str,
    reference: &ResourceReference,
    key: &str,
) -> Result<Result<Found, Diagnostic>, Stop> {
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
        ReferenceType::Url => {
            let error = Diagnostic::error(
                "deployment-url",
                format!("'{name}' cannot be fetched: urls are not read yet"),
            )
            .help("put the document into a ConfigMap");
            return Ok(Err(error));
        }
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
