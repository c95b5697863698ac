//! Digests of what is written.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// A writer that digests and counts what passes through it.
#[derive(Debug)]
pub struct Digesting<W> {
    inner: W,
    all: Sha256,
    size: u64,
}

// === impl Digesting ===

impl<W> Digesting<W> {
    /// Starts a digest.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            all: Sha256::new(),
            size: 0,
        }
    }

    /// The writer behind it, `sha256:<hex>` of what was written, and its size in bytes.
    pub fn finish(self) -> (W, String, u64) {
        (self.inner, text(self.all), self.size)
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.all.update(bytes.get(..written).unwrap_or_default());
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// `sha256:<hex>` of these bytes.
pub fn digest(bytes: &[u8]) -> String {
    text(Sha256::new_with_prefix(bytes))
}

fn text(all: Sha256) -> String {
    format!("sha256:{}", HEXLOWER.encode(&all.finalize()))
}
