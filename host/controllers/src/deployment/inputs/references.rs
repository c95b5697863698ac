//! The documents that a BOSHDeployment refers to: its manifest, its ops files, its cloud configs and its runtime
//! configs. `documents` reads them.

use super::digests::{self, Source};
use crate::codes;
use crate::conversion::Web;
use boson_api::deployment::InputKind;
use boson_api::{BoshDeploymentSpec, ReferenceType, ResourceReference};
use boson_cluster::client::{Cluster, Error};
use boson_in_pod::codes as in_pod_codes;
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use std::collections::BTreeMap;
use std::slice;

/// What a reference names, and the key of its document.
type Named = (InputKind, &'static str);

const MANIFEST: Named = (InputKind::Manifest, "manifest");
const OPS: Named = (InputKind::Ops, "ops");
const CLOUD_CONFIG: Named = (InputKind::CloudConfig, "cloud-config");
const RUNTIME_CONFIG: Named = (InputKind::RuntimeConfig, "runtime-config");

/// A reference of a specification.
pub struct Reference<'a> {
    pub to: &'a ResourceReference,
    pub kind: InputKind,
    /// Key of its document.
    pub key: &'static str,
    /// Its place in the BOSHDeployment, as a JSON pointer.
    pub pointer: String,
}

pub struct Found {
    /// Its name in diagnostics: `configmap/scale/ops`.
    pub name: String,
    pub bytes: Vec<u8>,
    pub secret: bool,
    pub digest: String,
}

pub fn references(spec: &BoshDeploymentSpec) -> impl Iterator<Item = Reference<'_>> {
    // In the pointers, `-` stands for the index in a list.
    let parts = [
        (MANIFEST, "/spec/manifest", slice::from_ref(&spec.manifest)),
        (OPS, "/spec/ops/-", &spec.ops[..]),
        (CLOUD_CONFIG, "/spec/cloudConfig", spec.cloud_config.as_slice()),
        (CLOUD_CONFIG, "/spec/cloudConfigs/-", &spec.cloud_configs[..]),
        (RUNTIME_CONFIG, "/spec/runtimeConfigs/-", &spec.runtime_configs[..]),
    ];
    parts.into_iter().flat_map(|((kind, key), pointer, all)| {
        all.iter().enumerate().map(move |(nth, to)| Reference {
            to,
            kind,
            key,
            pointer: match pointer.strip_suffix('-') {
                Some(list) => format!("{list}{nth}"),
                None => pointer.into(),
            },
        })
    })
}

pub fn source(reference: &Reference<'_>, digest: Option<String>) -> Source {
    let to = reference.to;
    let folder = match to.kind {
        ReferenceType::Configmap => "configmap/",
        ReferenceType::Secret => "secret/",
        ReferenceType::Url => "",
    };
    Source {
        kind: reference.kind,
        // A query may hold a token.
        name: format!("{folder}{}", without_query(&to.name)),
        digest,
        is_url: to.kind == ReferenceType::Url,
    }
}

/// The present state of the Secrets of `spec.vars`.
pub async fn given(cluster: &Cluster, namespace: &str, spec: &BoshDeploymentSpec) -> Result<Vec<Source>, Error> {
    let mut given = Vec::new();
    for variable in &spec.vars {
        let secret: Option<Secret> = cluster.get(namespace, &variable.secret).await?;
        given.push(Source {
            kind: InputKind::Variable,
            name: format!("{} secret/{}", variable.name, variable.secret),
            digest: secret.map(|secret| digests::of_secret(&secret.metadata)),
            is_url: false,
        });
    }
    Ok(given)
}

/// The present digest of everything that a specification refers to. The status has the same once the operator has read
/// it.
pub async fn digest_now(cluster: &Cluster, namespace: &str, spec: &BoshDeploymentSpec) -> Result<String, Error> {
    let mut all = Vec::new();
    for reference in references(spec) {
        let found = match reference.to.kind {
            ReferenceType::Url => None,
            _ => read_object(cluster, namespace, reference.to, reference.key).await?.ok(),
        };
        all.push(source(&reference, found.map(|found| found.digest)));
    }
    all.extend(given(cluster, namespace, spec).await?);
    Ok(digests::digest(&all))
}

pub async fn fetch(web: &dyn Web, url: &str) -> Result<Found, Diagnostic> {
    let bytes = web.document(url).await?;
    Ok(Found {
        digest: digests::of_bytes(&bytes),
        bytes,
        // A query may hold a token, and conditions quote names.
        name: without_query(url).to_string(),
        secret: false,
    })
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

pub async fn read_object(
    cluster: &Cluster,
    namespace: &str,
    reference: &ResourceReference,
    key: &str,
) -> Result<Result<Found, Diagnostic>, Error> {
    let name = &reference.name;
    let (kind, data) = match reference.kind {
        ReferenceType::Configmap => {
            let object: Option<ConfigMap> = cluster.get(namespace, name).await?;
            let entry = |object: ConfigMap| {
                let names = names(&object.data).chain(names(&object.binary_data)).collect();
                let bytes = config_map_entry(object, key).ok_or(NoKey(names))?;
                Ok((digests::of_bytes(&bytes), bytes))
            };
            ("ConfigMap", object.map(entry))
        }
        ReferenceType::Secret => {
            let object: Option<Secret> = cluster.get(namespace, name).await?;
            let entry = |object: Secret| {
                let names = names(&object.data).collect();
                let entry = object.data.unwrap_or_default().remove(key).ok_or(NoKey(names))?;
                Ok((digests::of_secret(&object.metadata), entry.0))
            };
            ("Secret", object.map(entry))
        }
        // The caller fetches those.
        ReferenceType::Url => ("url", None),
    };
    Ok(match data {
        Some(Ok((digest, bytes))) => Ok(Found {
            name: format!("{}/{name}/{key}", kind.to_lowercase()),
            digest,
            bytes,
            secret: reference.kind == ReferenceType::Secret,
        }),
        Some(Err(NoKey(names))) => Err(Diagnostic::error(
            in_pod_codes::DEPLOYMENT_NO_KEY,
            format!("{kind} '{name}' has no key '{key}'"),
        )
        .help(key_help(key, &names))),
        None => Err(Diagnostic::error(
            codes::DEPLOYMENT_NOT_FOUND,
            format!("there is no {kind} '{name}' in this namespace"),
        )
        .help("create it; the deployment then continues automatically")),
    })
}

/// An object without the wanted key: the keys that it has.
struct NoKey(Vec<String>);

/// Most keys that a message lists.
const MAX_LISTED_KEYS: usize = 10;

fn key_help(key: &str, names: &[String]) -> String {
    let listed = match names {
        [] => return format!("put the document under the key '{key}'; it has no keys"),
        names => names.iter().take(MAX_LISTED_KEYS).map(|name| format!("'{name}'")),
    };
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = if names.len() > MAX_LISTED_KEYS { ", ..." } else { "" };
    format!("put the document under the key '{key}'; it has {listed}{more}")
}

fn names<V>(data: &Option<BTreeMap<String, V>>) -> impl Iterator<Item = String> {
    data.iter().flat_map(BTreeMap::keys).cloned()
}

fn config_map_entry(object: ConfigMap, key: &str) -> Option<Vec<u8>> {
    let text = object.data.unwrap_or_default().remove(key).map(String::into_bytes);
    text.or_else(|| object.binary_data.unwrap_or_default().remove(key).map(|bytes| bytes.0))
}
