//! RSA keys, in the encodings BOSH writes.

use crate::{ErrorKind, pem_text};
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{self, KeyPair};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use pkcs1::RsaPublicKeyRef;
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::Decode;
use std::fmt;
use std::sync::Arc;

const MALFORMED_KEY: &str = "the library made a malformed key";

/// Key sizes that BOSH supports, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySize {
    /// 2048, of the types `rsa` and `ssh`.
    Rsa2048,
    /// 3072, of certificates.
    Rsa3072,
    Rsa4096,
}

#[derive(Clone)]
pub struct RsaKey {
    pair: Arc<KeyPair>,
    pkcs1: Vec<u8>,
    public_info: Vec<u8>,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

// === impl KeySize ===

impl KeySize {
    /// The size of so many bits.
    pub fn from_bits(bits: i64) -> Option<Self> {
        match bits {
            2048 => Some(Self::Rsa2048),
            3072 => Some(Self::Rsa3072),
            4096 => Some(Self::Rsa4096),
            _ => None,
        }
    }

    fn native(self) -> rsa::KeySize {
        match self {
            Self::Rsa2048 => rsa::KeySize::Rsa2048,
            Self::Rsa3072 => rsa::KeySize::Rsa3072,
            Self::Rsa4096 => rsa::KeySize::Rsa4096,
        }
    }
}

// === impl RsaKey ===

impl RsaKey {
    /// A new key, from the machine's generator (the library takes no other).
    ///
    /// # Errors
    /// [`ErrorKind::Key`].
    pub fn generate(size: KeySize) -> Result<Self, ErrorKind> {
        let pair = KeyPair::generate(size.native()).map_err(|_| ErrorKind::Key("the library refused"))?;
        let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).map_err(|_| ErrorKind::Key(MALFORMED_KEY))?;
        let info = PrivateKeyInfoRef::from_der(pkcs8.as_ref()).map_err(|_| ErrorKind::Key(MALFORMED_KEY))?;
        let pkcs1 = info.private_key.as_bytes().to_vec();
        Self::new(pair, pkcs1).ok_or(ErrorKind::Key(MALFORMED_KEY))
    }

    /// Reads PKCS#1 DER; `None` where it is no RSA key of 2048 to 8192 bits.
    fn from_pkcs1(der: &[u8]) -> Option<Self> {
        Self::new(KeyPair::from_der(der).ok()?, der.to_vec())
    }

    /// Reads PKCS#1 or PKCS#8 DER, not encrypted, as CredHub does; `None` as in [`Self::from_pkcs1`].
    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        match PrivateKeyInfoRef::from_der(der) {
            Ok(info) => Self::from_pkcs1(info.private_key.as_bytes()),
            Err(_) => Self::from_pkcs1(der),
        }
    }

    fn new(pair: KeyPair, pkcs1: Vec<u8>) -> Option<Self> {
        let public_info = AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key())
            .ok()?
            .as_ref()
            .to_vec();
        let public = RsaPublicKeyRef::from_der(pair.public_key().as_ref()).ok()?;
        let modulus = public.modulus.as_bytes().to_vec();
        let exponent = public.public_exponent.as_bytes().to_vec();
        Some(Self {
            pair: Arc::new(pair),
            pkcs1,
            public_info,
            modulus,
            exponent,
        })
    }

    /// Reads a PEM `RSA PRIVATE KEY` or `PRIVATE KEY`.
    pub fn from_pem(text: &str) -> Option<Self> {
        Self::from_der(&pem_text::first_block(text)?)
    }

    /// The size that is nearest from below.
    pub fn size(&self) -> KeySize {
        match self.pair.public_modulus_len() * 8 {
            0..3072 => KeySize::Rsa2048,
            3072..4096 => KeySize::Rsa3072,
            _ => KeySize::Rsa4096,
        }
    }

    /// PEM `RSA PRIVATE KEY`.
    pub fn private_pem(&self) -> String {
        pem_text::write("RSA PRIVATE KEY", &self.pkcs1)
    }

    /// PEM `PUBLIC KEY`.
    pub fn public_pem(&self) -> String {
        pem_text::write("PUBLIC KEY", &self.public_info)
    }

    /// The public key as SubjectPublicKeyInfo, DER.
    pub(crate) fn public_info(&self) -> &[u8] {
        &self.public_info
    }

    /// Modulus, big-endian, without leading zeros.
    pub(crate) fn modulus(&self) -> &[u8] {
        &self.modulus
    }

    /// Public exponent, big-endian, without leading zeros.
    pub(crate) fn exponent(&self) -> &[u8] {
        &self.exponent
    }

    /// BOSH's subject key identifier: SHA-1 of the modulus, not of the key's encoding as others do.
    pub(crate) fn identifier(&self) -> Vec<u8> {
        digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.modulus).as_ref().to_vec()
    }

    /// Signature by SHA-256 and PKCS#1 1.5.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, ErrorKind> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        // That padding uses no randomness: the generator is only needed for the library's function.
        let signed = self
            .pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
        signed
            .map(|()| signature)
            .map_err(|_| ErrorKind::Key("the library could not sign"))
    }
}

impl fmt::Debug for RsaKey {
    /// Without the secret half.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RsaKey({:?})", self.size())
    }
}
