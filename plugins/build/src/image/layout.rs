//! An OCI image layout as a tar, with the `manifest.json` of `docker save` beside its index, which names the same files. Layers are not compressed:
//! whoever pushes the image compresses them, and whoever loads it need not unpack them twice.

use std::fs::File;
use std::io::{Read, Write};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType};

use super::layer::{Layer, header, hex};

/// A blob that is small enough for memory.
pub(super) struct Blob {
    /// `sha256:<hex>`.
    pub digest: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

/// The tar that is being written.
pub(super) struct Layout {
    archive: Builder<File>,
}

// === impl Blob ===

impl Blob {
    pub(super) fn json(media_type: &'static str, value: &Value) -> Result<Self> {
        let bytes = serde_json::to_vec(value)?;
        Ok(Self {
            digest: hex(Sha256::new_with_prefix(&bytes)),
            media_type,
            bytes,
        })
    }

    pub(super) fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest, "size": self.bytes.len()})
    }
}

// === impl Layout ===

impl Layout {
    pub(super) fn new(file: File) -> Self {
        Self {
            archive: Builder::new(file),
        }
    }

    /// What comes before all blobs.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.append("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.as_slice(), 30)?;
        for directory in ["blobs", "blobs/sha256"] {
            let mut header = header(EntryType::Directory, 0o755, 0);
            self.archive.append_data(&mut header, directory, std::io::empty())?;
        }
        Ok(())
    }

    /// Adds a layer and gives its descriptor.
    pub(super) fn layer(&mut self, layer: Layer) -> Result<Value> {
        self.append(&path(&layer.digest), layer.file, layer.size)?;
        let media_type = "application/vnd.oci.image.layer.v1.tar";
        Ok(json!({"mediaType": media_type, "digest": layer.digest, "size": layer.size}))
    }

    pub(super) fn blob(&mut self, blob: &Blob) -> Result<()> {
        self.append(&path(&blob.digest), blob.bytes.as_slice(), blob.bytes.len() as u64)
    }

    /// Writes both indexes, which name the image.
    pub(super) fn end(mut self, name: &str, manifest: &Blob, config: &Blob, layers: &[Value]) -> Result<()> {
        let (_, tag) = name.rsplit_once(':').context("the image's name has no tag")?;
        let mut named = manifest.descriptor();
        named["annotations"] = json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag});
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [named],
        });
        let files = layers.iter().filter_map(|layer| layer["digest"].as_str()).map(path);
        let files: Vec<String> = files.collect();
        let saved = json!([{"Config": path(&config.digest), "RepoTags": [name], "Layers": files}]);
        for (file, value) in [("index.json", index), ("manifest.json", saved)] {
            let bytes = serde_json::to_vec(&value)?;
            self.append(file, bytes.as_slice(), bytes.len() as u64)?;
        }
        Ok(self.archive.into_inner()?.flush()?)
    }

    fn append(&mut self, path: &str, content: impl Read, size: u64) -> Result<()> {
        let mut header = header(EntryType::Regular, 0o644, size);
        Ok(self.archive.append_data(&mut header, path, content)?)
    }
}

/// Where a blob lies.
fn path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}
