//! Documents that are attached to an image: signatures, signed statements and bills of materials. They are not verified
//! here.
//!
//! | where | by |
//! |---|---|
//! | the tags `sha256-<digits>.sig`, `.att` and `.sbom` | `cosign sign`, `cosign attest`, `cosign attach sbom` |
//! | the referrers of the image, or the index with the tag `sha256-<digits>` | version 3 of cosign, `oras attach` |

use crate::client::Repository;
use crate::component::component_reference;
use crate::credentials::Credentials;
use crate::error::{Error, unless_missing};
use crate::registry::Registry;
use boson_oci::{Descriptor, Digest, Document, ImageManifest, is_sha256, parse_digest};
use boson_pipeline::Diagnostic;
use boson_signatures::{Attached, Envelope, ImageSignature};

/// Documents of an image that are read.
const MAX_DOCUMENTS: usize = 16;
/// Manifests that refer to an image that are read.
const MAX_REFERRERS: usize = 32;
const MAX_DOCUMENT_BYTES: u64 = 4 << 20;
/// The largest signature and signed statement, in bytes. SBOMs are larger, but the operator does not read them.
pub(crate) const MAX_STATEMENT_BYTES: u64 = 256 << 10;
/// The type of a payload that names an image.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation with the signature of a payload.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// The annotations with the certificate and the entry of a log of a keyless signature.
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const LOG_ENTRY: &str = "dev.sigstore.cosign/bundle";
/// How the types of documents begin that are read.
const TYPES: [&str; 9] = [
    PAYLOAD,
    ENVELOPES[0],
    ENVELOPES[1],
    "application/spdx",
    "text/spdx",
    "application/vnd.cyclonedx",
    "application/vnd.syft",
    "application/cyclonedx",
    "text/vnd.cyclonedx",
];
/// How the types of signed statements begin.
const ENVELOPES: [&str; 2] = ["application/vnd.dsse.envelope", "application/vnd.dev.sigstore.bundle"];

/// A document that is attached to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The tag or digest of the manifest that has it.
    pub place: String,
    pub media_type: String,
    /// The annotations of cosign, if it is a payload with a signature.
    pub annotations: Annotations,
    /// Its bytes; `None` if there are too many, or none.
    pub content: Option<Vec<u8>>,
}

/// What cosign says about a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// The signature in base64.
    signature: Option<String>,
    /// The certificate in PEM.
    certificate: Option<String>,
    /// The entry of a log in JSON.
    log_entry: Option<String>,
}

/// What is attached to an image.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    pub all: Vec<Attachment>,
    pub has_more: bool,
}

// === impl Registry ===

impl Registry {
    /// The documents that are attached to an image with a digest: 16 of at most 4 MiB.
    ///
    /// # Errors
    /// Codes `plugin-image-*`: no access, no answer. An image without documents is no error.
    pub async fn attachments(&self, image: &str, credentials: Option<&Credentials>) -> Result<Attachments, Diagnostic> {
        self.read_attachments(image, credentials, MAX_DOCUMENT_BYTES).await
    }

    /// The documents of an image, without the content of those with more than `largest` bytes.
    pub(crate) async fn read_attachments(
        &self,
        image: &str,
        credentials: Option<&Credentials>,
        largest: u64,
    ) -> Result<Attachments, Diagnostic> {
        self.within_pull_timeout(image, async {
            let reference = component_reference(self, image)?;
            let found = async {
                let repository = self.client.repository(&reference, credentials).await?;
                match reference.digest().and_then(parse_digest) {
                    Some(digest) => read(&repository, &digest, largest).await,
                    None => Ok(Attachments::default()),
                }
            };
            found.await.map_err(|error| error.explain_component(image))
        })
        .await
    }
}

// === impl Attachment ===

impl Attachment {
    /// Whether it names an image, as the signatures of images do.
    pub fn is_payload(&self) -> bool {
        self.media_type == PAYLOAD
    }

    /// The signature of an image that it is, if it has one.
    pub fn image_signature(&self) -> Option<ImageSignature> {
        if !self.is_payload() {
            return None;
        }
        let payload = String::from_utf8(self.content.clone()?).ok()?;
        let notes = &self.annotations;
        let signature = ImageSignature::new(payload, notes.signature.clone()?);
        Some(match (&notes.certificate, &notes.log_entry) {
            (Some(certificate), Some(entry)) => signature.with_certificate(certificate, entry),
            _ => signature,
        })
    }

    /// Whether it is a signed statement, alone or in a bundle.
    pub fn is_statement(&self) -> bool {
        ENVELOPES.iter().any(|kind| self.media_type.starts_with(kind))
    }
}

/// The documents of the image with this digest, without the content of those with more than `largest` bytes.
async fn read(repository: &Repository<'_>, digest: &Digest, largest: u64) -> Result<Attachments, Error> {
    let mut found = Attachments::default();
    let tag = digest.to_string().replace(':', "-");
    for suffix in ["sig", "att", "sbom"] {
        let place = format!("{tag}.{suffix}");
        let body = unless_missing(repository.manifest(&place).await)?;
        if let Some(manifest) = body.as_deref().and_then(manifest) {
            found.add(repository, &place, &manifest, largest).await?;
        }
    }
    let index = match repository.referrers(digest).await? {
        Some(index) => Some(index),
        None => unless_missing(repository.manifest(&tag).await)?,
    };
    let Some(Ok(Document::Index(index))) = index.map(|index| Document::read(&index)) else {
        return Ok(found);
    };
    found.has_more |= index.manifests().len() > MAX_REFERRERS;
    for entry in index.manifests().iter().take(MAX_REFERRERS) {
        let kind = entry.artifact_type().as_ref();
        if !is_sha256(entry) || kind.is_some_and(|kind| !is_wanted(kind.as_ref())) {
            continue;
        }
        let place = entry.digest().as_ref();
        let body = unless_missing(repository.manifest(place).await)?;
        let Some(manifest) = body.as_deref().and_then(manifest) else {
            continue;
        };
        // The index is what the registry says; the manifest is what its author has written.
        let subject = manifest.subject().as_ref();
        if subject.is_some_and(|subject| subject.digest() == digest) {
            found.add(repository, place, &manifest, largest).await?;
        }
    }
    Ok(found)
}

// === impl Annotations ===

impl Annotations {
    fn of(layer: &Descriptor) -> Self {
        let notes = layer.annotations().as_ref();
        let note = |name: &str| notes.and_then(|notes| notes.get(name)).cloned();
        Self {
            signature: note(SIGNATURE),
            certificate: note(CERTIFICATE),
            log_entry: note(LOG_ENTRY),
        }
    }
}

// === impl Attachments ===

impl Attachments {
    /// The signatures and signed statements, as the operator reads them. Everything else is ignored.
    pub fn attached(self) -> Attached {
        let mut attached = Attached::default();
        for document in self.all {
            let Some(content) = &document.content else { continue };
            if content.len() as u64 > MAX_STATEMENT_BYTES {
                continue;
            }
            if document.is_statement() {
                attached.statements.extend(Envelope::read(content));
            } else {
                attached.signatures.extend(document.image_signature());
            }
        }
        attached
    }

    /// Adds the documents of a manifest.
    async fn add(
        &mut self,
        repository: &Repository<'_>,
        place: &str,
        manifest: &ImageManifest,
        largest: u64,
    ) -> Result<(), Error> {
        let kind = manifest.artifact_type().as_ref();
        for layer in manifest.layers() {
            let mut kinds = [Some(layer.media_type()), kind].into_iter().flatten();
            let Some(media_type) = kinds.find(|kind| is_wanted(kind.as_ref())) else {
                continue;
            };
            if self.all.len() == MAX_DOCUMENTS {
                self.has_more = true;
                return Ok(());
            }
            let content = if is_sha256(layer) && layer.size() <= largest {
                unless_missing(repository.document(layer.digest()).await)?
            } else {
                None
            };
            // It may be larger than its manifest says.
            let content = content.filter(|bytes| bytes.len() as u64 <= largest);
            self.all.push(Attachment {
                place: place.to_owned(),
                media_type: media_type.to_string(),
                annotations: Annotations::of(layer),
                content,
            });
        }
        Ok(())
    }
}

/// A manifest. Anything else has no documents.
fn manifest(body: &[u8]) -> Option<Box<ImageManifest>> {
    match Document::read(body) {
        Ok(Document::Image(manifest)) => Some(manifest),
        Ok(Document::Index(_)) | Err(_) => None,
    }
}

fn is_wanted(media_type: &str) -> bool {
    TYPES.iter().any(|kind| media_type.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_documents_are_known_by_how_they_begin() {
        for wanted in [
            PAYLOAD,
            "application/vnd.dev.sigstore.bundle.v0.3+json",
            "application/vnd.dev.sigstore.bundle+json;version=0.2",
            "application/spdx+json",
            "text/spdx",
            "application/vnd.cyclonedx+json",
        ] {
            assert!(is_wanted(wanted), "{wanted}");
        }
        for other in ["", "application/wasm", "application/vnd.oci.image.layer.v1.tar+gzip"] {
            assert!(!is_wanted(other), "{other}");
        }
        for nonsense in ["", "[]", r#"{"layers":7}"#, r#"{"layers":[{"digest":7}]}"#] {
            assert!(manifest(nonsense.as_bytes()).is_none(), "{nonsense}");
        }
    }

    #[test]
    fn only_payloads_with_a_signature_and_statements_are_signatures_of_an_image() {
        let document = |media_type: &str, signature: Option<&str>, content: Option<&str>| Attachment {
            place: "sha256-a.sig".into(),
            media_type: media_type.into(),
            annotations: Annotations {
                signature: signature.map(str::to_owned),
                ..Annotations::default()
            },
            content: content.map(|text| text.as_bytes().to_vec()),
        };
        let envelope = r#"{"payloadType":"t","payload":"YQ==","signatures":[{"sig":"c2ln"}]}"#;
        let bundle = format!(r#"{{"dsseEnvelope":{envelope}}}"#);
        let all = vec![
            document(PAYLOAD, Some("c2ln"), Some("{}")),
            document(PAYLOAD, None, Some("{}")),
            document(PAYLOAD, Some("c2ln"), None),
            document("text/spdx", Some("c2ln"), Some("{}")),
            document("application/vnd.dsse.envelope.v1+json", None, Some(envelope)),
            document("application/vnd.dev.sigstore.bundle.v0.3+json", None, Some(&bundle)),
            document("application/vnd.dsse.envelope.v1+json", None, Some("nonsense")),
        ];
        let found = Attachments { all, has_more: false }.attached();
        assert_eq!((found.signatures.len(), found.statements.len()), (1, 2));
        assert_eq!(found.statements.first(), Envelope::read(envelope.as_bytes()).as_ref());
    }
}
