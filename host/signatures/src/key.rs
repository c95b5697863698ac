//! Public keys.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;

/// The label of a public key in PEM.
const LABEL: &str = "PUBLIC KEY";
/// The largest signature, in bytes of text: that of an RSA key of 8192 bits has 1368.
const MAX_SIGNATURE_BYTES: usize = 4096;

/// Public keys, each of which counts.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

/// A key with its fingerprint.
#[derive(Debug)]
struct Key {
    parsed: ParsedPublicKey,
    fingerprint: String,
}

/// The text has no public key, or one of a kind that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

// === impl Keys ===

impl Keys {
    /// Adds the keys in a PEM text: ECDSA with P-256, Ed25519, or RSA from 2048 bits on.
    ///
    /// # Errors
    /// It has none, or another kind of key or other PEM.
    pub fn add(&mut self, text: &[u8]) -> Result<(), KeyError> {
        let blocks = pem::parse_many(text).map_err(|_| KeyError)?;
        if blocks.is_empty() {
            return Err(KeyError);
        }
        for block in blocks {
            let parsed = (block.tag() == LABEL).then(|| parsed(block.contents())).flatten();
            self.0.push(Key {
                parsed: parsed.ok_or(KeyError)?,
                fingerprint: fingerprint(block.contents()),
            });
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fingerprint of each key: `sha256:` and the digits of its SubjectPublicKeyInfo.
    pub fn fingerprints(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| key.fingerprint.as_str())
    }

    /// The fingerprint of the key that made this signature, a text in base64, of these bytes.
    pub fn signer(&self, bytes: &[u8], signature: &str) -> Option<&str> {
        let text: String = signature.split_ascii_whitespace().collect();
        if text.len() > MAX_SIGNATURE_BYTES {
            return None;
        }
        let signature = STANDARD.decode(text).ok()?;
        let mut keys = self.0.iter();
        let key = keys.find(|key| key.parsed.verify_sig(bytes, &signature).is_ok())?;
        Some(&key.fingerprint)
    }
}

/// The digest by which messages name a key.
fn fingerprint(info: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(digest(&SHA256, info).as_ref()))
}

/// The key in a SubjectPublicKeyInfo, whose algorithm it names.
fn parsed(info: &[u8]) -> Option<ParsedPublicKey> {
    let algorithms: [&'static dyn VerificationAlgorithm; 3] =
        [&ECDSA_P256_SHA256_ASN1, &ED25519, &RSA_PKCS1_2048_8192_SHA256];
    let mut parsed = algorithms
        .into_iter()
        .map(|algorithm| ParsedPublicKey::new(algorithm, info));
    parsed.find_map(Result::ok)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::trust::Trust;
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
        RSA_PKCS1_SHA256, RsaKeyPair,
    };

    /// Makes signatures of bytes.
    pub type Sign = Box<dyn Fn(&[u8]) -> Vec<u8>>;

    fn pem_of(info: &[u8]) -> String {
        pem::encode(&pem::Pem::new(LABEL, info))
    }

    /// A new key: its public part as PEM, and what signs with it.
    pub fn ecdsa() -> (String, Sign) {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let info = key.public_key().as_der().unwrap();
        let text = pem_of(info.as_ref());
        let sign = move |bytes: &[u8]| key.sign(&SystemRandom::new(), bytes).unwrap().as_ref().to_vec();
        (text, Box::new(sign))
    }

    /// Trust in the key of this text only.
    pub fn trusted(text: &str) -> Trust {
        let mut trust = Trust::default();
        trust.keys.add(text.as_bytes()).unwrap();
        trust
    }

    fn ed25519() -> (String, Sign) {
        let key = Ed25519KeyPair::generate().unwrap();
        let info = key.public_key().as_der().unwrap();
        let text = pem_of(info.as_ref());
        (text, Box::new(move |bytes| key.sign(bytes).as_ref().to_vec()))
    }

    fn rsa() -> (String, Sign) {
        let key = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let info = key.public_key().as_der().unwrap();
        let text = pem_of(info.as_ref());
        let sign = move |bytes: &[u8]| {
            let mut signature = vec![0; key.public_modulus_len()];
            key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), bytes, &mut signature)
                .unwrap();
            signature
        };
        (text, Box::new(sign))
    }

    #[test]
    fn each_kind_of_key_verifies_its_own_signatures() {
        let made = [ecdsa(), ed25519(), rsa()];
        let mut all = Keys::default();
        assert!(all.is_empty());
        let have_signed = |keys: &Keys, bytes: &[u8], signature: &str| keys.signer(bytes, signature).is_some();
        for (text, _) in &made {
            all.add(text.as_bytes()).unwrap();
        }
        for (nth, (text, sign)) in made.iter().enumerate() {
            let signature = STANDARD.encode(sign(b"component"));
            let mut own = Keys::default();
            own.add(text.as_bytes()).unwrap();
            assert_eq!(own.signer(b"component", &signature), own.fingerprints().next());
            assert_eq!(all.signer(b"component", &signature), all.fingerprints().nth(nth));
            let folded = format!("{}\n{}\n", &signature[..20], &signature[20..]);
            assert!(have_signed(&own, b"component", &folded));
            assert!(!have_signed(&own, b"other", &signature));
            let mut other = Keys::default();
            other.add(made[(nth + 1) % 3].0.as_bytes()).unwrap();
            assert!(!have_signed(&other, b"component", &signature), "of another key");
            assert!(
                !have_signed(&Keys::default(), b"component", &signature),
                "there is no key"
            );
        }
        for nonsense in ["", "!", "AAAA", &"A".repeat(MAX_SIGNATURE_BYTES + 4)] {
            assert!(!have_signed(&all, b"component", nonsense), "{nonsense}");
        }
    }

    #[test]
    fn a_fingerprint_is_the_digest_of_the_key_as_openssl_writes_it() {
        let text = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
                    -----END PUBLIC KEY-----\n";
        let mut keys = Keys::default();
        keys.add(text.as_bytes()).unwrap();
        let fingerprints: Vec<&str> = keys.fingerprints().collect();
        assert_eq!(
            fingerprints,
            ["sha256:a1e9156054e04fac899ae9f275132cdc07a5dbc4ea2c2ad3a1ffc6e0d253681f"]
        );
    }

    #[test]
    fn other_texts_are_no_keys() {
        let p384 = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_ASN1_SIGNING).unwrap();
        let p384 = pem_of(p384.public_key().as_der().unwrap().as_ref());
        let certificate = pem::encode(&pem::Pem::new("CERTIFICATE", b"x".as_slice()));
        let several = format!("{}{certificate}", ecdsa().0);
        for text in ["", "no PEM", &p384, &certificate, &several, &pem_of(b"nonsense")] {
            assert_eq!(Keys::default().add(text.as_bytes()), Err(KeyError), "{text}");
        }
    }
}
