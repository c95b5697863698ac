//! Digests as texts.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// SHA-256 in 64 hexadecimal digits.
pub fn sha256(content: impl AsRef<[u8]>) -> String {
    HEXLOWER.encode(&Sha256::digest(content))
}
