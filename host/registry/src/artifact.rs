//! Manifests of components: OCI artifacts of the CNCF's guidance for Wasm, and what other tools push. Pure.
//!
//! | tool | configuration | layer |
//! |---|---|---|
//! | `host plugin push`, `wkg oci push` | `application/vnd.wasm.config.v0+json` | `application/wasm` |
//! | older tools | `application/vnd.wasm.config.v1+json` | `application/vnd.wasm.content.layer.v1+wasm`, `+wasm` |
//! | `oras push` | `application/vnd.oci.empty.v1+json` | any, with the name of a file that ends with `.wasm` |

use crate::error::Error;
use crate::manifest::{Layer, is_digest};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Layers and entries of a manifest.
const MAX_PARTS: usize = 256;
/// Annotation of a layer: the name of its file.
const TITLE: &str = "org.opencontainers.image.title";

/// What a manifest refers to.
#[derive(Debug)]
pub(crate) enum Artifact {
    /// The layer that is a component.
    Component(Layer),
    /// The digest of the manifest for components in an index.
    Index(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    layers: Option<Vec<Part>>,
    manifests: Option<Vec<Entry>>,
}

/// A layer with its annotations.
#[derive(Deserialize)]
struct Part {
    #[serde(flatten)]
    layer: Layer,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    digest: String,
    platform: Option<Platform>,
    /// What an entry is that belongs to another one, such as its signature.
    artifact_type: Option<String>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
}

// === impl Artifact ===

impl Artifact {
    /// Reads a manifest or an index.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        let document: Document = serde_json::from_slice(body).map_err(|_| unreadable())?;
        match (document.schema_version, document.layers, document.manifests) {
            (2, Some(layers), None) if layers.len() <= MAX_PARTS => component(layers).map(Self::Component),
            (2, None, Some(entries)) if entries.len() <= MAX_PARTS => entry(entries).map(Self::Index),
            _ => Err(unreadable()),
        }
    }
}

/// The layer with the component: the only one of WebAssembly, by its media type or by the name of its file; or the only
/// layer.
fn component(layers: Vec<Part>) -> Result<Layer, Error> {
    let by_type = |part: &Part| {
        let media_type = part.layer.media_type.as_str();
        media_type == "application/wasm" || media_type.ends_with("+wasm")
    };
    let by_name = |part: &Part| {
        let title = part.annotations.get(TITLE);
        title.is_some_and(|title| title.ends_with(".wasm"))
    };
    let only = layers.len() == 1;
    let is_archive = |part: &Part| part.layer.media_type.contains(".tar");
    let is_component: &dyn Fn(&Part) -> bool = match (layers.iter().any(by_type), layers.iter().any(by_name)) {
        (true, _) => &by_type,
        (false, true) => &by_name,
        (false, false) => &|part: &Part| only && !is_archive(part),
    };
    let mut found = layers.into_iter().filter(is_component).map(|part| part.layer);
    match (found.next(), found.next()) {
        (Some(layer), None) if is_digest(&layer.digest) => Ok(layer),
        (Some(_), None) => Err(unreadable()),
        (Some(_), Some(_)) => Err(Error::Format(
            "has several layers with WebAssembly",
            "push each component as an image of its own",
        )),
        (None, _) => Err(Error::Format(
            "has no layer with WebAssembly",
            "push the component with `host plugin push`",
        )),
    }
}

/// The manifest for components, or the only one.
fn entry(entries: Vec<Entry>) -> Result<String, Error> {
    let is_wasm = |entry: &Entry| {
        let platform = entry.platform.as_ref();
        platform.is_some_and(|platform| platform.architecture == "wasm")
    };
    let belongs = |entry: &Entry| {
        let platform = entry.platform.as_ref();
        entry.artifact_type.is_some() || platform.is_some_and(|platform| platform.architecture == "unknown")
    };
    let has_wasm = entries.iter().any(is_wasm);
    let candidates = entries
        .into_iter()
        .filter(|entry| if has_wasm { is_wasm(entry) } else { !belongs(entry) });
    let mut digests = candidates.map(|entry| entry.digest);
    match (digests.next(), digests.next()) {
        (Some(digest), None) if is_digest(&digest) => Ok(digest),
        _ => Err(Error::Format(
            "is an index without exactly one image for the architecture 'wasm'",
            "name the digest of the image itself",
        )),
    }
}

fn unreadable() -> Error {
    Error::Format(
        "has an unsupported format",
        "push the component with `host plugin push`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<String, String> {
        let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
        let body = body.replace("DIGEST", &digest("a")).replace("OTHER", &digest("b"));
        match Artifact::read(body.as_bytes()) {
            Ok(Artifact::Component(layer)) => Ok(layer.digest[7..8].to_string()),
            Ok(Artifact::Index(digest)) => Ok(format!("index {}", &digest[7..8])),
            Err(failure) => Err(failure.explain_component("r/x").message),
        }
    }

    fn layers(of: &[(&str, &str, &str)]) -> String {
        let one = |(digest, media_type, title): &(&str, &str, &str)| {
            format!(
                r#"{{"digest":"{digest}","size":1,"mediaType":"{media_type}","annotations":{{"org.opencontainers.image.title":"{title}"}}}}"#
            )
        };
        let all: Vec<String> = of.iter().map(one).collect();
        format!(r#"{{"schemaVersion":2,"config":{{}},"layers":[{}]}}"#, all.join(","))
    }

    #[test]
    fn the_layer_with_webassembly_is_found_however_it_was_pushed() {
        const OLD: &str = "application/vnd.wasm.content.layer.v1+wasm";
        const TAR: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
        for (of, expected) in [
            (&[("DIGEST", "application/wasm", "")][..], Ok("a")),
            (&[("DIGEST", OLD, "x")], Ok("a")),
            (
                &[("OTHER", "text/plain", "README"), ("DIGEST", "application/wasm", "")],
                Ok("a"),
            ),
            (
                &[
                    ("OTHER", TAR, "cases.tar.gz"),
                    ("DIGEST", "application/octet-stream", "my.wasm"),
                ],
                Ok("a"),
            ),
            (&[("DIGEST", "", "")], Ok("a")),
            (&[("DIGEST", TAR, "")], Err("no layer with WebAssembly")),
            (
                &[("DIGEST", "a", ""), ("OTHER", "b", "")],
                Err("no layer with WebAssembly"),
            ),
            (&[], Err("no layer with WebAssembly")),
            (
                &[("DIGEST", OLD, ""), ("OTHER", "application/wasm", "")],
                Err("several layers"),
            ),
            (
                &[("sha256:../../x", "application/wasm", "")],
                Err("an unsupported format"),
            ),
        ] {
            match (read(&layers(of)), expected) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{of:?}"),
                (Err(message), Err(wanted)) => assert!(message.contains(wanted), "{of:?}: {message}"),
                (found, _) => unreachable!("{of:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn an_index_leads_to_the_image_for_components_or_to_the_only_one() {
        let index = |entries: &str| read(&format!(r#"{{"schemaVersion":2,"manifests":[{entries}]}}"#));
        let wasm = r#"{"digest":"DIGEST","platform":{"os":"wasip2","architecture":"wasm"}}"#;
        let linux = r#"{"digest":"OTHER","platform":{"os":"linux","architecture":"amd64"}}"#;
        let unknown = r#"{"digest":"OTHER","platform":{"os":"unknown","architecture":"unknown"}}"#;
        let signature = r#"{"digest":"OTHER","artifactType":"application/vnd.dev.sigstore.bundle.v0.3+json"}"#;
        let plain = r#"{"digest":"DIGEST"}"#;
        for entries in [
            wasm.to_string(),
            format!("{linux},{wasm}"),
            format!("{plain},{unknown}"),
            format!("{signature},{plain}"),
        ] {
            assert_eq!(index(&entries).as_deref(), Ok("index a"), "{entries}");
        }
        for entries in [String::new(), format!("{plain},{linux}"), format!("{wasm},{wasm}")] {
            assert!(
                index(&entries).unwrap_err().contains("without exactly one"),
                "{entries}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for body in [
            "",
            "[]",
            "{}",
            r#"{"schemaVersion":1,"layers":[]}"#,
            r#"{"schemaVersion":2,"layers":[],"manifests":[]}"#,
            r#"{"schemaVersion":2,"layers":[{"digest":7}]}"#,
        ] {
            assert!(read(body).unwrap_err().contains("an unsupported format"), "{body}");
        }
        let many = vec![("DIGEST", "application/wasm", ""); MAX_PARTS + 1];
        assert!(read(&layers(&many)).unwrap_err().contains("an unsupported format"));
    }
}
