//! An image: documents in memory, and layers in files.

use crate::{Section, digest};
use oci_spec::image::{Descriptor, Digest, MediaType, SCHEMA_VERSION};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A document that is small enough for memory.
#[derive(Clone, Debug)]
pub struct Blob {
    pub media_type: MediaType,
    pub digest: Digest,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Layer {
    pub media_type: MediaType,
    pub digest: Digest,
    /// The digest of its bytes when they are not compressed.
    pub diff_id: Digest,
    pub content: Section,
}

/// An image under a name.
#[derive(Clone, Debug)]
pub struct Image {
    /// `<repository>:<tag>`.
    pub name: String,
    pub config: Blob,
    pub manifest: Blob,
    /// The lowest first.
    pub layers: Vec<Layer>,
}

/// The parts of an image from any source, checked against their digests. Layers may be compressed or not.
#[derive(Debug)]
pub struct Parts {
    /// The digest of its manifest.
    pub digest: Digest,
    pub config: Vec<u8>,
    /// The lowest first.
    pub layers: Vec<Part>,
}

/// A layer among the parts of an image.
#[derive(Debug)]
pub struct Part {
    pub media_type: MediaType,
    /// The digest of its bytes; `None` in archives of `docker save`, which do not name it.
    pub digest: Option<Digest>,
    pub content: Section,
}

// === impl Blob ===

impl Blob {
    /// The text of a JSON document.
    pub fn json(media_type: MediaType, value: &Value) -> Self {
        let bytes = value.to_string().into_bytes();
        Self {
            media_type,
            digest: digest(&bytes),
            bytes,
        }
    }

    pub fn descriptor(&self) -> Descriptor {
        Descriptor::new(self.media_type.clone(), self.bytes.len() as u64, self.digest.clone())
    }
}

// === impl Layer ===

impl Layer {
    pub fn descriptor(&self) -> Descriptor {
        Descriptor::new(self.media_type.clone(), self.content.size(), self.digest.clone())
    }
}

// === impl Image ===

impl Image {
    /// An image with this configuration, and its manifest.
    pub fn new(name: &str, config: Blob, layers: Vec<Layer>) -> Self {
        let descriptors: Vec<Descriptor> = layers.iter().map(Layer::descriptor).collect();
        Self {
            name: name.to_owned(),
            manifest: manifest(&config.descriptor(), &descriptors),
            config,
            layers,
        }
    }

    /// The same image with annotations of its manifest.
    #[must_use]
    pub fn annotated(mut self, annotations: &BTreeMap<String, String>) -> Self {
        let descriptors: Vec<Descriptor> = self.layers.iter().map(Layer::descriptor).collect();
        let mut document = document(&self.config.descriptor(), &descriptors);
        if !annotations.is_empty() {
            document["annotations"] = json!(annotations);
        }
        self.manifest = Blob::json(MediaType::ImageManifest, &document);
        self
    }
}

/// The manifest of an image with these layers, the lowest first.
pub fn manifest(config: &Descriptor, layers: &[Descriptor]) -> Blob {
    Blob::json(MediaType::ImageManifest, &document(config, layers))
}

fn document(config: &Descriptor, layers: &[Descriptor]) -> Value {
    json!({
        "schemaVersion": SCHEMA_VERSION,
        "mediaType": MediaType::ImageManifest,
        "config": config,
        "layers": layers,
    })
}

/// The path in a layout of the blob with this digest.
pub fn path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.digest())
}
