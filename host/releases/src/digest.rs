//! Digests as BOSH writes them: `<sha1>`, `sha256:<hex>`, or several with `;` between, of which the strongest counts.

use data_encoding::HEXLOWER;
use sha1::Sha1;
use sha2::digest::DynDigest;
use sha2::{Sha256, Sha512};
use std::io::{self, Read};

/// Why content does not match its digest, in BOSH's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    #[error("Expected stream to have digest '{expected}' but was '{got}'")]
    Differs {
        /// The expected digest as written.
        expected: String,
        /// The actual digest in the same form.
        got: String,
    },
    /// None of these digests has a known algorithm.
    #[error("Unknown digest '{0}'")]
    Unknown(String),
}

/// Checks the digest of a stream.
pub struct Verifier {
    /// The strongest digest, as written.
    digest: String,
    hash: Box<dyn DynDigest + Send>,
}

/// Passes content on to a check.
pub struct Checked<'v, R> {
    inner: R,
    verifier: &'v mut Verifier,
}

// === impl Verifier ===

impl Verifier {
    /// Creates a check for content with these digests, of which the strongest counts.
    ///
    /// # Errors
    /// No algorithm is known.
    pub fn new(digests: &str) -> Result<Self, DigestError> {
        let all = digests.split(';').map(str::trim);
        let known = all.filter_map(|digest| Some((hash(digest)?, digest)));
        // The longer, the stronger.
        let strongest = known.max_by_key(|(hash, _)| hash.output_size());
        let (hash, digest) = strongest.ok_or_else(|| DigestError::Unknown(digests.to_owned()))?;
        Ok(Self {
            digest: digest.to_owned(),
            hash,
        })
    }

    /// A reader that passes everything on to this check.
    pub fn over<R: Read>(&mut self, inner: R) -> Checked<'_, R> {
        Checked { inner, verifier: self }
    }

    /// The next bytes of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// Checks the digest.
    ///
    /// # Errors
    /// It does not match.
    pub fn finish(self) -> Result<(), DigestError> {
        let got = HEXLOWER.encode(&self.hash.finalize());
        let expected = self.digest.rsplit(':').next().unwrap_or_default();
        if expected.eq_ignore_ascii_case(&got) {
            return Ok(());
        }
        let prefix = self.digest.strip_suffix(expected).unwrap_or_default();
        Err(DigestError::Differs {
            got: format!("{prefix}{got}"),
            expected: self.digest,
        })
    }
}

// === impl Checked ===

impl<R: Read> Read for Checked<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.verifier.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Checks content against its digests.
///
/// # Errors
/// It does not match, or no algorithm is known.
pub fn verify(digests: &str, content: &[u8]) -> Result<(), DigestError> {
    let mut verifier = Verifier::new(digests)?;
    verifier.update(content);
    verifier.finish()
}

/// The algorithm of a digest.
fn hash(digest: &str) -> Option<Box<dyn DynDigest + Send>> {
    match digest.split_once(':') {
        None | Some(("sha1", _)) if !digest.is_empty() => Some(Box::<Sha1>::default()),
        Some(("sha256", _)) => Some(Box::<Sha256>::default()),
        Some(("sha512", _)) => Some(Box::<Sha512>::default()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const SHA256: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_strongest_digest_counts() {
        let wrong = "0".repeat(40);
        for good in [
            SHA1,
            &SHA1.to_uppercase(),
            &format!("sha1:{SHA1}"),
            SHA256,
            &format!("{wrong};{SHA256}"),
        ] {
            assert_eq!(verify(good, b"abc"), Ok(()), "{good}");
        }
        for (bad, expected, got) in [
            (wrong.clone(), wrong.clone(), SHA1.to_owned()),
            (format!("{SHA1};sha256:00"), "sha256:00".to_owned(), SHA256.to_owned()),
        ] {
            assert_eq!(
                verify(&bad, b"abc"),
                Err(DigestError::Differs { expected, got }),
                "{bad}"
            );
        }
        for unknown in ["", "md5:abc", ";"] {
            assert_eq!(
                verify(unknown, b"abc"),
                Err(DigestError::Unknown(unknown.into())),
                "{unknown}"
            );
        }
    }
}
