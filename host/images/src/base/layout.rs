//! OCI image layouts: a directory, or an archive of one. Every blob is checked against its digest before it is used.

use super::{Part, Parts, bad, digest_of, manifest_digest};
use boson_oci::{Section, path};
use boson_pipeline::Diagnostic;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Largest index, manifest or configuration, in bytes. Registries refuse more than 4 MiB.
const MAX_DOCUMENT_BYTES: u64 = 4 << 20;
/// Most nested indexes.
const MAX_NESTED_INDEXES: usize = 3;

/// Annotation of an attestation, which is listed beside the image that it is about.
const ATTESTS: &str = "vnd.docker.reference.type";

/// An index of images, or the manifest of one, which has layers.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    manifests: Vec<Descriptor>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

/// What refers to a blob.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    digest: String,
    #[serde(default)]
    media_type: String,
    platform: Option<Platform>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Platform {
    os: String,
    architecture: String,
}

/// Finds the file at a path of the layout.
pub(super) type Find<'f> = dyn Fn(&str) -> Option<Section> + 'f;

/// Reads the layout in a directory.
pub(super) fn directory(root: &Path, name: &str) -> Result<Parts, Diagnostic> {
    if !root.join("oci-layout").is_file() {
        return Err(bad(name, "is a directory without an OCI image layout")
            .help("expected a directory with `oci-layout`, an archive of an image, or its name in a registry"));
    }
    let find = |path: &str| {
        let file = File::open(root.join(path)).ok()?;
        let data = file.metadata().ok().filter(|data| data.is_file())?;
        Some(Section::new(Arc::new(file), 0, data.len()))
    };
    read(name, &find)
}

/// Reads the one image of a layout.
pub(super) fn read(name: &str, find: &Find<'_>) -> Result<Parts, Diagnostic> {
    let index = find("index.json").ok_or_else(|| bad(name, "has no index.json"))?;
    let mut document: Document = json(name, &bytes(name, &index)?)?;
    for _ in 0..MAX_NESTED_INDEXES {
        let picked = pick(name, &document.manifests)?;
        let (digest, text) = blob(name, find, picked)?;
        document = json(name, &text)?;
        if let Some(layers) = &document.layers {
            return image(name, find, document.config.as_ref(), layers, digest);
        }
    }
    Err(bad(name, "has endless indexes of indexes"))
}

fn image(
    name: &str,
    find: &Find<'_>,
    config: Option<&Descriptor>,
    listed: &[Descriptor],
    digest: String,
) -> Result<Parts, Diagnostic> {
    let config = config.ok_or_else(|| bad(name, "has a manifest without a configuration"))?;
    let (_, config) = blob(name, find, config)?;
    let mut layers = Vec::new();
    for layer in listed {
        let (digest, content) = section(name, find, layer)?;
        let got = digest_of(&content).map_err(|error| bad(name, &format!("cannot be read: {error}")))?;
        if got != digest {
            return Err(
                bad(name, "has a layer that does not match its digest").help("it is damaged: download it again")
            );
        }
        layers.push(Part {
            media_type: layer.media_type.clone(),
            digest: Some(digest),
            content,
        });
    }
    Ok(Parts { digest, config, layers })
}

/// The image for this platform, or the only one.
fn pick<'d>(name: &str, all: &'d [Descriptor]) -> Result<&'d Descriptor, Diagnostic> {
    let is_image = |entry: &&Descriptor| {
        let platform = entry.platform.as_ref();
        platform.is_none_or(|platform| platform.os != "unknown") && !entry.annotations.contains_key(ATTESTS)
    };
    let images: Vec<&Descriptor> = all.iter().filter(is_image).collect();
    let ours = |entry: &&&Descriptor| {
        let platform = entry.platform.as_ref();
        platform.is_some_and(|platform| platform.os == "linux" && platform.architecture == architecture())
    };
    match (images.as_slice(), images.iter().find(ours)) {
        ([one], _) | (_, Some(one)) => Ok(one),
        ([], _) => Err(bad(name, "holds no image")),
        _ => {
            Err(bad(name, "holds several images")
                .help("create a layout with one image, for Linux on this architecture"))
        }
    }
}

/// Go's name for this machine's architecture, which registries use.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A small blob, checked.
fn blob(name: &str, find: &Find<'_>, descriptor: &Descriptor) -> Result<(String, Vec<u8>), Diagnostic> {
    let (digest, content) = section(name, find, descriptor)?;
    let bytes = bytes(name, &content)?;
    if manifest_digest(&bytes) == digest {
        Ok((digest, bytes))
    } else {
        Err(bad(name, "has a document that does not match its digest").help("it is damaged: download it again"))
    }
}

fn section(name: &str, find: &Find<'_>, descriptor: &Descriptor) -> Result<(String, Section), Diagnostic> {
    let digest = descriptor.digest.as_str();
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    // Other characters could form a path outside the layout.
    let is_digest = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_digest {
        return Err(bad(name, "has a descriptor without a sha256 digest"));
    }
    let found = find(&path(digest)).ok_or_else(|| bad(name, &format!("lacks the blob {digest}")))?;
    Ok((digest.to_owned(), found))
}

/// The content of a document.
pub(super) fn bytes(name: &str, section: &Section) -> Result<Vec<u8>, Diagnostic> {
    if section.size() > MAX_DOCUMENT_BYTES {
        return Err(bad(name, "has a document of more than 4 MiB"));
    }
    let size = usize::try_from(section.size()).unwrap_or_default();
    section
        .part(0, size)
        .map_err(|error| bad(name, &format!("cannot be read: {error}")))
}

/// A JSON document.
pub(super) fn json<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, Diagnostic> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            bad(name, "has a document of an unsupported form")
        } else {
            bad(name, "has a document that is not JSON")
        }
    })
}
