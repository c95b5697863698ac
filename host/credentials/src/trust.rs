//! The CAs that users of a certificate trust, in one text, as CredHub writes them with `concatenate_cas`; and whether a
//! certificate verifies against a CA.

use crate::pem_text;
use crate::signing_request::first_certificate;
use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use x509_cert::der::Encode;

/// The first certificate of each text, each once.
pub fn concatenated<'t>(certificates: impl IntoIterator<Item = &'t str>) -> String {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for der in certificates.into_iter().filter_map(pem_text::first_block) {
        if !all.contains(&der) {
            all.push(der);
        }
    }
    all.iter().map(|der| pem_text::write("CERTIFICATE", der)).collect()
}

/// Whether a text of several certificates has the first one of another text.
pub fn contains(bundle: &str, certificate: &str) -> bool {
    pem_text::first_block(certificate).is_some_and(|wanted| pem_text::blocks(bundle).contains(&wanted))
}

/// Whether the first of these certificates names this CA as its issuer, and has a signature by its key. Validity and
/// usage are not checked.
pub fn verifies(certificate: &str, authority: &str) -> bool {
    signed_by(certificate, authority).unwrap_or(false)
}

fn signed_by(certificate: &str, authority: &str) -> Option<bool> {
    let (certificate, authority) = (first_certificate(certificate)?, first_certificate(authority)?);
    let (body, signer) = (certificate.tbs_certificate(), authority.tbs_certificate());
    let issuer = body.issuer().to_der().ok()?;
    let is_named = issuer == signer.subject().to_der().ok()?;
    let key = signer.subject_public_key_info().to_der().ok()?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
    let signature = certificate.signature().as_bytes()?;
    Some(is_named && key.verify(&body.to_der().ok()?, signature).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, System, generate};
    use boson_document::Tree;

    fn made(options: &[(&'static str, Tree)], signer: Option<&Tree>) -> Tree {
        let mut tree = Tree::object().with(
            "key_length",
            boson_document::Number::new("2048").map_or(Tree::Null, Tree::Number),
        );
        for (key, value) in options {
            tree.set(*key, value.clone());
        }
        let request = Request {
            name: "a",
            kind: "certificate",
            options: &tree,
            signer,
        };
        generate(&request, &System::new()).unwrap()
    }

    #[test]
    fn a_certificate_verifies_against_its_own_ca_only() {
        let ca = || made(&[("is_ca", Tree::Bool(true)), ("common_name", "ca".into())], None);
        let (old, new) = (ca(), ca());
        let leaf = made(&[("ca", "ca".into()), ("common_name", "leaf".into())], Some(&old));
        let text = |value: &Tree| value.str("certificate").unwrap().to_string();
        assert!(verifies(&text(&leaf), &text(&old)) && verifies(&text(&old), &text(&old)));
        assert!(!verifies(&text(&leaf), &text(&new)) && !verifies("", &text(&new)));
        let both = concatenated([text(&old).as_str(), &text(&new), &text(&old)]);
        assert_eq!(
            both,
            format!("{}{}", text(&old), text(&new)),
            "as CredHub: each ends with a newline"
        );
        assert!(contains(&both, &text(&new)) && !contains(&text(&old), &text(&new)) && !contains(&both, ""));
    }
}
