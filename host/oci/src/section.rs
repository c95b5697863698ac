//! Parts of files.

use crate::Digesting;
use oci_spec::image::Digest;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A part of a file. Several may read it at once, each from its own position.
#[derive(Clone, Debug)]
pub struct Section {
    file: Arc<File>,
    begin: u64,
    size: u64,
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

    /// All of the file at this path.
    ///
    /// # Errors
    /// It cannot be opened, or is not a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        // To open a pipe would wait for its writer.
        if path.metadata()?.is_file() {
            Self::of(File::open(path)?)
        } else {
            Err(io::Error::other("not a file"))
        }
    }

    /// All of a file.
    ///
    /// # Errors
    /// It is not a regular file.
    pub fn of(file: File) -> io::Result<Self> {
        let data = file.metadata()?;
        if data.is_file() {
            Ok(Self::new(Arc::new(file), 0, data.len()))
        } else {
            Err(io::Error::other("not a file"))
        }
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

    /// The digest of all its bytes.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn digest(&self) -> io::Result<Digest> {
        let mut content = Digesting::new(self.reader());
        io::copy(&mut content, &mut io::sink())?;
        Ok(content.finish().digest)
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
