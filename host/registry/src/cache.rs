//! The cache: `layers/<digest>` holds a reduced layer, `images/<digest>` an image layout of such layers. What is there is whole: files are
//! written under other names first.

use boson_pipeline::Diagnostic;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// A directory of ours.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
}

// === impl Cache ===

impl Cache {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The reduced layer of this digest, where it is kept.
    pub(crate) fn layer(&self, digest: &str) -> Option<PathBuf> {
        Some(self.layer_path(digest)).filter(|path| path.is_file())
    }

    /// A place to write a layer to; [`Cache::keep`] takes it.
    pub(crate) fn scratch(&self) -> Result<NamedTempFile, Diagnostic> {
        let layers = self.directory.join("layers");
        fs::create_dir_all(&layers)
            .and_then(|()| NamedTempFile::new_in(&layers))
            .map_err(|error| self.unwritable(&error))
    }

    /// Keeps a reduced layer.
    pub(crate) fn keep(&self, scratch: NamedTempFile, digest: &str) -> Result<PathBuf, Diagnostic> {
        let path = self.layer_path(digest);
        match scratch.persist(&path) {
            Ok(_) => Ok(path),
            Err(error) => Err(self.unwritable(&error.error)),
        }
    }

    /// The layout of the image whose manifest has this digest and whose reduced layers are these, from the bottom.
    pub(crate) fn layout(&self, digest: &str, image: &str, layers: &[PathBuf]) -> Result<PathBuf, Diagnostic> {
        // Two tags may name one manifest, and the layout tells the tag.
        let name = hex(&Sha256::digest(format!("{digest} {image}")));
        let path = self.directory.join("images").join(name);
        if path.join("index.json").is_file() {
            return Ok(path);
        }
        let made = self
            .make_layout(image, layers)
            .map_err(|error| self.unwritable(&error))?;
        match fs::rename(made.path(), &path) {
            // Somebody else was faster, with the same content.
            Err(_) if path.join("index.json").is_file() => Ok(path),
            Err(error) => Err(self.unwritable(&error)),
            Ok(()) => {
                // It is not there any more, under that name.
                let _ = made.keep();
                Ok(path)
            }
        }
    }

    fn make_layout(&self, image: &str, layers: &[PathBuf]) -> io::Result<TempDir> {
        let images = self.directory.join("images");
        fs::create_dir_all(&images)?;
        let layout = tempfile::tempdir_in(&images)?;
        let blobs = layout.path().join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        let mut descriptors = Vec::new();
        for layer in layers {
            let bytes = fs::read(layer)?;
            descriptors.push(blob(&blobs, &bytes, "application/vnd.oci.image.layer.v1.tar")?);
        }
        let manifest = json!({ "schemaVersion": 2, "layers": descriptors });
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let mut entry = blob(&blobs, manifest.to_string().as_bytes(), media_type)?;
        entry["annotations"] = json!({ "io.containerd.image.name": image });
        let index = json!({ "schemaVersion": 2, "manifests": [entry] });
        fs::write(layout.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
        fs::write(layout.path().join("index.json"), index.to_string())?;
        Ok(layout)
    }

    fn layer_path(&self, digest: &str) -> PathBuf {
        // A digest comes from outside; its hash is a file name whatever it is.
        self.directory.join("layers").join(hex(&Sha256::digest(digest)))
    }

    fn unwritable(&self, error: &io::Error) -> Diagnostic {
        Diagnostic::error("image-cache", format!("the cache of images cannot be written: {error}"))
            .help("is the volume full, or read-only?")
    }
}

/// Writes a blob and gives its descriptor.
fn blob(directory: &Path, bytes: &[u8], media_type: &str) -> io::Result<serde_json::Value> {
    let digest = hex(&Sha256::digest(bytes));
    let mut file = fs::File::create(directory.join(&digest))?;
    file.write_all(bytes)?;
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
