//! The cache: `layers/<key>` is a reduced layer, `open/<name>` a layout in use. Layers are hard-linked into layouts, so
//! that removing a layer from the cache does not affect readers. Several processes may share a cache.

mod space;

pub(crate) use space::{Reservation, Reserving, Sizes, cache_error};

use boson_oci::{Digest, Place, Section};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

/// Most cached layers of any size: adding a layer reads the metadata of all.
const MAX_LAYERS: usize = 8192;
/// Disk usage of a file is a multiple of this, in bytes.
const BLOCK_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
    sizes: Sizes,
    open: Arc<AtomicU64>,
}

/// The key of a layer in one repository. Knowing a layer's digest gives no access to it: a cached layer is used only
/// after the registry has allowed access to an image in the same repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(String);

struct Kept {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

// === impl Key ===

impl Key {
    pub(crate) fn new(registry: &str, repository: &str, digest: &Digest) -> Self {
        Self::of(&format!("{registry}\n{repository}\n{digest}"))
    }

    pub(crate) fn of(text: &str) -> Self {
        // The text is untrusted; its hash is always a valid file name.
        Self(boson_pipeline::digest::sha256(text))
    }
}

// === impl Cache ===

impl Cache {
    /// Removes the layouts of killed processes.
    pub(crate) fn new(directory: PathBuf, sizes: Sizes) -> Self {
        let cache = Self {
            directory,
            sizes,
            open: Arc::default(),
        };
        // Errors are reported with the first image.
        let _ = cache.remove_stale();
        cache
    }

    /// The room for one more layout.
    pub(crate) fn reserve(&self) -> Reservation {
        Reservation::new(self.sizes, self.open.clone())
    }

    /// Links the layer to `path`; false if it is not cached.
    pub(crate) fn take(&self, key: &Key, path: &Path) -> io::Result<bool> {
        let kept = self.layer(key);
        // Not every volume has links.
        let taken = fs::hard_link(&kept, path).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Err(error),
            _ => fs::copy(&kept, path).map(drop),
        });
        match taken {
            Ok(()) => {
                // Marks it as recently used. If it was evicted meanwhile, its next use adds it again.
                let _ = touch(&kept);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Caches the layer at `path`. It replaces one with this key, which may be damaged.
    pub(crate) fn keep(&self, key: &Key, path: &Path) -> io::Result<()> {
        fs::create_dir_all(self.directory.join("layers"))?;
        let _lock = self.lock()?;
        let kept = self.layer(key);
        self.make_room(fs::metadata(path)?.len(), &kept)?;
        // The clock of file systems is coarser than ours: a new layer would seem older than one that was used just
        // before.
        let _ = touch(path);
        let copy = path.with_extension("copy");
        fs::hard_link(path, &copy).or_else(|_| fs::copy(path, &copy).map(drop))?;
        // In one step: readers do not lock.
        fs::rename(copy, kept)
    }

    /// Reads a cached file; `None` if it is not cached, or larger than `most`.
    pub(crate) fn read(&self, key: &Key, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(kept) = self.find(key)? else { return Ok(None) };
        let mut bytes = Vec::new();
        kept.reader().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }

    /// The digest of a cached file, without holding it in memory; `None` if it is not cached.
    pub(crate) fn digest(&self, key: &Key) -> io::Result<Option<Digest>> {
        self.find(key)?.map(|kept| kept.digest()).transpose()
    }

    fn find(&self, key: &Key) -> io::Result<Option<Section>> {
        let path = self.layer(key);
        match Section::open(&path) {
            Ok(kept) => {
                // Marks it as recently used, as above.
                let _ = touch(&path);
                Ok(Some(kept))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Evicts layers, the least recently used first, until one of this size fits in place of `replaced`.
    fn make_room(&self, bytes: u64, replaced: &Path) -> io::Result<()> {
        let mut layers = self.layers()?;
        layers.retain(|layer| layer.path != replaced);
        layers.sort_by_key(|layer| layer.used);
        let mut sum = layers.iter().fold(on_disk(bytes), |sum, layer| sum + layer.bytes);
        let mut count = layers.len() + 1;
        for layer in layers {
            if sum <= self.sizes.kept && count <= MAX_LAYERS {
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

    pub(crate) fn place(&self) -> io::Result<Place> {
        let open = self.directory.join("open");
        fs::create_dir_all(&open)?;
        let _lock = self.lock()?;
        Place::new(&open)
    }

    fn remove_stale(&self) -> io::Result<()> {
        let places = fs::read_dir(self.directory.join("open"))?;
        let _lock = self.lock()?;
        for place in places {
            Place::remove_stale(&place?.path())?;
        }
        Ok(())
    }

    /// Held while files are added or removed, by one process and thread at a time.
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
    bytes.max(1).next_multiple_of(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_replaced_is_there_all_the_time() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("cache"), Sizes::default());
        let key = Key::of("a");
        let keep = |number: usize| {
            let path = directory.path().join(number.to_string());
            fs::write(&path, number.to_string()).unwrap();
            cache.keep(&key, &path).unwrap();
        };
        keep(0);
        std::thread::scope(|scope| {
            scope.spawn(|| (1..200).for_each(keep));
            assert!((0..2000).all(|_| cache.read(&key, 100).unwrap().is_some()));
        });
        assert_eq!(cache.read(&key, 100).unwrap().unwrap(), b"199");
    }
}
