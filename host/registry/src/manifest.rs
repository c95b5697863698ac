//! Manifests: the layers of an image, or the images for platforms of an index. Other locations of layers (`urls`) are
//! ignored: only the configured registry is contacted.

use crate::error::Error;
use boson_oci::{Descriptor, Digest, Document, ImageManifest, images, is_for_this_platform, is_sha256};

/// Layers that an image may have; the usual storage drivers take 127.
const MAX_LAYERS: usize = 256;

/// The manifest under a name.
#[derive(Debug)]
pub(crate) enum Manifest {
    Image(Box<ImageManifest>),
    /// An index, with the digest of the image for this platform.
    Index(Digest),
}

// === impl Manifest ===

impl Manifest {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        match Document::read(body).map_err(|_| format_error())? {
            Document::Image(manifest) if !is_sha256(manifest.config()) => Err(format_error()),
            Document::Image(manifest) => check(manifest.layers()).map(|()| Self::Image(manifest)),
            // The image of this platform, or the only one: jobs are text, they are the same on all.
            Document::Index(index) => match images(&index).as_slice() {
                [one] => checked_index(one),
                [first, ..] if is_for_this_platform(first) => checked_index(first),
                _ => Err(Error::Format(
                    "does not exist for Linux on this architecture",
                    "push it for this platform, too; its jobs are the same on all",
                )),
            },
        }
    }
}

fn checked_index(entry: &Descriptor) -> Result<Manifest, Error> {
    if is_sha256(entry) {
        Ok(Manifest::Index(entry.digest().clone()))
    } else {
        Err(format_error())
    }
}

fn check(layers: &[Descriptor]) -> Result<(), Error> {
    if layers.len() > MAX_LAYERS {
        return Err(Error::Format("has too many layers", "squash it"));
    }
    if layers.iter().any(|layer| layer.media_type().as_ref().ends_with("zstd")) {
        return Err(Error::Format(
            "has layers compressed with zstd",
            "compress them with gzip: `skopeo copy --dest-compress-format gzip`",
        ));
    }
    if layers.iter().all(is_sha256) {
        Ok(())
    } else {
        Err(format_error())
    }
}

fn format_error() -> Error {
    Error::Format(
        "has an unsupported format",
        "push it as an OCI or Docker image for Linux, with gzip layers",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn read(body: &str) -> Result<Manifest, String> {
        Manifest::read(body.as_bytes()).map_err(|error| error.explain("r/x").message)
    }

    #[test]
    fn the_image_of_this_platform_or_the_only_one_is_taken() {
        let ours = boson_oci::architecture();
        let entry = |digit: &str, os: &str, architecture: &str| {
            let digest = DIGEST.replace("aa", &digit.repeat(2));
            format!(
                r#"{{"mediaType":"","digest":"{digest}","size":1,"platform":{{"os":"{os}","architecture":"{architecture}"}}}}"#
            )
        };
        let other = entry("b", "linux", "mips");
        let attests = entry("c", "unknown", "unknown");
        for (entries, wanted) in [
            (vec![&other, &entry("a", "linux", &ours)], Some("a")),
            (
                vec![&entry("a", "linux", &ours), &entry("d", "linux", &ours)],
                Some("a"),
            ),
            (vec![&other], Some("b")),
            (vec![&attests, &other], Some("b")),
            (vec![&other, &entry("a", "windows", &ours)], None),
            (vec![], None),
        ] {
            let entries: Vec<&str> = entries.into_iter().map(String::as_str).collect();
            let body = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entries.join(","));
            let picked = match read(&body) {
                Ok(Manifest::Index(digest)) => Some(digest.digest().to_owned()),
                _ => None,
            };
            assert_eq!(picked, wanted.map(|digit| digit.repeat(64)), "{body}");
        }
    }

    #[test]
    fn what_is_no_manifest_of_ours_is_reported() {
        let layer = format!(r#"{{"mediaType":"x","digest":"{DIGEST}","size":1}}"#);
        let layers = |count: usize| {
            let layers = vec![layer.as_str(); count].join(",");
            format!(r#"{{"schemaVersion":2,"config":{layer},"layers":[{layers}]}}"#)
        };
        assert!(matches!(read(&layers(MAX_LAYERS)), Ok(Manifest::Image(all)) if all.layers().len() == MAX_LAYERS));
        assert!(read(&layers(1).replace(r#""size":1"#, r#""size":1,"urls":["http://a"]"#)).is_ok());
        for (body, wanted) in [
            (layers(MAX_LAYERS + 1), "too many layers"),
            (
                layers(1).replace(r#""size":1"#, r#""size":-1"#),
                "an unsupported format",
            ),
            (layers(1).replace(DIGEST, "sha256:../../x"), "an unsupported format"),
            (layers(1).replace(DIGEST, "other:x"), "an unsupported format"),
            (
                format!(r#"{{"schemaVersion":2,"manifests":[{layer}]}}"#).replace(DIGEST, "other:x"),
                "an unsupported format",
            ),
            (
                layers(1).replace(r#"Version":2"#, r#"Version":1"#),
                "an unsupported format",
            ),
            (layers(1).replace(r#""x""#, r#""x+zstd""#), "compressed with zstd"),
            ("[".to_owned(), "an unsupported format"),
        ] {
            let error = read(&body).unwrap_err();
            assert!(error.contains(wanted), "{body}: {error}");
        }
    }
}
