//! The digest of the inputs of interpolation. Its Secrets can change while a pod starts, so the pod computes the digest
//! again and stops if it differs. So no result is stored under the digest of other inputs.

use crate::Held;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// The digest of a manifest and the values of variables, in any order: 32 hexadecimal digits.
pub fn digest(manifest: &[u8], values: &[Held]) -> String {
    let mut all: Vec<(String, &[u8])> = values.iter().flat_map(Held::files).collect();
    all.sort();
    let mut hash = Sha256::new();
    // The length before each part makes the encoding unambiguous.
    let mut add = |bytes: &[u8]| {
        hash.update(bytes.len().to_be_bytes());
        hash.update(bytes);
    };
    add(manifest);
    for (path, bytes) in all {
        add(path.as_bytes());
        add(bytes);
    }
    HEXLOWER.encode(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    #[test]
    fn only_content_counts() {
        let held = |name: &str, secret: &str, value: &str| Held {
            origin: Origin::Given,
            variable: name.into(),
            secret: secret.into(),
            data: [("password".to_string(), value.as_bytes().to_vec())].into(),
        };
        let base = digest(b"m", &[held("a", "s", "1"), held("b", "s", "2")]);
        assert_eq!(base, digest(b"m", &[held("b", "t", "2"), held("a", "s", "1")]));
        assert_ne!(base, digest(b"n", &[held("a", "s", "1"), held("b", "s", "2")]));
        assert_ne!(base, digest(b"m", &[held("a", "s", "2"), held("b", "s", "1")]));
        assert_ne!(base, digest(b"m", &[held("a", "s", "1")]));
    }
}
