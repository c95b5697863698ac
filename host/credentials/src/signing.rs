//! The signed content and the signer, as the certificate builder needs them.

use crate::RsaKey;
use x509_cert::TbsCertificate;
use x509_cert::builder::Result as Built;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::der::Document;
use x509_cert::der::asn1::Any;
use x509_cert::der::oid::db::rfc5912;
use x509_cert::ext::Extension;
use x509_cert::name::Name;
use x509_cert::spki::{
    self, AlgorithmIdentifierOwned, DynSignatureAlgorithmIdentifier, EncodePublicKey, SubjectPublicKeyInfoRef,
};

/// Names and extensions, ready made.
pub(crate) struct Profile {
    pub subject: Name,
    pub issuer: Name,
    pub extensions: Vec<Extension>,
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> Built<Vec<Extension>> {
        Ok(self.extensions.clone())
    }
}

/// The signer's key, for the builder.
pub(crate) struct SigningKey<'k>(pub &'k RsaKey);

#[derive(Clone)]
pub(crate) struct PublicKey(Vec<u8>);

impl signature::Keypair for SigningKey<'_> {
    type VerifyingKey = PublicKey;

    fn verifying_key(&self) -> PublicKey {
        PublicKey(self.0.public_info().to_vec())
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        Ok(Document::try_from(self.0.as_slice())?)
    }
}

impl DynSignatureAlgorithmIdentifier for SigningKey<'_> {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        Ok(AlgorithmIdentifierOwned {
            oid: rfc5912::SHA_256_WITH_RSA_ENCRYPTION,
            parameters: Some(Any::null()),
        })
    }
}
