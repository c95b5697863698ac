//! The digest of the content of links, which pods and pod templates carry. It is keyed: who may read pods, but not
//! Secrets, must not be able to test guesses of a value against it. Pure.

use data_encoding::HEXLOWER;
use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

const BLOCK_BYTES: usize = 64;

/// The key. It is in the Secret of the webhook; none until that was read. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct DigestKey(Arc<RwLock<Option<String>>>);

// === impl DigestKey ===

impl DigestKey {
    pub fn set(&self, key: Option<String>) {
        *self.0.write() = key;
    }

    pub fn is_set(&self) -> bool {
        self.0.read().is_some()
    }

    /// The digest of the contents of links, whatever their order; none as long as there is no key.
    pub fn digest(&self, contents: impl IntoIterator<Item = [u8; 32]>) -> Option<String> {
        let key = self.0.read().clone()?;
        let mut parts: Vec<[u8; 32]> = contents.into_iter().collect();
        parts.sort_unstable();
        let digest = hmac(key.as_bytes(), &parts.concat());
        Some(HEXLOWER.encode(&digest[..16]))
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey")
    }
}

/// A digest of texts that keeps them apart. It is not keyed: it never leaves the process.
pub(crate) fn of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// HMAC-SHA256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK_BYTES];
    let hashed: [u8; 32] = Sha256::digest(key).into();
    let key = if key.len() > BLOCK_BYTES { &hashed[..] } else { key };
    block[..key.len()].copy_from_slice(key);
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_that_of_the_rfc() {
        // RFC 4231, test cases 2 and 6.
        assert_eq!(
            HEXLOWER.encode(&hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            HEXLOWER.encode(&hmac(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            )),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn a_digest_depends_on_key_and_content_and_not_on_order() {
        let (one, other) = ([1; 32], [2; 32]);
        let key = DigestKey::default();
        assert_eq!(key.digest([one]), None);
        key.set(Some("k".into()));
        assert_eq!(key.digest([one, other]), key.digest([other, one]));
        let digest = key.digest([one]);
        assert_ne!(digest, key.digest([other]));
        key.set(Some("l".into()));
        assert_ne!(digest, key.digest([one]));
        assert_ne!(of_parts([&b"ab"[..], b"c"]), of_parts([&b"a"[..], b"bc"]));
    }
}
