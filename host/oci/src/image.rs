//! An image whose layers are in files.

use crate::{Blob, descriptor};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A part of a file. Several may read it at once, each from its own position.
#[derive(Clone, Debug)]
pub struct Section {
    file: Arc<File>,
    begin: u64,
    size: u64,
}

#[derive(Clone, Debug)]
pub struct Layer {
    /// Its media type.
    pub media_type: String,
    /// `sha256:<hex>` of its bytes.
    pub digest: String,
    /// `sha256:<hex>` of its bytes when they are not compressed.
    pub diff_id: String,
    pub content: Section,
}

/// An image under a name.
#[derive(Clone, Debug)]
pub struct Image {
    /// `<repository>:<tag>`.
    pub name: String,
    pub config: Blob,
    pub manifest: Blob,
    /// The lowest first.
    pub layers: Vec<Layer>,
}

/// Reads a section from its begin to its end.
#[derive(Debug)]
pub struct SectionReader {
    section: Section,
    at: u64,
}

// === impl Section ===

impl Section {
    /// `size` bytes of `file`, from `begin` on.
    pub fn new(file: Arc<File>, begin: u64, size: u64) -> Self {
        Self { file, begin, size }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads from its begin.
    pub fn reader(&self) -> SectionReader {
        SectionReader {
            section: self.clone(),
            at: 0,
        }
    }

    /// Reads at most `most` bytes from position `at`.
    ///
    /// # Errors
    /// Those of the file, or it has become shorter.
    pub fn part(&self, at: u64, most: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.size.saturating_sub(at)).unwrap_or(most);
        let mut part = vec![0; left.min(most)];
        self.file.read_exact_at(&mut part, self.begin + at)?;
        Ok(part)
    }
}

// === impl Layer ===

impl Layer {
    pub fn descriptor(&self) -> Value {
        descriptor(&self.media_type, &self.digest, self.content.size)
    }
}

// === impl Image ===

impl Image {
    /// The layers' descriptors.
    pub fn descriptors(&self) -> Vec<Value> {
        self.layers.iter().map(Layer::descriptor).collect()
    }
}

// === impl SectionReader ===

impl Read for SectionReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.section.size.saturating_sub(self.at);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let wanted = buffer.get_mut(..most).unwrap_or_default();
        let count = self.section.file.read_at(wanted, self.section.begin + self.at)?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += count as u64;
        Ok(count)
    }
}
