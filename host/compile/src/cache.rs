//! Compiled packages as layers of images, in `packages/<package>/<fingerprint>-<key>`; logs; and directories for
//! builds.

use crate::codes;
use boson_oci::{Layer, MediaType, Place, Section, parse_digest};
use boson_pipeline::Diagnostic;
use boson_releases::Package;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The cache of compiled packages. It can be deleted while nothing uses it.
pub struct Cache {
    root: PathBuf,
}

/// A directory for builds.
pub struct Work(Place);

// === impl Cache ===

impl Cache {
    /// Creates the directories, for their owner only.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn new(root: &Path) -> Result<Self, Diagnostic> {
        for place in ["packages", "logs", "work", "stemcells"] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(root.join(place));
            made.map_err(storage_error)?;
        }
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    /// A compiled package; `None` if it is not there, or not complete.
    pub fn get(&self, package: &Package, key: &str) -> Option<Layer> {
        let text = fs::read_to_string(self.path(package, key, "json")).ok()?;
        let about: Value = serde_json::from_str(&text).ok()?;
        let digest = |member: &str| parse_digest(about[member].as_str()?);
        let content = Section::open(&self.path(package, key, "tar.gz")).ok()?;
        let layer = Layer {
            media_type: MediaType::ImageLayerGzip,
            digest: digest("digest")?,
            diff_id: digest("diff-id")?,
            content,
        };
        (about["size"] == layer.content.size()).then_some(layer)
    }

    /// Whether it has this package in any form: compiled on some stemcell image, with some dependencies.
    pub fn has_any(&self, package: &Package) -> bool {
        let entries = fs::read_dir(self.root.join("packages").join(&package.name));
        let beginning = format!("{}-", package.fingerprint);
        entries.into_iter().flatten().flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&beginning) && name.ends_with(".json")
        })
    }

    /// Stores a compiled package.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn put(&self, package: &Package, key: &str, layer: &Layer) -> io::Result<()> {
        let about = json!({
            "digest": layer.digest.as_ref() as &str,
            "diff-id": layer.diff_id.as_ref() as &str,
            "size": layer.content.size(),
        });
        let place = self.root.join("packages").join(&package.name);
        // What is there is not complete. Killed between the two files, this must not leave its digest beside the new
        // content, which can have the same size.
        let _ = fs::remove_file(self.path(package, key, "json"));
        for (end, mut content) in [
            ("tar.gz", Box::new(layer.content.reader()) as Box<dyn io::Read>),
            ("json", Box::new(io::Cursor::new(about.to_string()))),
        ] {
            let mut file = NamedTempFile::new_in(&place)?;
            io::copy(&mut content, &mut file)?;
            file.as_file().sync_all()?;
            file.persist(self.path(package, key, end))
                .map_err(|error| error.error)?;
        }
        Ok(())
    }

    /// The file of a compiled package.
    pub fn layer(&self, package: &Package, key: &str) -> PathBuf {
        self.path(package, key, "tar.gz")
    }

    /// Waits until no other run compiles the same package.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn lock(&self, package: &Package, key: &str) -> io::Result<File> {
        fs::create_dir_all(self.root.join("packages").join(&package.name))?;
        open_locked(&self.path(package, key, "lock"))
    }

    /// Waits until no other run loads the same stemcell image.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn lock_stemcell(&self, digits: &str) -> io::Result<File> {
        open_locked(&self.stemcells().join(format!("{digits}.lock")))
    }

    /// The log of a package's last compilation with this key.
    pub fn log(&self, package: &Package, key: &str) -> PathBuf {
        let name = format!("{}-{key}.log", package.name);
        self.root.join("logs").join(name)
    }

    /// The directory of stemcell images, which builders load.
    pub fn stemcells(&self) -> PathBuf {
        self.root.join("stemcells")
    }

    /// Makes a directory for builds, and deletes those of runs that were killed.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn work(&self) -> io::Result<Work> {
        let parent = self.root.join("work");
        let _lock = open_locked(&parent.join("lock"))?;
        for entry in fs::read_dir(&parent)? {
            let entry = entry?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                Place::remove_stale(&entry.path())?;
            }
        }
        Place::new(&parent).map(Work)
    }

    fn path(&self, package: &Package, key: &str, end: &str) -> PathBuf {
        let place = self.root.join("packages").join(&package.name);
        place.join(format!("{key}.{end}"))
    }
}

// === impl Work ===

impl Work {
    pub fn of(&self, package: &Package) -> PathBuf {
        self.0.path().join(&package.name)
    }

    /// A name that no other run has.
    pub fn name(&self) -> Cow<'_, str> {
        let name = self.0.path().file_name().unwrap_or_default();
        name.to_string_lossy()
    }
}

/// Waits for the lock of this file. It ends when the result is dropped.
fn open_locked(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    file.lock()?;
    Ok(file)
}

/// The error for a cache that cannot be written.
pub fn storage_error(error: io::Error) -> Diagnostic {
    Diagnostic::error(
        codes::COMPILE_CACHE,
        format!("compiled packages cannot be stored: {error}"),
    )
    .help("check whether the disk of --cache is full or read-only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_killed_runs_are_deleted_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path()).unwrap();
        let running = cache.work().unwrap();
        let [left, half_deleted] = ["left", "half-deleted"].map(|name| root.path().join("work").join(name));
        fs::create_dir(&left).unwrap();
        File::create(left.join("lock")).unwrap();
        fs::create_dir_all(half_deleted.join("package")).unwrap();
        let next = cache.work().unwrap();
        assert!(running.0.path().is_dir() && next.0.path().is_dir());
        assert!(!left.exists() && !half_deleted.exists());
    }

    #[test]
    fn runs_that_end_do_not_disturb_those_that_begin() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let work = cache.work().unwrap();
                        assert!(work.0.path().join("lock").is_file());
                    }
                });
            }
        });
    }

    #[test]
    fn a_package_is_there_if_it_was_compiled_once() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path()).unwrap();
        let package = Package {
            name: "p".into(),
            fingerprint: "f".into(),
            dependencies: Vec::new(),
            other_content: None,
        };
        assert!(!cache.has_any(&package));
        assert_ne!(
            cache.log(&package, "f-key"),
            cache.log(&package, "f-other"),
            "written at the same time"
        );
        let _lock = cache.lock(&package, "f-key").unwrap();
        File::create(cache.path(&package, "other-key", "json")).unwrap();
        assert!(!cache.has_any(&package), "only locked, and with another fingerprint");
        File::create(cache.path(&package, "f-key", "json")).unwrap();
        assert!(cache.has_any(&package));
    }
}
