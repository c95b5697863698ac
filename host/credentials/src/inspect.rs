//! Reads an existing certificate, and renews it for the same key.

use crate::{ErrorKind, KeySize, RsaKey, Source, pem_text};
use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use std::time::SystemTime;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode;

/// A certificate, as far as its renewal is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    pub not_before: SystemTime,
    pub not_after: SystemTime,
    /// SHA-256 of it, in hexadecimal digits.
    pub fingerprint: String,
}

// === impl Issued ===

impl Issued {
    /// Reads the first certificate of a PEM text.
    pub fn from_pem(text: &str) -> Option<Self> {
        let der = pem_text::first_block(text)?;
        let parsed = CertificateInner::<Raw>::from_der(&der).ok()?;
        let validity = parsed.tbs_certificate().validity();
        let hash = digest(&SHA256, &der);
        Some(Self {
            not_before: validity.not_before.to_system_time(),
            not_after: validity.not_after.to_system_time(),
            fingerprint: HEXLOWER.encode(hash.as_ref()),
        })
    }
}

/// A source with an existing key, to make a new certificate for that key.
#[derive(Debug)]
pub struct KeptKey<S> {
    key: RsaKey,
    inner: S,
}

// === impl KeptKey ===

impl<S: Source> KeptKey<S> {
    /// `pem`: the private key.
    pub fn new(pem: &str, inner: S) -> Option<Self> {
        let key = RsaKey::from_pem(pem)?;
        Some(Self { key, inner })
    }
}

impl<S: Source> Source for KeptKey<S> {
    fn now(&self) -> SystemTime {
        self.inner.now()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        self.inner.fill(bytes)
    }

    fn key(&self, size: KeySize) -> Result<RsaKey, ErrorKind> {
        if self.key.size() == size {
            Ok(self.key.clone())
        } else {
            Err(ErrorKind::Key("the retained key has another size"))
        }
    }
}
