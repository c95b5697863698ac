//! OCI image layouts: a directory, or an archive of one. Every blob is checked against its digest before it is used.

use super::{Part, Parts, bad, digest_of, manifest_digest};
use boson_oci::{Section, path};
use boson_pipeline::Diagnostic;
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Largest index, manifest or configuration, in bytes. Registries refuse more than 4 MiB.
const DOCUMENT: u64 = 4 << 20;
/// Most nested indexes.
const INDEXES: usize = 3;

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
    let mut document = json(name, &bytes(name, &index)?)?;
    for _ in 0..INDEXES {
        let picked = pick(name, &document)?;
        let (digest, text) = blob(name, find, picked)?;
        document = json(name, &text)?;
        if document.get("layers").is_some() {
            return image(name, find, &document, digest);
        }
    }
    Err(bad(name, "has indexes of indexes that end nowhere"))
}

fn image(name: &str, find: &Find<'_>, manifest: &Value, digest: String) -> Result<Parts, Diagnostic> {
    let (_, config) = blob(name, find, &manifest["config"])?;
    let mut layers = Vec::new();
    for layer in manifest["layers"].as_array().map_or(&[][..], Vec::as_slice) {
        let (digest, content) = section(name, find, layer)?;
        let got = digest_of(&content).map_err(|error| bad(name, &format!("cannot be read: {error}")))?;
        if got != digest {
            return Err(bad(name, "has a layer that is not what its digest says").help("it is damaged: get it again"));
        }
        layers.push(Part {
            media_type: layer["mediaType"].as_str().unwrap_or_default().to_owned(),
            digest: Some(digest),
            content,
        });
    }
    Ok(Parts { digest, config, layers })
}

/// The image for this platform, or the only one.
fn pick<'d>(name: &str, index: &'d Value) -> Result<&'d Value, Diagnostic> {
    let all = index["manifests"].as_array().map_or(&[][..], Vec::as_slice);
    let images: Vec<&Value> = all
        .iter()
        .filter(|entry| {
            entry["platform"]["os"] != "unknown" && entry["annotations"]["vnd.docker.reference.type"].is_null()
        })
        .collect();
    let ours =
        |entry: &&&Value| entry["platform"]["os"] == "linux" && entry["platform"]["architecture"] == architecture();
    match (images.as_slice(), images.iter().find(ours)) {
        ([one], _) | (_, Some(one)) => Ok(one),
        ([], _) => Err(bad(name, "holds no image")),
        _ => Err(bad(name, "holds several images").help("make a layout of one image, for Linux on this architecture")),
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
fn blob(name: &str, find: &Find<'_>, descriptor: &Value) -> Result<(String, Vec<u8>), Diagnostic> {
    let (digest, content) = section(name, find, descriptor)?;
    let bytes = bytes(name, &content)?;
    match manifest_digest(&bytes) == digest {
        true => Ok((digest, bytes)),
        false => Err(bad(name, "has a document that is not what its digest says").help("it is damaged: get it again")),
    }
}

fn section(name: &str, find: &Find<'_>, descriptor: &Value) -> Result<(String, Section), Diagnostic> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
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
    if section.size() > DOCUMENT {
        return Err(bad(name, "has a document of more than 4 MiB"));
    }
    let size = usize::try_from(section.size()).unwrap_or_default();
    section
        .part(0, size)
        .map_err(|error| bad(name, &format!("cannot be read: {error}")))
}

/// A JSON document.
pub(super) fn json(name: &str, bytes: &[u8]) -> Result<Value, Diagnostic> {
    serde_json::from_slice(bytes).map_err(|_| bad(name, "has a document that is not JSON"))
}
