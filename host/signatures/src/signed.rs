//! Signatures and signed statements about a component, from its ConfigMap and from the registry of its image.

use crate::blob;
use crate::envelope::{Envelope, Statement};
use crate::payload::ImageSignature;
use crate::trust::Trust;
use crate::verdict::{Author, SignatureError, first};
use oci_spec::image::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a statement says that is a signature of an image: `cosign sign` of version 3.
const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";
/// What a statement says that is about a build.
const PROVENANCE: [&str; 2] = ["https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"];

/// What is attached to an image in its registry, not verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
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
    pub image: Option<Digest>,
    pub attached: Attached,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Component,
    /// The image with the component.
    Image,
}

/// A signature that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    pub subject: Subject,
    pub author: Author,
}

/// A statement about the build of a component, which was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Who made the statement, and about what.
    pub signer: Signer,
    /// What built the component, as an address.
    pub builder: Option<String>,
}

// === impl Attached ===

impl Attached {
    pub fn is_empty(&self) -> bool {
        self.signatures.is_empty() && self.statements.is_empty()
    }
}

// === impl Signed ===

impl Signed {
    /// Who of the trusted has signed the component or its image.
    ///
    /// # Errors
    /// Nobody: why the signature does not count that is closest to it.
    pub fn signer(&self, component: &[u8], trust: &Trust) -> Result<Signer, SignatureError> {
        let own = self.component.iter().map(|text| {
            let author = blob::author(component, text, trust)?;
            let subject = Subject::Component;
            Ok(Signer { subject, author })
        });
        let of_image = self.image.iter().flat_map(|image| self.authors_of_image(image, trust));
        first(own.chain(of_image.map(|author| {
            let (subject, author) = (Subject::Image, author?);
            Ok(Signer { subject, author })
        })))
    }

    /// Who has signed the image with this digest, by each of its signatures.
    fn authors_of_image(&self, image: &Digest, trust: &Trust) -> impl Iterator<Item = Result<Author, SignatureError>> {
        let Attached { signatures, statements } = &self.attached;
        let of_payloads = signatures.iter().map(move |one| one.author(image, trust));
        let of_bundles = statements.iter().map(move |one| {
            let (author, statement) = one.verified(trust)?;
            if statement.is_signature() && statement.is_about(image) {
                Ok(author)
            } else {
                Err(SignatureError::default())
            }
        });
        of_payloads.chain(of_bundles)
    }

    /// How many signatures there are, of whichever key.
    pub fn count(&self) -> usize {
        let Attached { signatures, statements } = &self.attached;
        let is_signature = |one: &&Envelope| one.statement().is_some_and(|one| one.is_signature());
        let bundles = statements.iter().filter(is_signature).count();
        usize::from(self.component.is_some()) + signatures.len() + bundles
    }

    /// The statement of one of the trusted about the build of the component with this digest, or of its image.
    /// `builders`: what may have built it; none: anything.
    ///
    /// # Errors
    /// There is none: why the statement does not count that is closest to it.
    pub fn provenance(
        &self,
        component: &Digest,
        trust: &Trust,
        builders: &[String],
    ) -> Result<Provenance, SignatureError> {
        let own = self.statement.as_ref().and_then(|text| Envelope::read(text.as_bytes()));
        let image = self.image.as_ref();
        first(own.iter().chain(&self.attached.statements).map(|one| {
            let (author, statement) = one.verified(trust)?;
            let subject = if image.is_some_and(|image| statement.is_about(image)) {
                Subject::Image
            } else {
                Subject::Component
            };
            let is_about = subject == Subject::Image || statement.is_about(component);
            let builder = statement.builder();
            let is_built = builders.is_empty() || builder.is_some_and(|id| builders.iter().any(|one| one == id));
            if !statement.is_provenance() || !is_about || !is_built {
                return Err(SignatureError::default());
            }
            Ok(Provenance {
                signer: Signer { subject, author },
                builder: builder.map(str::to_owned),
            })
        }))
    }
}

// === impl Statement ===

impl Statement {
    /// Whether it says only that its author signs something.
    pub fn is_signature(&self) -> bool {
        self.predicate_type == SIGNATURE
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
    use crate::key::tests::{Sign, ecdsa, trusted};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn digest(letter: &str) -> Digest {
        format!("sha256:{}", letter.repeat(64)).parse().unwrap()
    }

    /// A signed statement about this digest.
    fn envelope(sign: &Sign, predicate_type: &str, about: &Digest, predicate: &Value) -> String {
        let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate_type,
            "subject": [{"digest": {"sha256": about.digest()}}], "predicate": predicate})
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
        let trust = trusted(&text);
        let signed = |kind: &str, about: &Digest| attached(&envelope(&sign, kind, about, &json!({})));
        let good = signed(SIGNATURE, &digest("a"));
        let signer = good.signer(b"component", &trust).unwrap();
        let key = trust.keys.fingerprints().next().unwrap().to_string();
        assert_eq!((signer.subject, signer.author), (Subject::Image, Author::Key(key)));
        assert_eq!(good.count(), 1);
        assert!(good.signer(b"component", &Trust::default()).is_err());
        // Of another image; and about the build, which says nothing about its use.
        for other in [signed(SIGNATURE, &digest("b")), signed(PROVENANCE[0], &digest("a"))] {
            assert_eq!(other.signer(b"component", &trust), Err(SignatureError::default()));
        }
    }

    #[test]
    fn provenance_is_about_the_component_or_its_image_and_of_a_known_builder() {
        let (text, sign) = ecdsa();
        let trust = trusted(&text);
        let of_v1 = json!({"runDetails": {"builder": {"id": "https://ci.example/builder"}}});
        let of_v0 = json!({"builder": {"id": "https://ci.example/builder"}});
        let builders = ["https://ci.example/builder".to_string()];
        for (kind, predicate) in [(PROVENANCE[0], &of_v1), (PROVENANCE[1], &of_v0)] {
            for (about, subject) in [(digest("a"), Subject::Image), (digest("c"), Subject::Component)] {
                let signed = attached(&envelope(&sign, kind, &about, predicate));
                let found = signed.provenance(&digest("c"), &trust, &builders).unwrap();
                assert_eq!(found.signer.subject, subject);
                assert_eq!(found.builder.as_deref(), Some("https://ci.example/builder"));
                let other = ["https://other.example".to_string()];
                assert!(signed.provenance(&digest("c"), &trust, &other).is_err());
                assert!(signed.provenance(&digest("c"), &Trust::default(), &[]).is_err());
            }
        }
        let of_other = attached(&envelope(&sign, PROVENANCE[0], &digest("d"), &of_v1));
        assert!(of_other.provenance(&digest("c"), &trust, &[]).is_err());
        let of_other_kind = attached(&envelope(&sign, SIGNATURE, &digest("a"), &of_v1));
        assert!(of_other_kind.provenance(&digest("c"), &trust, &[]).is_err());
        let without_builder = attached(&envelope(&sign, PROVENANCE[0], &digest("a"), &json!({})));
        assert!(without_builder.provenance(&digest("c"), &trust, &[]).is_ok());
        assert!(without_builder.provenance(&digest("c"), &trust, &builders).is_err());
        // Beside the component, in its ConfigMap.
        let own = Signed {
            statement: Some(envelope(&sign, PROVENANCE[0], &digest("c"), &of_v1)),
            ..Signed::default()
        };
        assert!(own.provenance(&digest("c"), &trust, &builders).is_ok());
        assert!(own.provenance(&digest("e"), &trust, &builders).is_err());
    }
}
