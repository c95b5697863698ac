//! Manifests and indexes of images.

use oci_spec::image::{
    ANNOTATION_REF_NAME, Arch, Descriptor, ImageIndex, ImageManifest, MediaType, Os, SCHEMA_VERSION,
};
use serde::Deserialize;
use serde::de::{Error, IgnoredAny};
use serde_json::{Value, json};

/// Annotation with the whole name of an image, as containerd writes it.
pub const NAME: &str = "io.containerd.image.name";
/// Annotation of an attestation, which is listed beside the image that it is about.
const ATTESTS: &str = "vnd.docker.reference.type";

/// What a registry or a layout has under a name or a digest.
#[derive(Debug)]
pub enum Document {
    Image(Box<ImageManifest>),
    Index(Box<ImageIndex>),
}

/// What distinguishes them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    schema_version: u32,
    layers: Option<IgnoredAny>,
    manifests: Option<IgnoredAny>,
}

// === impl Document ===

impl Document {
    /// Reads a manifest or an index, of OCI or of Docker.
    ///
    /// # Guarantees
    /// Its digests are sha256: parts of paths and addresses, and comparable with [`digest`](crate::digest()).
    ///
    /// # Errors
    /// It is neither of them, or lacks a member.
    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        let members: Members = serde_json::from_slice(bytes)?;
        let (document, is_checkable) = match (members.schema_version, members.layers, members.manifests) {
            (SCHEMA_VERSION, Some(_), None) => {
                let manifest: Box<ImageManifest> = serde_json::from_slice(bytes)?;
                let is_checkable = is_sha256(manifest.config()) && manifest.layers().iter().all(is_sha256);
                (Self::Image(manifest), is_checkable)
            }
            (SCHEMA_VERSION, None, Some(_)) => {
                let index: Box<ImageIndex> = serde_json::from_slice(bytes)?;
                let is_checkable = index.manifests().iter().all(is_sha256);
                (Self::Index(index), is_checkable)
            }
            // One with both would be another image for another reader.
            _ => return Err(serde_json::Error::custom("neither a manifest nor an index")),
        };
        if is_checkable {
            Ok(document)
        } else {
            Err(serde_json::Error::custom("a digest is not sha256"))
        }
    }
}

fn is_sha256(descriptor: &Descriptor) -> bool {
    descriptor.as_digest_sha256().is_some()
}

/// The entries of an index that are images: those for this platform, or all if none is.
pub fn images(index: &ImageIndex) -> Vec<&Descriptor> {
    let is_image = |entry: &&Descriptor| {
        let attests = entry
            .annotations()
            .as_ref()
            .is_some_and(|notes| notes.contains_key(ATTESTS));
        let platform = entry.platform().as_ref();
        !attests && platform.is_none_or(|platform| *platform.os() != Os::from("unknown"))
    };
    let all: Vec<&Descriptor> = index.manifests().iter().filter(is_image).collect();
    let ours: Vec<&Descriptor> = all
        .iter()
        .copied()
        .filter(|entry| is_for_this_platform(entry))
        .collect();
    if ours.is_empty() { all } else { ours }
}

/// Whether an entry of an index is for Linux on this architecture.
pub fn is_for_this_platform(entry: &Descriptor) -> bool {
    let platform = entry.platform().as_ref();
    platform.is_some_and(|platform| *platform.os() == Os::Linux && *platform.architecture() == Arch::default())
}

/// This machine's architecture, as images name it.
pub fn architecture() -> String {
    Arch::default().to_string()
}

/// The index of a layout of one image. `name`: `<repository>:<tag>`.
pub fn index(name: &str, manifest: &Descriptor) -> Value {
    let tag = name.rsplit_once(':').map_or(name, |(_, tag)| tag);
    let mut named = json!(manifest);
    // Not as annotations of a descriptor: oci-spec would write them in random order.
    named["annotations"] = json!({NAME: name, ANNOTATION_REF_NAME: tag});
    json!({"schemaVersion": SCHEMA_VERSION, "mediaType": MediaType::ImageIndex, "manifests": [named]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blob, digest, manifest};

    fn descriptor(media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": digest(b"{}"), "size": 2})
    }

    /// Digests of images depend on them.
    #[test]
    fn documents_keep_their_bytes() {
        let config = Blob::json(MediaType::ImageConfig, &json!({})).descriptor();
        let layer = Descriptor::new(MediaType::ImageLayerGzip, 7, digest(b"layer"));
        let manifest = manifest(&config, &[layer]);
        let text = String::from_utf8(manifest.bytes.clone()).unwrap();
        assert_eq!(
            text,
            format!(
                r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{}","size":2}},"layers":[{{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"{}","size":7}}]}}"#,
                digest(b"{}"),
                digest(b"layer")
            )
        );
        assert_eq!(
            index("r.example/p:1", &manifest.descriptor()).to_string(),
            format!(
                r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{}","size":{},"annotations":{{"io.containerd.image.name":"r.example/p:1","org.opencontainers.image.ref.name":"1"}}}}]}}"#,
                manifest.digest,
                manifest.bytes.len()
            )
        );
        assert!(matches!(Document::read(&manifest.bytes), Ok(Document::Image(read)) if read.layers().len() == 1));
    }

    #[test]
    fn what_is_neither_a_manifest_nor_an_index_is_refused() {
        let one = descriptor("x");
        let index = |entry: &Value| json!({"schemaVersion": 2, "manifests": [entry]});
        let mut of_sha512 = one.clone();
        of_sha512["digest"] = format!("sha512:{}", "a".repeat(128)).into();
        let mut outside = one.clone();
        outside["digest"] = "sha256:../../x".into();
        assert!(Document::read(index(&one).to_string().as_bytes()).is_ok());
        for (document, expected) in [
            (json!({}), "missing field `schemaVersion`"),
            (json!({"schemaVersion": 2}), "neither a manifest nor an index"),
            (
                json!({"schemaVersion": 1, "manifests": []}),
                "neither a manifest nor an index",
            ),
            (
                json!({"schemaVersion": 2, "layers": [], "manifests": []}),
                "neither a manifest nor an index",
            ),
            (json!({"schemaVersion": 2, "layers": []}), "missing field `config`"),
            (index(&of_sha512), "a digest is not sha256"),
            (index(&outside), "Invalid encoded value"),
        ] {
            let error = Document::read(document.to_string().as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{document}: {error}");
        }
    }

    #[test]
    fn images_for_this_platform_come_before_others_and_attestations_do_not_count() {
        let entry = |name: &str, os: &str, architecture: &str| {
            let mut entry = descriptor(name);
            entry["platform"] = json!({"os": os, "architecture": architecture});
            entry
        };
        let ours = Arch::default().to_string();
        let (own, other) = (entry("own", "linux", &ours), entry("other", "linux", "mips"));
        let windows = entry("windows", "windows", &ours);
        let mut attestation = descriptor("attestation");
        attestation["annotations"] = json!({ATTESTS: "attestation-manifest"});
        for (entries, expected) in [
            (json!([other, own, windows]), vec!["own"]),
            (json!([other, windows]), vec!["other", "windows"]),
            (
                json!([attestation, entry("x", "unknown", "unknown"), descriptor("plain")]),
                vec!["plain"],
            ),
            (json!([]), vec![]),
        ] {
            let index: ImageIndex = serde_json::from_value(json!({"schemaVersion": 2, "manifests": entries})).unwrap();
            let found: Vec<&str> = images(&index).iter().map(|entry| entry.media_type().as_ref()).collect();
            assert_eq!(found, expected);
        }
    }
}
