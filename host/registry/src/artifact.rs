//! Manifests of components: OCI artifacts of the CNCF's guidance for Wasm, and what other tools push. Pure.
//!
//! | tool | configuration | layer |
//! |---|---|---|
//! | `host plugin push`, `wkg oci push` | `application/vnd.wasm.config.v0+json` | `application/wasm` |
//! | older tools | `application/vnd.wasm.config.v1+json` | `application/vnd.wasm.content.layer.v1+wasm`, `+wasm` |
//! | `oras push` | `application/vnd.oci.empty.v1+json` | any, with the name of a file that ends with `.wasm` |

use crate::error::Error;
use boson_oci::{Descriptor, Document, TITLE, is_sha256};

/// Layers and entries of a manifest.
const MAX_PARTS: usize = 256;

#[derive(Debug)]
pub(crate) enum Artifact {
    /// The layer that is a component.
    Component(Descriptor),
    /// The manifest for components in an index.
    Index(Descriptor),
}

// === impl Artifact ===

impl Artifact {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        Self::of(&Document::read(body).map_err(|_| format_error())?)
    }

    /// What a manifest or an index refers to.
    pub(crate) fn of(document: &Document) -> Result<Self, Error> {
        match document {
            Document::Image(manifest) if manifest.layers().len() <= MAX_PARTS => {
                component(manifest.layers()).map(Self::Component)
            }
            Document::Index(index) if index.manifests().len() <= MAX_PARTS => entry(index.manifests()).map(Self::Index),
            _ => Err(format_error()),
        }
    }
}

/// The layer with the component: the only one of WebAssembly, by its media type or by the name of its file; or the only
/// layer.
fn component(layers: &[Descriptor]) -> Result<Descriptor, Error> {
    let by_type = |layer: &&Descriptor| {
        let media_type = layer.media_type().as_ref();
        media_type == "application/wasm" || media_type.ends_with("+wasm")
    };
    let by_name = |layer: &&Descriptor| {
        let title = layer.annotations().as_ref().and_then(|notes| notes.get(TITLE));
        title.is_some_and(|title| title.ends_with(".wasm"))
    };
    let only = |layer: &&Descriptor| layers.len() == 1 && !layer.media_type().as_ref().contains(".tar");
    let has = |kind: &dyn Fn(&&Descriptor) -> bool| layers.iter().any(|layer| kind(&layer));
    let is_component: &dyn Fn(&&Descriptor) -> bool = match (has(&by_type), has(&by_name)) {
        (true, _) => &by_type,
        (false, true) => &by_name,
        (false, false) => &only,
    };
    let mut found = layers.iter().filter(is_component);
    match (found.next(), found.next()) {
        (Some(layer), None) if is_sha256(layer) => Ok(layer.clone()),
        (Some(_), None) => Err(format_error()),
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
fn entry(entries: &[Descriptor]) -> Result<Descriptor, Error> {
    let is_of = |entry: &Descriptor, architecture: &str| {
        let platform = entry.platform().as_ref();
        platform.is_some_and(|platform| platform.architecture().to_string() == architecture)
    };
    let is_wasm = |entry: &&Descriptor| is_of(entry, "wasm");
    // What belongs to another entry, such as its signature, has a type.
    let stands_alone = |entry: &&Descriptor| entry.artifact_type().is_none() && !is_of(entry, "unknown");
    let mut candidates: Vec<&Descriptor> = entries.iter().filter(is_wasm).collect();
    if candidates.is_empty() {
        candidates = entries.iter().filter(stands_alone).collect();
    }
    match candidates.as_slice() {
        [one] if is_sha256(one) => Ok((*one).clone()),
        [_] => Err(format_error()),
        _ => Err(Error::Format(
            "is an index without exactly one image for the architecture 'wasm'",
            "name the digest of the image itself",
        )),
    }
}

fn format_error() -> Error {
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
            Ok(Artifact::Component(layer)) => Ok(layer.digest().digest()[..1].to_string()),
            Ok(Artifact::Index(entry)) => Ok(format!("index {}", &entry.digest().digest()[..1])),
            Err(error) => Err(error.explain_component("r/x").message),
        }
    }

    fn layers(of: &[(&str, &str, &str)]) -> String {
        let one = |(digest, media_type, title): &(&str, &str, &str)| {
            format!(
                r#"{{"mediaType":"{media_type}","digest":"{digest}","size":1,"annotations":{{"org.opencontainers.image.title":"{title}"}}}}"#
            )
        };
        let all: Vec<String> = of.iter().map(one).collect();
        format!(
            r#"{{"schemaVersion":2,"config":{{"digest":"OTHER"}},"layers":[{}]}}"#,
            all.join(",")
        )
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
            (&[("other:x", "text/plain", ""), ("DIGEST", OLD, "")], Ok("a")),
            (&[("other:x", OLD, "")], Err("an unsupported format")),
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
