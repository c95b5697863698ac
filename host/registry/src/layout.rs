//! An image layout for one reader: made of links to cached layers, and deleted when it is dropped.

use crate::cache::{Cache, Key, Reservation, Reserving, cache_error};
use boson_oci::layout::{BLOBS, INDEX, MARK, MARK_CONTENT};
use boson_oci::{Descriptor, MediaType, Place, Section, digest, index, manifest};
use boson_pipeline::Diagnostic;
use boson_releases::{Budget, Limits, reduce};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
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
    /// The image that is being read.
    pub image: String,
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
        let place = cache.place().map_err(|error| cache_error(&error))?;
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
        let taken = self.cache.take(key, &path).map_err(|error| cache_error(&error))?;
        if taken {
            let bytes = fs::metadata(&path).map_err(|error| cache_error(&error))?.len();
            let reserved = self.reservation.take(bytes);
            reserved.map_err(|error| self.reservation.explain(&self.image, &error))?;
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
        let file = File::create(&path).map_err(|error| cache_error(&error))?;
        let mut out = BufWriter::new(Reserving::new(file, &mut self.reservation));
        let reduced = reduce(name, reader, &self.budget, &mut out);
        if let Some(error) = out.get_mut().failure() {
            // The rest of its buffer does not fit either.
            drop(out);
            return Err(self.reservation.explain(&self.image, &error));
        }
        drop(out);
        reduced?;
        self.cache.keep(key, &path).map_err(|error| cache_error(&error))?;
        self.layers.push(path);
        Ok(())
    }

    /// Makes a layout of the layers.
    pub(crate) fn finish(self) -> Result<Layout, Diagnostic> {
        self.write().map_err(|error| cache_error(&error))?;
        Ok(Layout {
            place: self.place,
            _reservation: self.reservation,
        })
    }

    fn write(&self) -> io::Result<()> {
        let path = self.place.path();
        fs::create_dir_all(path.join(BLOBS))?;
        let layers: Vec<Descriptor> = self
            .layers
            .iter()
            .map(|layer| blob(path, layer))
            .collect::<io::Result<_>>()?;
        // A layout of jobs needs no configuration.
        let config = Descriptor::new(MediaType::EmptyJSON, 2, digest(b"{}"));
        let manifest = manifest(&config, &layers);
        fs::write(path.join(boson_oci::path(&manifest.digest)), &manifest.bytes)?;
        fs::write(path.join(MARK), MARK_CONTENT)?;
        fs::write(path.join(INDEX), index(&self.image, &manifest.descriptor()).to_string())
    }

    fn next(&self) -> PathBuf {
        self.place.path().join(format!("layer-{}", self.layers.len()))
    }
}

/// Moves a file to the path of its digest, and returns its descriptor.
fn blob(layout: &Path, file: &Path) -> io::Result<Descriptor> {
    let content = Section::open(file)?;
    let descriptor = Descriptor::new(MediaType::ImageLayer, content.size(), content.digest()?);
    fs::rename(file, layout.join(boson_oci::path(descriptor.digest())))?;
    Ok(descriptor)
}
