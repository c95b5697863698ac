//! Documents that are attached to images: where they are found, and registries that send too many or other ones.

use super::registry;
use super::server::{digest, reply, serve};
use crate::{Attachments, Owned};
use boson_pipeline::Diagnostic;
use std::collections::BTreeMap;
use std::net::SocketAddr;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const SPDX: &str = "application/spdx+json";

/// What a registry has: paths below the repository, and bodies.
type Content = BTreeMap<String, Vec<u8>>;

fn image() -> String {
    digest(b"the image").to_string()
}

/// The descriptor of a layer.
fn layer(media_type: &str, bytes: &[u8]) -> String {
    format!(
        r#"{{"mediaType":"{media_type}","digest":"{}","size":{}}}"#,
        digest(bytes),
        bytes.len()
    )
}

/// Adds a document with a manifest that refers to an image; returns the entry of an index for it.
fn refer(content: &mut Content, subject: &str, document: &[u8]) -> String {
    let layer = layer(SPDX, document);
    let subject = format!(r#"{{"mediaType":"{MANIFEST}","digest":"{subject}","size":1}}"#);
    let manifest = manifest(&layer).replace(r#""config""#, &format!(r#""subject":{subject},"config""#));
    content.insert(format!("blobs/{}", digest(document)), document.to_vec());
    let (place, size) = (digest(manifest.as_bytes()), manifest.len());
    content.insert(format!("manifests/{place}"), manifest.into_bytes());
    format!(r#"{{"mediaType":"{MANIFEST}","digest":"{place}","size":{size},"artifactType":"{SPDX}"}}"#)
}

/// A manifest with this layer.
fn manifest(layer: &str) -> String {
    format!(r#"{{"schemaVersion":2,"config":{layer},"layers":[{layer}]}}"#)
}

fn index(entries: &[String]) -> Vec<u8> {
    format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entries.join(",")).into_bytes()
}

fn serving(content: Content) -> SocketAddr {
    serve(move |request, stream, _| {
        let path = request.path.strip_prefix("/v2/team/p/").unwrap_or_default();
        match content.get(path) {
            Some(body) => reply(stream, "200 OK", "", body),
            None if request.path == "/v2/" => reply(stream, "200 OK", "", b""),
            None => reply(stream, "404 Not Found", "", b""),
        }
    })
}

async fn attachments(content: Content) -> Result<Attachments, Diagnostic> {
    let address = serving(content);
    let cache = tempfile::tempdir().unwrap();
    let reference = format!("{address}/team/p@{}", image());
    registry(address, cache.path()).attachments(&reference, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn referrers_are_found_by_the_interface_or_by_the_tag_and_only_those_of_the_image() {
    for place in [
        format!("referrers/{}", image()),
        format!("manifests/{}", image().replace(':', "-")),
    ] {
        let mut content = Content::new();
        let own = refer(&mut content, &image(), b"{\"own\":1}");
        let other = refer(&mut content, digest(b"another image").as_ref(), b"{\"other\":1}");
        // Nothing can be read with this digest, but it must not hide the others.
        let sha512 = format!(
            r#"{{"digest":"sha512:{}","size":1,"annotations":null}}"#,
            "a".repeat(128)
        );
        content.insert(place.clone(), index(&[sha512, own, other]));
        let found = attachments(content).await.unwrap();
        let documents: Vec<_> = found.all.iter().map(|one| one.content.as_deref()).collect();
        assert_eq!(documents, [Some(b"{\"own\":1}".as_slice())], "{place}");
        assert!(!found.has_more);
    }
    assert!(attachments(Content::new()).await.unwrap().all.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn number_and_size_of_documents_are_bounded() {
    let mut content = Content::new();
    let large = vec![b' '; (4 << 20) + 1];
    let many: Vec<String> = (0..40)
        .map(|nth| refer(&mut content, &image(), format!("{{\"n\":{nth}}}").as_bytes()))
        .collect();
    let first = layer("application/vnd.dsse.envelope.v1+json", &large);
    let tag = format!("manifests/{}.att", image().replace(':', "-"));
    content.insert(tag, manifest(&first).into_bytes());
    content.insert(format!("referrers/{}", image()), index(&many));
    let found = attachments(content).await.unwrap();
    assert_eq!(found.all.len(), 16);
    assert!(found.has_more);
    assert_eq!(found.all[0].content, None, "too large: it is not requested");
    assert!(found.all[1].content.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_document_than_the_named_one_is_an_error() {
    let mut content = Content::new();
    let entry = refer(&mut content, &image(), b"{}");
    content.insert(format!("blobs/{}", digest(b"{}")), b"{\"evil\":1}".to_vec());
    content.insert(format!("referrers/{}", image()), index(&[entry]));
    let error = attachments(content).await.unwrap_err();
    assert!(error.message.contains("does not match its digest"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_of_an_image_are_cached_for_one_namespace() {
    let envelope = br#"{"payloadType":"t","payload":"YQ==","signatures":[{"sig":"c2ln"}]}"#;
    let mut content = Content::new();
    let layer = layer("application/vnd.dsse.envelope.v1+json", envelope);
    let tag = format!("manifests/{}.att", image().replace(':', "-"));
    content.insert(tag, manifest(&layer).into_bytes());
    content.insert(format!("blobs/{}", digest(envelope)), envelope.to_vec());
    let address = serving(content);
    let cache = tempfile::tempdir().unwrap();
    let (registry, reference) = (registry(address, cache.path()), format!("{address}/team/p@{}", image()));
    let owned = |namespace| Owned {
        namespace,
        image: &reference,
    };
    assert!(registry.attached(owned("a")).await.unwrap().is_empty());
    let found = registry.pull_attached(owned("a"), None).await.unwrap();
    assert_eq!(found.statements.len(), 1);
    assert_eq!(registry.attached(owned("a")).await.unwrap(), found);
    assert!(registry.attached(owned("b")).await.unwrap().is_empty());
}
