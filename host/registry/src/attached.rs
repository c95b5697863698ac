//! What speaks for an image, as the operator needs it: signatures and signed statements, kept in the cache beside the
//! component. They are not verified here.

use crate::attachments::{self, Attachment};
use crate::cache::Key;
use crate::component::{Keys, Owned, component_reference};
use crate::credentials::Credentials;
use crate::failure::Failure;
use crate::layer::blocking;
use crate::registry::Registry;
use crate::space::unwritable;
use boson_pipeline::Diagnostic;
use boson_signatures::{Attached, Envelope, ImageSignature};
use oci_spec::distribution::Reference;

/// The largest payload or statement, in bytes: bills of materials are larger, and need no operator.
const LARGEST: u64 = 256 << 10;
/// The largest list in the cache, in bytes.
const LARGEST_LIST: u64 = 16 << 20;

// === impl Registry ===

impl Registry {
    /// Reads what speaks for an image with a digest from the registry, and caches it.
    ///
    /// # Errors
    /// Codes `plugin-image-*`: no access, no answer. An image without signatures is no error.
    pub async fn pull_attached(
        &self,
        wanted: Owned<'_>,
        credentials: Option<&Credentials>,
    ) -> Result<Attached, Diagnostic> {
        let found = self.bounded(wanted.image, async {
            let reference = component_reference(self, wanted.image)?;
            let found = async {
                let repository = self.client.repository(&reference, credentials).await?;
                attachments::read(&repository, reference.digest().unwrap_or_default(), LARGEST).await
            };
            let found = found.await;
            found.map_err(|failure: Failure| failure.explain_component(wanted.image))
        });
        let found = of(found.await?.all);
        if !found.is_empty() {
            let reference = component_reference(self, wanted.image)?;
            let (cache, key) = (self.cache.clone(), key(wanted, &reference));
            let text = serde_json::to_vec(&found).unwrap_or_default();
            blocking(move || {
                let keep = || {
                    let place = cache.place()?;
                    let path = place.path().join("attached");
                    std::fs::write(&path, &text)?;
                    cache.forget(&key);
                    cache.keep(&key, &path, text.len() as u64)
                };
                keep().map_err(|error| unwritable(&error))
            })
            .await?;
        }
        Ok(found)
    }

    /// What speaks for an image with a digest, from the cache.
    ///
    /// # Errors
    /// The reference is invalid or its registry not allowed; the disk.
    pub async fn attached(&self, wanted: Owned<'_>) -> Result<Attached, Diagnostic> {
        let reference = component_reference(self, wanted.image)?;
        let (cache, key) = (self.cache.clone(), key(wanted, &reference));
        blocking(move || {
            let found = cache.read(&key, LARGEST_LIST).map_err(|error| unwritable(&error))?;
            // A damaged list is like none.
            Ok(found
                .and_then(|text| serde_json::from_slice(&text).ok())
                .unwrap_or_default())
        })
        .await
    }
}

fn key(wanted: Owned<'_>, reference: &Reference) -> Key {
    let digest = reference.digest().unwrap_or_default();
    Keys::new(wanted.namespace, reference).of(&format!("attached to {digest}"))
}

/// The signatures and signed statements among documents. Everything else is ignored.
pub(crate) fn of(documents: Vec<Attachment>) -> Attached {
    let mut attached = Attached::default();
    for document in documents {
        let (is_statement, is_payload) = (document.is_statement(), document.is_payload());
        let Some(content) = document.content.filter(|content| content.len() as u64 <= LARGEST) else {
            continue;
        };
        if is_statement {
            attached.statements.extend(Envelope::read(&content));
        } else if is_payload
            && let (Ok(payload), Some(signature)) = (String::from_utf8(content), document.signature)
        {
            attached.signatures.push(ImageSignature { payload, signature });
        }
    }
    attached
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

    #[test]
    fn only_payloads_with_a_signature_and_statements_speak_for_an_image() {
        let document = |media_type: &str, signature: Option<&str>, content: Option<&str>| Attachment {
            place: "sha256-a.sig".into(),
            media_type: media_type.into(),
            signature: signature.map(str::to_owned),
            content: content.map(|text| text.as_bytes().to_vec()),
        };
        let envelope = r#"{"payloadType":"t","payload":"YQ==","signatures":[{"sig":"c2ln"}]}"#;
        let bundle = format!(r#"{{"dsseEnvelope":{envelope}}}"#);
        let found = of(vec![
            document(PAYLOAD, Some("c2ln"), Some("{}")),
            document(PAYLOAD, None, Some("{}")),
            document(PAYLOAD, Some("c2ln"), None),
            document("text/spdx", Some("c2ln"), Some("{}")),
            document("application/vnd.dsse.envelope.v1+json", None, Some(envelope)),
            document("application/vnd.dev.sigstore.bundle.v0.3+json", None, Some(&bundle)),
            document("application/vnd.dsse.envelope.v1+json", None, Some("nonsense")),
        ]);
        assert_eq!((found.signatures.len(), found.statements.len()), (1, 2));
        assert_eq!(found.statements.first(), Envelope::read(envelope.as_bytes()).as_ref());
    }
}
