//! Signatures and signed statements about a component, from its ConfigMap and from the registry of its image.

use crate::blob;
use crate::envelope::{Envelope, Statement};
use crate::key::Keys;
use crate::payload::ImageSignature;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a statement says that is a signature of an image: `cosign sign` of version 3.
const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";
/// What a statement says that is about a build.
const PROVENANCE: [&str; 2] = ["https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"];

/// What is attached to an image in its registry, not verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Signatures of the image.
    pub signatures: Vec<ImageSignature>,
    /// Signed statements about it.
    pub statements: Vec<Envelope>,
}

/// Signatures and signed statements about a component, not verified.
#[derive(Clone, Debug, Default)]
pub struct Signed {
    /// A signature of the component: in base64, or a bundle.
    pub component: Option<String>,
    /// A signed statement about the component: an envelope or a bundle.
    pub statement: Option<String>,
    /// The digest of its image: `sha256:` and 64 digits.
    pub image: Option<String>,
    /// What is attached to its image.
    pub attached: Attached,
}

/// What was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The component itself.
    Component,
    /// The image with the component.
    Image,
}

/// A signature that was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signer<'k> {
    /// What was signed.
    pub subject: Subject,
    /// The fingerprint of the key.
    pub key: &'k str,
}

/// A statement about the build of a component, which was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance<'k> {
    /// Who made the statement, and about what.
    pub signer: Signer<'k>,
    /// What built the component, as an address.
    pub builder: Option<String>,
}

// === impl Attached ===

impl Attached {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.signatures.is_empty() && self.statements.is_empty()
    }
}

// === impl Signed ===

impl Signed {
    /// Which of the keys has signed the component or its image.
    pub fn signer<'k>(&self, component: &[u8], keys: &'k Keys) -> Option<Signer<'k>> {
        let own = self.component.as_ref();
        if let Some(key) = own.and_then(|text| blob::signer(component, text, keys)) {
            let subject = Subject::Component;
            return Some(Signer { subject, key });
        }
        let image = self.image.as_deref()?;
        let Attached { signatures, statements } = &self.attached;
        let of_bundle = |one: &Envelope| {
            let (key, statement) = one.verified(keys)?;
            statement.is_signature_of(image).then_some(key)
        };
        let of_payload = |one: &ImageSignature| one.signer(image, keys);
        let key = signatures
            .iter()
            .find_map(of_payload)
            .or_else(|| statements.iter().find_map(of_bundle))?;
        let subject = Subject::Image;
        Some(Signer { subject, key })
    }

    /// How many signatures there are, of whichever key.
    pub fn count(&self) -> usize {
        let Attached { signatures, statements } = &self.attached;
        let is_signature = |one: &&Envelope| one.statement().is_some_and(|one| one.is_signature());
        let bundles = statements.iter().filter(is_signature).count();
        usize::from(self.component.is_some()) + signatures.len() + bundles
    }

    /// The statement of one of the keys about the build of the component with this digest, `sha256:` and 64 digits, or
    /// of its image. `builders`: what may have built it; none: anything.
    pub fn provenance<'k>(&self, component: &str, keys: &'k Keys, builders: &[String]) -> Option<Provenance<'k>> {
        let own = self.statement.as_ref().and_then(|text| Envelope::read(text.as_bytes()));
        let mut all = own.iter().chain(&self.attached.statements);
        all.find_map(|one| {
            let (key, statement) = one.verified(keys)?;
            let image = self.image.as_deref();
            let subject = if image.is_some_and(|image| statement.is_about(image)) {
                Subject::Image
            } else {
                Subject::Component
            };
            let is_about = subject == Subject::Image || statement.is_about(component);
            let builder = statement.builder();
            let is_built = builders.is_empty() || builder.is_some_and(|id| builders.iter().any(|one| one == id));
            let is_accepted = statement.is_provenance() && is_about && is_built;
            is_accepted.then(|| Provenance {
                signer: Signer { subject, key },
                builder: builder.map(str::to_owned),
            })
        })
    }
}

// === impl Statement ===

impl Statement {
    /// Whether it says only that its author signs something.
    pub fn is_signature(&self) -> bool {
        self.predicate_type == SIGNATURE
    }

    /// Whether it says that its author signs the image with this digest.
    pub fn is_signature_of(&self, image: &str) -> bool {
        self.is_signature() && self.is_about(image)
    }

    /// Whether it says how something was built.
    pub fn is_provenance(&self) -> bool {
        PROVENANCE.contains(&self.predicate_type.as_str())
    }

    /// What built it, as an address.
    pub fn builder(&self) -> Option<&str> {
        let of_v1 = self.predicate.pointer("/runDetails/builder/id");
        let id = of_v1.or_else(|| self.predicate.pointer("/builder/id"));
        id.and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::{Sign, ecdsa};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn digest(letter: &str) -> String {
        format!("sha256:{}", letter.repeat(64))
    }

    /// A signed statement about this digest.
    fn envelope(sign: &Sign, predicate_type: &str, about: &str, predicate: &Value) -> String {
        let digits = about.trim_start_matches("sha256:");
        let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate_type,
            "subject": [{"digest": {"sha256": digits}}], "predicate": predicate})
        .to_string();
        let kind = "application/vnd.in-toto+json";
        let signed = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
        json!({"payloadType": kind, "payload": STANDARD.encode(&statement),
            "signatures": [{"sig": STANDARD.encode(sign(signed.as_bytes()))}]})
        .to_string()
    }

    fn attached(text: &str) -> Signed {
        let statements = vec![Envelope::read(text.as_bytes()).unwrap()];
        Signed {
            image: Some(digest("a")),
            attached: Attached {
                statements,
                ..Attached::default()
            },
            ..Signed::default()
        }
    }

    #[test]
    fn a_statement_of_cosign_is_a_signature_of_the_image_that_it_names() {
        let (text, sign) = ecdsa();
        let mut keys = Keys::default();
        keys.add(text.as_bytes()).unwrap();
        let signed = |kind: &str, about: &str| attached(&envelope(&sign, kind, about, &json!({})));
        let good = signed(SIGNATURE, &digest("a"));
        let signer = good.signer(b"component", &keys).unwrap();
        assert_eq!(
            (signer.subject, Some(signer.key)),
            (Subject::Image, keys.fingerprints().next())
        );
        assert_eq!(good.count(), 1);
        assert_eq!(good.signer(b"component", &Keys::default()), None);
        // Of another image; and about the build, which says nothing about its use.
        for other in [signed(SIGNATURE, &digest("b")), signed(PROVENANCE[0], &digest("a"))] {
            assert_eq!(other.signer(b"component", &keys), None);
        }
    }

    #[test]
    fn provenance_is_about_the_component_or_its_image_and_of_a_known_builder() {
        let (text, sign) = ecdsa();
        let mut keys = Keys::default();
        keys.add(text.as_bytes()).unwrap();
        let of_v1 = json!({"runDetails": {"builder": {"id": "https://ci.example/builder"}}});
        let of_v0 = json!({"builder": {"id": "https://ci.example/builder"}});
        let builders = ["https://ci.example/builder".to_string()];
        for (kind, predicate) in [(PROVENANCE[0], &of_v1), (PROVENANCE[1], &of_v0)] {
            for (about, subject) in [(digest("a"), Subject::Image), (digest("c"), Subject::Component)] {
                let signed = attached(&envelope(&sign, kind, &about, predicate));
                let found = signed.provenance(&digest("c"), &keys, &builders).unwrap();
                assert_eq!(found.signer.subject, subject);
                assert_eq!(found.builder.as_deref(), Some("https://ci.example/builder"));
                let other = ["https://other.example".to_string()];
                assert_eq!(signed.provenance(&digest("c"), &keys, &other), None);
                assert_eq!(signed.provenance(&digest("c"), &Keys::default(), &[]), None);
            }
        }
        let of_other = attached(&envelope(&sign, PROVENANCE[0], &digest("d"), &of_v1));
        assert_eq!(of_other.provenance(&digest("c"), &keys, &[]), None);
        let of_other_kind = attached(&envelope(&sign, SIGNATURE, &digest("a"), &of_v1));
        assert_eq!(of_other_kind.provenance(&digest("c"), &keys, &[]), None);
        let without_builder = attached(&envelope(&sign, PROVENANCE[0], &digest("a"), &json!({})));
        assert!(without_builder.provenance(&digest("c"), &keys, &[]).is_some());
        assert_eq!(without_builder.provenance(&digest("c"), &keys, &builders), None);
        // Beside the component, in its ConfigMap.
        let own = Signed {
            statement: Some(envelope(&sign, PROVENANCE[0], &digest("c"), &of_v1)),
            ..Signed::default()
        };
        assert!(own.provenance(&digest("c"), &keys, &builders).is_some());
        assert_eq!(own.provenance(&digest("e"), &keys, &builders), None);
    }
}
