//! An image layout for one reader: made of links to cached layers, and deleted when it is dropped.

use crate::cache::{Cache, Key};
use crate::place::Place;
use crate::space::{Reservation, Reserving, unwritable};
use boson_pipeline::Diagnostic;
use boson_releases::{Budget, Limits, reduce};
use data_encoding::HEXLOWER;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// An OCI image layout of reduced layers. Deleted when this value is dropped.
#[derive(Debug)]
pub struct Layout {
    place: Place,
    _reservation: Reservation,
}

/// A layout that is being assembled.
#[derive(Debug)]
pub(crate) struct Draft {
    cache: Cache,
    place: Place,
    image: String,
    reservation: Reservation,
    budget: Budget,
    layers: Vec<PathBuf>,
}

// === impl Layout ===

impl Layout {
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

// === impl Draft ===

impl Draft {
    /// Begins a layout of `image` from layers of this cache.
    pub(crate) fn open(cache: Cache, image: String) -> Result<Self, Diagnostic> {
        let place = cache.place().map_err(|error| unwritable(&error))?;
        Ok(Self {
            place,
            image,
            reservation: cache.reserve(),
            budget: Budget::new(Limits::default()),
            layers: Vec::new(),
            cache,
        })
    }

    /// Adds the layer on top; false if it is not cached.
    pub(crate) fn take(&mut self, key: &Key) -> Result<bool, Diagnostic> {
        let path = self.next();
        let taken = self.cache.take(key, &path).map_err(|error| unwritable(&error))?;
        if taken {
            let bytes = fs::metadata(&path).map_err(|error| unwritable(&error))?.len();
            let reserved = self.reservation.take(bytes);
            reserved.map_err(|failure| self.reservation.explain(&self.image, &failure))?;
            self.layers.push(path);
        }
        Ok(taken)
    }

    /// Reduces the layer `name` (for messages), adds it on top, and caches it.
    ///
    /// # Errors
    /// Those of [`reduce`]; the image is too large; the disk.
    pub(crate) fn add(&mut self, key: &Key, name: &str, reader: impl Read) -> Result<(), Diagnostic> {
        let path = self.next();
        let file = File::create(&path).map_err(|error| unwritable(&error))?;
        let mut out = BufWriter::new(Reserving::new(file, &mut self.reservation));
        let reduced = reduce(name, reader, &self.budget, &mut out);
        if let Some(failure) = out.get_mut().failure() {
            // The rest of its buffer does not fit either.
            drop(out);
            return Err(self.reservation.explain(&self.image, &failure));
        }
        drop(out);
        reduced?;
        let bytes = fs::metadata(&path).map_err(|error| unwritable(&error))?.len();
        let kept = self.cache.keep(key, &path, bytes);
        kept.map_err(|error| unwritable(&error))?;
        self.layers.push(path);
        Ok(())
    }

    /// Makes a layout of the layers.
    pub(crate) fn finish(self) -> Result<Layout, Diagnostic> {
        self.write().map_err(|error| unwritable(&error))?;
        Ok(Layout {
            place: self.place,
            _reservation: self.reservation,
        })
    }

    fn write(&self) -> io::Result<()> {
        let path = self.place.path();
        let blobs = path.join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        let mut descriptors = Vec::new();
        for layer in &self.layers {
            descriptors.push(blob(&blobs, layer, "application/vnd.oci.image.layer.v1.tar")?);
        }
        let manifest = json!({ "schemaVersion": 2, "layers": descriptors });
        let file = path.join("manifest");
        fs::write(&file, manifest.to_string())?;
        let mut entry = blob(&blobs, &file, "application/vnd.oci.image.manifest.v1+json")?;
        entry.annotations.insert("io.containerd.image.name", self.image.clone());
        let index = json!({ "schemaVersion": 2, "manifests": [entry] });
        fs::write(path.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
        fs::write(path.join("index.json"), index.to_string())
    }

    fn next(&self) -> PathBuf {
        self.place.path().join(format!("layer-{}", self.layers.len()))
    }
}

/// What refers to a blob.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: &'static str,
    digest: String,
    size: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

/// Moves a file to the path of its digest, and returns its descriptor.
fn blob(blobs: &Path, file: &Path, media_type: &'static str) -> io::Result<Descriptor> {
    let mut hash = Hash(Sha256::new());
    let size = io::copy(&mut File::open(file)?, &mut hash)?;
    let digest = HEXLOWER.encode(&hash.0.finalize());
    fs::rename(file, blobs.join(&digest))?;
    Ok(Descriptor {
        media_type,
        digest: format!("sha256:{digest}"),
        size,
        annotations: BTreeMap::new(),
    })
}

struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
