//! Manifests and indexes of images.

use oci_spec::image::{
    ANNOTATION_REF_NAME, Arch, Descriptor, Digest, ImageIndex, ImageIndexBuilder, ImageManifest, ImageManifestBuilder,
    MediaType, Os, Platform, SCHEMA_VERSION,
};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;

/// Annotation with the whole name of an image, as containerd writes it.
pub const NAME: &str = "io.containerd.image.name";
/// Annotation of an attestation, which is listed beside the image that it is about.
const ATTESTS: &str = "vnd.docker.reference.type";
/// Most layers or entries of a document. In memory they take more bytes than in JSON.
const MAX_ENTRIES: usize = 4096;

/// What a registry or a layout has under a name or a digest.
#[derive(Debug)]
pub enum Document {
    Image(Box<ImageManifest>),
    Index(Box<ImageIndex>),
}

/// The members of both. Those of `oci-spec` would refuse a whole document because of one entry that is not needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    schema_version: Option<u32>,
    artifact_type: Option<MediaType>,
    config: Option<Entry>,
    layers: Option<Entries>,
    manifests: Option<Entries>,
    subject: Option<Entry>,
}

/// At most [`MAX_ENTRIES`] of them.
struct Entries(Vec<Descriptor>);

/// A descriptor, of which some tools write only what they need.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    media_type: Option<MediaType>,
    digest: Digest,
    size: Option<u64>,
    annotations: Option<HashMap<String, Option<String>>>,
    platform: Option<Target>,
    artifact_type: Option<MediaType>,
}

#[derive(Deserialize)]
struct Target {
    architecture: Option<Arch>,
    os: Option<Os>,
    variant: Option<String>,
}

// === impl Document ===

impl Document {
    /// Reads a manifest or an index, of OCI or of Docker.
    ///
    /// # Guarantees
    /// No digest leads out of a directory or an address. Those of entries that are used must be checked with
    /// [`is_sha256`](crate::is_sha256()); others never equal a [`digest`](crate::digest()).
    ///
    /// # Errors
    /// It is neither of them, or lacks a member.
    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        let members: Members = serde_json::from_slice(bytes)?;
        let is_known = members.schema_version.is_none_or(|version| version == SCHEMA_VERSION);
        match (members.layers, members.manifests) {
            (Some(Entries(layers)), None) if is_known => {
                let config = members.config.ok_or_else(|| Error::missing_field("config"))?;
                let made = ImageManifestBuilder::default()
                    .schema_version(SCHEMA_VERSION)
                    .config(config)
                    .layers(layers)
                    .build();
                let mut manifest = made.map_err(Error::custom)?;
                manifest.set_artifact_type(members.artifact_type);
                manifest.set_subject(members.subject.map(Descriptor::from));
                Ok(Self::Image(Box::new(manifest)))
            }
            (None, Some(Entries(manifests))) if is_known => {
                let made = ImageIndexBuilder::default()
                    .schema_version(SCHEMA_VERSION)
                    .manifests(manifests)
                    .build();
                made.map(|index| Self::Index(Box::new(index))).map_err(Error::custom)
            }
            // One with both would be another image for another reader.
            _ => Err(Error::custom("neither a manifest nor an index")),
        }
    }
}

// === impl Entries ===

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;
        impl<'de> Visitor<'de> for Bounded {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of descriptors")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element::<Entry>()? {
                    if entries.len() == MAX_ENTRIES {
                        return Err(Error::custom("too many entries"));
                    }
                    entries.push(entry.into());
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_seq(Bounded)
    }
}

// === impl Descriptor ===

impl From<Entry> for Descriptor {
    fn from(entry: Entry) -> Self {
        let media_type = entry.media_type.unwrap_or_else(|| MediaType::from(""));
        let mut descriptor = Self::new(media_type, entry.size.unwrap_or_default(), entry.digest);
        let annotations = entry.annotations.map(|notes| {
            let present = notes.into_iter().filter_map(|(name, text)| Some((name, text?)));
            present.collect()
        });
        descriptor.set_annotations(annotations);
        descriptor.set_platform(entry.platform.map(Platform::from));
        descriptor.set_artifact_type(entry.artifact_type);
        descriptor
    }
}

// === impl Platform ===

impl From<Target> for Platform {
    fn from(target: Target) -> Self {
        let mut platform = Self::default();
        platform.set_architecture(target.architecture.unwrap_or_else(|| Arch::from("")));
        platform.set_os(target.os.unwrap_or_else(|| Os::from("")));
        platform.set_variant(target.variant);
        platform
    }
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
    let usual: Vec<&Descriptor> = ours.iter().copied().filter(|entry| is_usual_variant(entry)).collect();
    [usual, ours].into_iter().find(|some| !some.is_empty()).unwrap_or(all)
}

/// Whether all processors of its architecture run it: not so images for `amd64/v3`.
fn is_usual_variant(entry: &Descriptor) -> bool {
    let platform = entry.platform().as_ref();
    let variant = platform.and_then(|platform| platform.variant().as_deref());
    variant.is_none_or(|variant| matches!(variant, "" | "v1" | "v8"))
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
        let mut outside = one.clone();
        outside["digest"] = "sha256:../../x".into();
        assert!(Document::read(index(&one).to_string().as_bytes()).is_ok());
        for (document, expected) in [
            (json!({}), "neither a manifest nor an index"),
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
            (index(&outside), "Invalid encoded value"),
            (
                json!({"schemaVersion": 2, "manifests": [{"size": 2}]}),
                "missing field `digest`",
            ),
            (json!({"manifests": vec![&one; MAX_ENTRIES + 1]}), "too many entries"),
        ] {
            let error = Document::read(document.to_string().as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{document}: {error}");
        }
    }

    /// As registries have them: a document is readable in spite of entries that are not needed.
    #[test]
    fn entries_may_have_more_or_less_than_what_is_read() {
        let ours = Arch::default().to_string();
        let mut own = descriptor("own");
        own["platform"] = json!({"os": "linux", "architecture": ours});
        let platform =
            json!({"os": "linux", "architecture": "arm", "variant": "v7", "os.version": "1", "os.features": []});
        for other in [
            json!({"digest": format!("sha512:{}", "a".repeat(128)), "size": 2, "mediaType": "x", "platform": platform}),
            json!({"digest": digest(b"x"), "platform": platform}),
            json!({"digest": digest(b"x"), "size": 2, "mediaType": "x", "platform": platform,
                "annotations": null, "urls": ["x"], "data": "e30=", "artifactType": "x", "other": {}}),
            json!({"digest": digest(b"x"), "size": 2, "mediaType": "x", "platform": {}, "annotations": {"x": null}}),
            json!({"digest": digest(b"x"), "size": 2, "mediaType": "x", "platform": null, "urls": null}),
            json!({"digest": digest(b"x"), "size": 2, "mediaType": MediaType::ImageManifest,
                "annotations": {ATTESTS: "attestation-manifest", "vnd.docker.reference.digest": digest(b"{}")},
                "platform": {"os": "unknown", "architecture": "unknown"}}),
        ] {
            for document in [
                json!({"schemaVersion": 2, "mediaType": MediaType::ImageIndex, "manifests": [other, own]}),
                json!({"manifests": [other, own], "annotations": null, "subject": null}),
                json!({"schemaVersion": 2, "manifests": [other, own],
                    "mediaType": "application/vnd.docker.distribution.manifest.list.v2+json"}),
            ] {
                let Ok(Document::Index(index)) = Document::read(document.to_string().as_bytes()) else {
                    unreachable!("{document}");
                };
                let found = images(&index);
                assert_eq!((index.manifests().len(), found.len()), (2, 1), "{document}");
                assert_eq!(found[0].media_type().as_ref(), "own");
            }
        }
        let empty = "application/vnd.oci.empty.v1+json";
        for document in [
            json!({"schemaVersion": 2,
                "config": {"mediaType": empty, "digest": digest(b"{}"), "size": 2, "data": "e30="},
                "artifactType": "application/wasm", "layers": [descriptor("own")], "subject": descriptor("x")}),
            json!({"config": {"digest": digest(b"{}")}, "layers": [descriptor("own")], "annotations": {"x": null}}),
            json!({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                "config": descriptor("application/vnd.docker.container.image.v1+json"), "layers": [descriptor("own")]}),
        ] {
            let Ok(Document::Image(manifest)) = Document::read(document.to_string().as_bytes()) else {
                unreachable!("{document}");
            };
            assert_eq!(manifest.layers(), &[serde_json::from_value(descriptor("own")).unwrap()]);
            assert_eq!(manifest.subject().is_some(), document["subject"].is_object());
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
        let mut newer = entry("newer", "linux", &ours);
        newer["platform"]["variant"] = "v3".into();
        let mut attestation = descriptor("attestation");
        attestation["annotations"] = json!({ATTESTS: "attestation-manifest"});
        for (entries, expected) in [
            (json!([other, own, windows]), vec!["own"]),
            (json!([newer, own]), vec!["own"]),
            (json!([newer, other]), vec!["newer"]),
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
