//! Manifests: the layers of an image, or the images for platforms of an index. Other locations of layers (`urls`) are
//! ignored: only the configured registry is contacted.

use crate::error::Error;
use serde::Deserialize;

/// Layers that an image may have; the usual storage drivers take 127.
const MAX_LAYERS: usize = 256;

/// The manifest under a name.
#[derive(Debug)]
pub(crate) enum Manifest {
    /// An image, by its layers from the bottom.
    Image(Vec<Layer>),
    /// An index, with the digest of the image for this platform.
    Index(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Layer {
    /// `sha256:` and 64 digits.
    pub digest: String,
    /// Bytes, as it is in the registry.
    pub size: u64,
    /// Its media type.
    #[serde(default)]
    pub media_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    layers: Option<Vec<Layer>>,
    manifests: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    digest: String,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    os: String,
    architecture: String,
}

// === impl Manifest ===

impl Manifest {
    /// Reads one.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        let document: Document = serde_json::from_slice(body).map_err(|_| unreadable())?;
        match (document.schema_version, document.layers, document.manifests) {
            (2, Some(layers), None) => check(&layers).map(|()| Self::Image(layers)),
            (2, None, Some(entries)) => match pick(entries) {
                Some(digest) if is_digest(&digest) => Ok(Self::Index(digest)),
                Some(_) => Err(unreadable()),
                None => Err(Error::Format(
                    "does not exist for Linux on this architecture",
                    "push it for this platform, too; its jobs are the same on all",
                )),
            },
            _ => Err(unreadable()),
        }
    }
}

fn check(layers: &[Layer]) -> Result<(), Error> {
    if layers.len() > MAX_LAYERS {
        return Err(Error::Format("has too many layers", "squash it"));
    }
    if layers.iter().any(|layer| layer.media_type.ends_with("zstd")) {
        return Err(Error::Format(
            "has layers compressed with zstd",
            "compress them with gzip: `skopeo copy --dest-compress-format gzip`",
        ));
    }
    if layers.iter().all(|layer| is_digest(&layer.digest)) {
        Ok(())
    } else {
        Err(unreadable())
    }
}

/// The image of this platform, or the only one: jobs are text, they are the same on all.
fn pick(entries: Vec<Entry>) -> Option<String> {
    let is_ours =
        |platform: &Platform| platform.os == "linux" && platform.architecture == architecture(std::env::consts::ARCH);
    // Attestations are listed beside images, under an unknown platform.
    let is_image = |entry: &Entry| entry.platform.as_ref().is_none_or(|platform| platform.os != "unknown");
    let mut images: Vec<Entry> = entries.into_iter().filter(is_image).collect();
    let ours = images
        .iter()
        .position(|entry| entry.platform.as_ref().is_some_and(is_ours));
    match (ours, images.len()) {
        (Some(at), _) => Some(images.swap_remove(at).digest),
        (None, 1) => images.pop().map(|image| image.digest),
        _ => None,
    }
}

/// Go's name, which registries use, for an architecture of Rust's.
fn architecture(ours: &str) -> &str {
    match ours {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Checked because a digest becomes part of an address, and is compared with the hash of the content.
pub(crate) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn unreadable() -> Error {
    Error::Format(
        "has an unsupported format",
        "push it as an OCI or Docker image for Linux, with gzip layers",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Manifest, String> {
        let digest = format!("sha256:{}", "a".repeat(64));
        let body = body.replace("DIGEST", &digest);
        Manifest::read(body.as_bytes()).map_err(|failure| failure.explain("r/x").message)
    }

    #[test]
    fn the_image_of_this_platform_or_the_only_one_is_taken() {
        let ours = architecture(std::env::consts::ARCH);
        let entry = |digit: &str, os: &str, architecture: &str| {
            let digest = format!("sha256:{}", digit.repeat(64));
            format!(r#"{{"digest":"{digest}","platform":{{"os":"{os}","architecture":"{architecture}"}}}}"#)
        };
        let other = entry("b", "linux", "mips");
        let attests = entry("c", "unknown", "unknown");
        for (entries, wanted) in [
            (vec![&other, &entry("a", "linux", ours)], Some("a")),
            (vec![&other], Some("b")),
            (vec![&attests, &other], Some("b")),
            (vec![&other, &entry("a", "windows", ours)], None),
            (vec![], None),
        ] {
            let entries: Vec<&str> = entries.into_iter().map(String::as_str).collect();
            let body = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entries.join(","));
            let picked = match read(&body) {
                Ok(Manifest::Index(digest)) => Some(digest),
                _ => None,
            };
            let wanted = wanted.map(|digit| format!("sha256:{}", digit.repeat(64)));
            assert_eq!(picked, wanted, "{body}");
        }
    }

    #[test]
    fn what_is_no_manifest_of_ours_is_reported() {
        let layer = r#"{"digest":"DIGEST","size":1}"#;
        let layers = |count: usize| format!(r#"{{"schemaVersion":2,"layers":[{}]}}"#, vec![layer; count].join(","));
        assert!(matches!(read(&layers(MAX_LAYERS)), Ok(Manifest::Image(all)) if all.len() == MAX_LAYERS));
        let elsewhere = r#"{"schemaVersion":2,"layers":[{"digest":"DIGEST","size":1,"urls":["http://a"]}]}"#;
        assert!(read(elsewhere).is_ok());
        for (body, wanted) in [
            (layers(MAX_LAYERS + 1).as_str(), "too many layers"),
            (&layers(1).replace('1', "-1"), "an unsupported format"),
            (&layers(1).replace("DIGEST", "sha256:../../x"), "an unsupported format"),
            (&layers(1).replace('2', "1"), "an unsupported format"),
            (
                &layers(1).replace("\"size\"", "\"mediaType\":\"x+zstd\",\"size\""),
                "compressed with zstd",
            ),
            (
                r#"{"schemaVersion":2,"layers":[],"manifests":[]}"#,
                "an unsupported format",
            ),
            ("[", "an unsupported format"),
        ] {
            let error = read(body).unwrap_err();
            assert!(error.contains(wanted), "{body}: {error}");
        }
    }
}
