//! An OCI image layout as a tar, with the `manifest.json` of `docker save` beside its index, which names the same
//! files.

use crate::blob::{Blob, index, path, saved};
use crate::header;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use tar::{Builder, EntryType};

/// The tar that is being written.
pub struct Archive<W: Write> {
    archive: Builder<W>,
    written: BTreeSet<String>,
}

// === impl Archive ===

impl<W: Write> Archive<W> {
    /// Writes the entries before the blobs.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(out: W) -> io::Result<Self> {
        let mut archive = Self {
            archive: Builder::new(out),
            written: BTreeSet::new(),
        };
        archive.append("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.as_slice(), 30)?;
        for directory in ["blobs", "blobs/sha256"] {
            let mut header = header(EntryType::Directory, 0o755, 0);
            archive.archive.append_data(&mut header, directory, io::empty())?;
        }
        Ok(archive)
    }

    /// Adds a blob from a reader, unless it is there.
    ///
    /// # Errors
    /// Those of reader and writer.
    pub fn add(&mut self, digest: &str, size: u64, content: impl Read) -> io::Result<()> {
        if self.written.insert(digest.to_owned()) {
            self.append(&path(digest), content, size)?;
        }
        Ok(())
    }

    /// Adds a blob.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        self.add(&blob.digest, blob.bytes.len() as u64, blob.bytes.as_slice())
    }

    /// Writes both indexes, which name the image, and returns the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn end(mut self, name: &str, manifest: &Blob, config: &Blob, layers: &[Value]) -> io::Result<W> {
        for (file, value) in [
            ("index.json", index(name, manifest)),
            ("manifest.json", saved(name, config, layers)),
        ] {
            let bytes = value.to_string();
            self.append(file, bytes.as_bytes(), bytes.len() as u64)?;
        }
        let mut out = self.archive.into_inner()?;
        out.flush()?;
        Ok(out)
    }

    fn append(&mut self, path: &str, content: impl Read, size: u64) -> io::Result<()> {
        let mut header = header(EntryType::Regular, 0o644, size);
        self.archive.append_data(&mut header, path, content)
    }
}
