//! An image layout for one reader: made of links to cached layers, and deleted when it is dropped.

use crate::cache::{Cache, Key, hex};
use crate::room::{Room, Roomy, unwritable};
use boson_pipeline::Diagnostic;
use boson_releases::{Budget, Limits, reduce};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An OCI image layout of reduced layers. Deleted when this value is dropped.
#[derive(Debug)]
pub struct Layout {
    place: Place,
    _room: Room,
}

/// A layout that is being assembled.
#[derive(Debug)]
pub(crate) struct Draft {
    cache: Cache,
    place: Place,
    image: String,
    room: Room,
    budget: Budget,
    layers: Vec<PathBuf>,
}

/// A directory that is locked while in use, so that directories of killed processes can be detected.
#[derive(Debug)]
pub(crate) struct Place {
    // Dropped first, before the lock is released.
    directory: TempDir,
    _lock: File,
}

// === impl Layout ===

impl Layout {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}

// === impl Draft ===

impl Draft {
    pub(crate) fn new(cache: Cache, place: Place, image: String, room: Room) -> Self {
        Self {
            cache,
            place,
            image,
            room,
            budget: Budget::new(Limits::default()),
            layers: Vec::new(),
        }
    }

    /// Adds the layer on top; false if it is not cached.
    pub(crate) fn take(&mut self, key: &Key) -> Result<bool, Diagnostic> {
        let path = self.next();
        let taken = self.cache.take(key, &path).map_err(|error| unwritable(&error))?;
        if taken {
            let bytes = fs::metadata(&path).map_err(|error| unwritable(&error))?.len();
            let room = self.room.take(bytes);
            room.map_err(|failure| self.room.explain(&self.image, &failure))?;
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
        let mut out = BufWriter::new(Roomy::new(file, &mut self.room));
        let reduced = reduce(name, reader, &self.budget, &mut out);
        if let Some(failure) = out.get_mut().failure() {
            // The rest of its buffer does not fit either.
            drop(out);
            return Err(self.room.explain(&self.image, &failure));
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
            _room: self.room,
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
        entry["annotations"] = json!({ "io.containerd.image.name": self.image });
        let index = json!({ "schemaVersion": 2, "manifests": [entry] });
        fs::write(path.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
        fs::write(path.join("index.json"), index.to_string())
    }

    fn next(&self) -> PathBuf {
        self.place.path().join(format!("layer-{}", self.layers.len()))
    }
}

// === impl Place ===

impl Place {
    /// Makes one in `parent`.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        let directory = tempfile::tempdir_in(parent)?;
        let lock = File::create(directory.path().join("lock"))?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    /// Removes the one at `path`, unless it is in use.
    pub(crate) fn remove_stale(path: &Path) -> io::Result<()> {
        match File::options().write(true).open(path.join("lock")) {
            Ok(lock) if lock.try_lock().is_err() => Ok(()),
            _ => fs::remove_dir_all(path),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Moves a file to the path of its digest, and returns its descriptor.
fn blob(blobs: &Path, file: &Path, media_type: &str) -> io::Result<Value> {
    let mut hash = Hash(Sha256::new());
    let size = io::copy(&mut File::open(file)?, &mut hash)?;
    let digest = hex(&hash.0.finalize());
    fs::rename(file, blobs.join(&digest))?;
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size }))
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
