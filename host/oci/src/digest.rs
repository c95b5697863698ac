//! Digests of what is read and written.

use data_encoding::HEXLOWER;
use oci_spec::image::{Descriptor, Digest, DigestAlgorithm};
use sha2::{Digest as _, Sha256};
use std::io::{self, Read, Write};

const SHORT_DIGEST_CHARS: usize = "sha256:".len() + 12;

/// A reader or writer that digests and counts what passes through it.
#[derive(Debug)]
pub struct Digesting<T> {
    inner: T,
    hash: Sha256,
    size: u64,
}

/// What has passed through a reader or writer.
#[derive(Debug)]
pub struct Digested<T> {
    /// The reader or writer.
    pub inner: T,
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
}

// === impl Digesting ===

impl<T> Digesting<T> {
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            size: 0,
        }
    }

    pub fn finish(self) -> Digested<T> {
        Digested {
            inner: self.inner,
            digest: finished(self.hash),
            size: self.size,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
    }
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.add(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.add(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

pub fn digest(bytes: &[u8]) -> Digest {
    finished(Sha256::new_with_prefix(bytes))
}

/// A digest of sha256 from its text: `sha256:` and 64 digits.
pub fn parse_digest(text: &str) -> Option<Digest> {
    let digest = Digest::try_from(text).ok()?;
    (*digest.algorithm() == DigestAlgorithm::Sha256).then_some(digest)
}

/// A digest of sha256 from its 64 hexadecimal digits.
pub fn parse_hex_digest(digits: &str) -> Option<Digest> {
    parse_digest(&format!("sha256:{digits}"))
}

/// The beginning of a digest, for messages: its algorithm and twelve digits.
pub fn short_digest(digest: &str) -> &str {
    digest.get(..SHORT_DIGEST_CHARS).unwrap_or(digest)
}

/// Whether its content can be checked. Digests of other algorithms are refused.
pub fn is_sha256(descriptor: &Descriptor) -> bool {
    *descriptor.digest().algorithm() == DigestAlgorithm::Sha256
}

/// The digest of what was hashed.
pub fn finished(hash: Sha256) -> Digest {
    let text = format!("sha256:{}", HEXLOWER.encode(&hash.finalize()));
    Digest::try_from(text).unwrap_or_else(|error| unreachable!("64 hexadecimal digits are a digest: {error}"))
}
