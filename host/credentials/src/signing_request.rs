//! A certificate signing request (PKCS#10): a request to another signer, with the same options as certificates.

use crate::certificate::{OPTIONS, alternative_names, signing_error, subject};
use crate::options::Options;
use crate::{ErrorKind, RsaKey, pem_text};
use boson_document::Tree;
use x509_cert::attr::{Attribute, Attributes};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::asn1::{Any, BitString};
use x509_cert::der::oid::db::rfc5912;
use x509_cert::der::{self, Decode, Encode};
use x509_cert::ext::ToExtension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::request::{CertReq, CertReqInfo, ExtensionReq, Version};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

/// The request for these options of a certificate and this key, PEM. The same options and key give the same text.
///
/// # Errors
/// Options that a certificate does not take; no private key as PEM.
pub fn signing_request(options: &Tree, key: &str) -> Result<String, ErrorKind> {
    let options = Options::read("certificate", options, OPTIONS)?;
    let key = RsaKey::from_pem(key).ok_or(ErrorKind::Key("the given key is not a private RSA key"))?;
    let subject = subject(&options)?;
    let names = alternative_names(&options.texts("alternative_names"))?;
    let info = || -> der::Result<CertReqInfo> {
        let mut attributes = Attributes::default();
        if !names.is_empty() {
            let extension = (false, &SubjectAltName(names)).to_extension(&subject, &[])?;
            attributes.insert(Attribute::try_from(ExtensionReq(vec![extension]))?)?;
        }
        Ok(CertReqInfo {
            version: Version::V1,
            subject,
            public_key: SubjectPublicKeyInfoOwned::from_der(key.public_info())?,
            attributes,
        })
    };
    let info = info().map_err(encoding_error)?;
    let signature = key.sign(&info.to_der().map_err(encoding_error)?)?;
    let request = CertReq {
        info,
        algorithm: AlgorithmIdentifierOwned {
            oid: rfc5912::SHA_256_WITH_RSA_ENCRYPTION,
            parameters: Some(Any::null()),
        },
        signature: BitString::from_bytes(&signature).map_err(encoding_error)?,
    };
    let der = request.to_der().map_err(encoding_error)?;
    Ok(pem_text::write("CERTIFICATE REQUEST", &der))
}

/// Whether the certificate is for this private key; both PEM.
pub fn is_for_key(certificate: &str, key: &str) -> bool {
    let certified = first_certificate(certificate);
    let certified = certified.and_then(|one| one.tbs_certificate().subject_public_key_info().to_der().ok());
    let own = RsaKey::from_pem(key);
    certified
        .zip(own)
        .is_some_and(|(certified, own)| certified == own.public_info())
}

/// Whether the certificate names this authority as its issuer; both PEM. By name only: no signature is checked.
pub fn names_as_issuer(certificate: &str, authority: &str) -> bool {
    let issuer = first_certificate(certificate).and_then(|one| one.tbs_certificate().issuer().to_der().ok());
    let subject = first_certificate(authority).and_then(|one| one.tbs_certificate().subject().to_der().ok());
    issuer.is_some() && issuer == subject
}

/// The first certificate of a text.
pub(crate) fn first_certificate(text: &str) -> Option<CertificateInner<Raw>> {
    CertificateInner::<Raw>::from_der(&pem_text::first_block(text)?).ok()
}

fn encoding_error(error: der::Error) -> ErrorKind {
    signing_error(false, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeptKey, KeySize, Request, System, generate};
    use boson_document::json::parse;
    use std::io::Write;
    use std::process::Command;

    #[test]
    fn openssl_reads_a_request_with_its_names_and_finds_it_signed() {
        let key = RsaKey::generate(KeySize::Rsa2048).unwrap().private_pem();
        let options =
            parse(r#"{"common_name": "a.b", "organization": "O", "alternative_names": ["a.b", "*.a", "10.0.0.1"]}"#);
        let options = options.unwrap();
        let request = signing_request(&options, &key).unwrap();
        assert_eq!(signing_request(&options, &key).unwrap(), request);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(request.as_bytes()).unwrap();
        let output = Command::new("openssl")
            .args(["req", "-noout", "-text", "-verify", "-in"])
            .arg(file.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for wanted in ["O=O", "CN=a.b", "DNS:a.b, DNS:*.a, IP Address:10.0.0.1"] {
            assert!(text.replace(" = ", "=").contains(wanted), "no {wanted} in {text}");
        }
    }

    #[test]
    fn a_certificate_knows_its_key_and_its_issuer() {
        let key = RsaKey::generate(KeySize::Rsa2048).unwrap().private_pem();
        let made = |options: &str, signer: Option<&Tree>, key: &str| {
            let request = Request {
                name: "x",
                kind: "certificate",
                options: &parse(options).unwrap(),
                signer,
            };
            generate(&request, &KeptKey::new(key, System::new()).unwrap()).unwrap()
        };
        let authority_key = RsaKey::generate(KeySize::Rsa2048).unwrap().private_pem();
        let authority = made(
            r#"{"common_name": "ca", "is_ca": true, "key_length": 2048}"#,
            None,
            &authority_key,
        );
        let leaf = made(
            r#"{"common_name": "leaf", "ca": "ca", "key_length": 2048}"#,
            Some(&authority),
            &key,
        );
        let text = |tree: &Tree| tree.str("certificate").unwrap().to_string();
        assert!(is_for_key(&text(&leaf), &key));
        assert!(!is_for_key(&text(&leaf), &authority_key));
        assert!(names_as_issuer(&text(&leaf), &text(&authority)));
        assert!(!names_as_issuer(&text(&authority), &text(&leaf)));
        assert!(!is_for_key("", &key) && !names_as_issuer("", ""));
    }
}
