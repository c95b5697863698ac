//! The cache: `layers/<key>` is a reduced layer, `open/<name>` a layout that somebody makes or reads. Layers are linked into layouts, so
//! that whoever removes a layer from the cache takes it from nobody who reads it. Several processes may share a cache.

use crate::layout::{Draft, Place};
use crate::room::{Room, Sizes, unwritable};
use boson_pipeline::Diagnostic;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

/// Layers that are kept, however small: each time one is added, all are looked at.
const LAYERS: usize = 8192;
/// What a file takes of the disk is a multiple of this, in bytes.
const BLOCK: u64 = 4096;

/// A directory of ours.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
    sizes: Sizes,
    open: Arc<AtomicU64>,
}

/// Names a layer of one repository. Whoever knows the digest of a layer may not have it for that: it is kept for those to whom the registry
/// gives an image of the same repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(String);

/// A layer that is kept.
struct Kept {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

// === impl Key ===

impl Key {
    pub(crate) fn new(registry: &str, repository: &str, digest: &str) -> Self {
        // They come from outside; their hash is a file name whatever they are.
        Self(hex(&Sha256::digest(format!("{registry}\n{repository}\n{digest}"))))
    }
}

// === impl Cache ===

impl Cache {
    /// Removes what processes left that were killed.
    pub(crate) fn new(directory: PathBuf, sizes: Sizes) -> Self {
        let cache = Self {
            directory,
            sizes,
            open: Arc::default(),
        };
        // What cannot be removed, or is no directory, is told with the first image.
        let _ = cache.sweep();
        cache
    }

    /// Begins a layout of `image`.
    pub(crate) fn open(&self, image: String) -> Result<Draft, Diagnostic> {
        let place = self.place().map_err(|error| unwritable(&error))?;
        Ok(Draft::new(
            self.clone(),
            place,
            image,
            Room::new(self.sizes, self.open.clone()),
        ))
    }

    /// Puts the layer at `path`, where it is kept; false where it is not.
    pub(crate) fn take(&self, key: &Key, path: &Path) -> io::Result<bool> {
        let kept = self.layer(key);
        // Not every volume has links.
        let taken = fs::hard_link(&kept, path).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Err(error),
            _ => fs::copy(&kept, path).map(drop),
        });
        match taken {
            Ok(()) => {
                // It is the least recently used one that goes. Where it has gone already, it is put back with its next use.
                let _ = touch(&kept);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Keeps the layer at `path`, which is of this size, for next time.
    pub(crate) fn keep(&self, key: &Key, path: &Path, bytes: u64) -> io::Result<()> {
        fs::create_dir_all(self.directory.join("layers"))?;
        let _lock = self.lock()?;
        self.make_room(bytes)?;
        let kept = self.layer(key);
        // The clock of files is coarser than ours: what is new would seem older than what was used just before.
        let _ = touch(path);
        fs::hard_link(path, &kept).or_else(|error| match error.kind() {
            // Somebody else was faster, with the same content.
            ErrorKind::AlreadyExists => Ok(()),
            _ => {
                let copy = path.with_extension("copy");
                fs::copy(path, &copy)?;
                fs::rename(copy, kept)
            }
        })
    }

    /// Removes layers, the least recently used first, until one of this size may come.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut layers = self.layers()?;
        layers.sort_by_key(|layer| layer.used);
        let mut sum = layers.iter().fold(on_disk(bytes), |sum, layer| sum + layer.bytes);
        let mut count = layers.len() + 1;
        for layer in layers {
            if sum <= self.sizes.kept && count <= LAYERS {
                break;
            }
            fs::remove_file(&layer.path)?;
            (sum, count) = (sum - layer.bytes, count - 1);
        }
        Ok(())
    }

    fn layers(&self) -> io::Result<Vec<Kept>> {
        let entries = fs::read_dir(self.directory.join("layers"))?;
        entries
            .map(|entry| {
                let entry = entry?;
                let data = entry.metadata()?;
                Ok(Kept {
                    used: data.modified()?,
                    bytes: on_disk(data.len()),
                    path: entry.path(),
                })
            })
            .collect()
    }

    fn place(&self) -> io::Result<Place> {
        let open = self.directory.join("open");
        fs::create_dir_all(&open)?;
        // Else somebody who sweeps meets a directory that is not locked yet.
        let _lock = self.lock()?;
        Place::new(&open)
    }

    fn sweep(&self) -> io::Result<()> {
        let places = fs::read_dir(self.directory.join("open"))?;
        let _lock = self.lock()?;
        for place in places {
            Place::remove_stale(&place?.path())?;
        }
        Ok(())
    }

    /// Held while files come or go, by one process and thread at a time.
    fn lock(&self) -> io::Result<File> {
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.directory.join("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn layer(&self, key: &Key) -> PathBuf {
        self.directory.join("layers").join(&key.0)
    }
}

/// Notes that a layer is used now.
fn touch(path: &Path) -> io::Result<()> {
    File::open(path)?.set_modified(SystemTime::now())
}

fn on_disk(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(BLOCK)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
