//! Limits of disk space, checked before writing: for one image, and for all that are read at once.

use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::quantities::MIB;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How large things may grow, in bytes. All together fits into the volume of 2 GiB that `deploy/` gives the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The reduced layers of one image. Jobs of the largest known release (capi) have 1 MiB.
    pub image: u64,
    /// The reduced layers of all images that a process reads at once.
    pub open: u64,
    pub kept: u64,
}

/// Disk space reserved by the layers of one image. Dropping it releases all of it.
#[derive(Debug)]
pub(crate) struct Reservation {
    sizes: Sizes,
    reserved: u64,
    open: Arc<AtomicU64>,
}

/// A file that reserves space while it is written.
#[derive(Debug)]
pub(crate) struct Reserving<'r, W> {
    inner: W,
    reservation: &'r mut Reservation,
    failure: Option<SpaceError>,
}

/// Why something was not written.
#[derive(Debug)]
pub(crate) enum SpaceError {
    Image,
    /// All images that are read at once are too large together.
    Open,
    Disk(io::Error),
}

// === impl Sizes ===

impl Default for Sizes {
    fn default() -> Self {
        Self {
            image: 256 * MIB,
            open: 768 * MIB,
            kept: 1024 * MIB,
        }
    }
}

// === impl Reservation ===

impl Reservation {
    /// The space of an image. `open` is the total size of all images that are read at the moment.
    pub(crate) fn new(sizes: Sizes, open: Arc<AtomicU64>) -> Self {
        Self {
            sizes,
            reserved: 0,
            open,
        }
    }

    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), SpaceError> {
        if self.reserved.saturating_add(bytes) > self.sizes.image {
            return Err(SpaceError::Image);
        }
        let add = |open: u64| open.checked_add(bytes).filter(|sum| *sum <= self.sizes.open);
        self.open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map_err(|_| SpaceError::Open)?;
        self.reserved += bytes;
        Ok(())
    }

    pub(crate) fn explain(&self, image: &str, error: &SpaceError) -> Diagnostic {
        match error {
            SpaceError::Image => {
                let message = format!(
                    "the jobs of image '{image}' have more than {}",
                    size_text(self.sizes.image)
                );
                Diagnostic::error(codes::IMAGE_SIZE, message)
                    .help("move large files from jobs into packages, which are not read")
            }
            SpaceError::Open => {
                let message = format!(
                    "the images that are read at the same time have more than {}",
                    size_text(self.sizes.open)
                );
                Diagnostic::error(boson_releases::codes::IMAGE_CACHE, message).help("it will be retried")
            }
            SpaceError::Disk(error) => cache_error(error),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.open.fetch_sub(self.reserved, Ordering::Relaxed);
    }
}

// === impl Reserving ===

impl<'r, W> Reserving<'r, W> {
    pub(crate) fn new(inner: W, reservation: &'r mut Reservation) -> Self {
        Self {
            inner,
            reservation,
            failure: None,
        }
    }

    /// Why writing failed, if it did.
    pub(crate) fn failure(&mut self) -> Option<SpaceError> {
        self.failure.take()
    }
}

impl<W: Write> Write for Reserving<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let reserved = self.reservation.take(bytes.len() as u64);
        let written = reserved.and_then(|()| self.inner.write_all(bytes).map_err(SpaceError::Disk));
        written.map(|()| bytes.len()).map_err(|error| {
            self.failure.get_or_insert(error);
            // Stored, because the writer wraps the error in its own message.
            io::Error::other("no disk space is left for it")
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// An error of the cache directory.
pub(crate) fn cache_error(error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        boson_releases::codes::IMAGE_CACHE,
        format!("the image cache cannot be written: {error}"),
    )
    .help("check whether the volume is full or read-only")
}

fn size_text(bytes: u64) -> String {
    match bytes / MIB {
        0 => format!("{bytes} bytes"),
        mib => format!("{mib} MiB"),
    }
}
