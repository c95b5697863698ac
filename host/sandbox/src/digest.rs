//! Digests of components.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// sha256 of a component.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComponentDigest(pub(crate) [u8; 32]);

// === impl ComponentDigest ===

impl ComponentDigest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// `sha256:` and twelve digits, for messages.
    pub fn short(&self) -> String {
        let digits: String = self.hex().chars().take(12).collect();
        format!("sha256:{digits}")
    }
}

impl fmt::Display for ComponentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for ComponentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
