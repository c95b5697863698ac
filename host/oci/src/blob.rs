//! The documents of an image, each a blob that is small enough for memory.

use crate::{digest, media};
use serde_json::{Value, json};

/// A blob in memory.
#[derive(Clone, Debug)]
pub struct Blob {
    /// `sha256:<hex>`.
    pub digest: String,
    /// Its media type.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

// === impl Blob ===

impl Blob {
    /// The text of a JSON document.
    pub fn json(media_type: &str, value: &Value) -> Self {
        let bytes = value.to_string().into_bytes();
        Self {
            digest: digest(&bytes),
            media_type: media_type.to_owned(),
            bytes,
        }
    }

    pub fn descriptor(&self) -> Value {
        descriptor(&self.media_type, &self.digest, self.bytes.len() as u64)
    }
}

/// The descriptor of a blob.
pub fn descriptor(media_type: &str, digest: &str, size: u64) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": size})
}

/// The manifest of an image with these layers, the lowest first.
pub fn manifest(config: &Blob, layers: &[Value]) -> Blob {
    let document = json!({
        "schemaVersion": 2,
        "mediaType": media::MANIFEST,
        "config": config.descriptor(),
        "layers": layers,
    });
    Blob::json(media::MANIFEST, &document)
}

/// The index of a layout of one image. `name`: `<repository>:<tag>`.
pub fn index(name: &str, manifest: &Blob) -> Value {
    let tag = name.rsplit_once(':').map_or(name, |(_, tag)| tag);
    let mut named = manifest.descriptor();
    named["annotations"] = json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag});
    json!({"schemaVersion": 2, "mediaType": media::INDEX, "manifests": [named]})
}

/// The `manifest.json` of `docker save`, which names the blobs of a layout.
pub fn saved(name: &str, config: &Blob, layers: &[Value]) -> Value {
    let files = layers.iter().filter_map(|layer| layer["digest"].as_str()).map(path);
    let files: Vec<String> = files.collect();
    json!([{"Config": path(&config.digest), "RepoTags": [name], "Layers": files}])
}

/// The path in a layout of the blob with this digest.
pub fn path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}
