//! Registries that would keep `host image` busy for ever.

use super::server::{digest, manifest, reply, serve};
use super::settings;
use crate::Transfer;
use boson_oci::{Blob, Image, Layer, Section};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a layer that is sent in two parts.
const LAYER_BYTES: u64 = 5 << 20;

/// An image of one layer; the registry does not get far enough to check its digests.
fn image(name: String, content: Section) -> Image {
    let document = || Blob {
        digest: digest(b"{}"),
        media_type: "application/json".into(),
        bytes: b"{}".to_vec(),
    };
    let layer = Layer {
        media_type: "application/vnd.oci.image.layer.v1.tar".into(),
        digest: digest(b"layer"),
        diff_id: digest(b"layer"),
        content,
    };
    Image {
        name,
        config: document(),
        manifest: document(),
        layers: vec![layer],
    }
}

fn transfer(address: SocketAddr) -> Transfer {
    Transfer::new(&settings(&[address])).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_rejects_its_own_tokens_is_not_asked_for_ever() {
    let requests = Arc::new(AtomicU64::new(0));
    let counted = requests.clone();
    let address = serve(move |request, stream, address| {
        counted.fetch_add(1, Ordering::SeqCst);
        match request.path.as_str() {
            "/v2/" => {
                let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\"\r\n");
                reply(stream, "401 Unauthorized", &challenge, b"");
            }
            path if path.starts_with("/token") => reply(stream, "200 OK", "", br#"{"token":"abc"}"#),
            "/v2/base/manifests/1" => reply(stream, "200 OK", "", &manifest(&[b"layer"])),
            // The configuration.
            path if path.contains("44136fa355b3678a") => reply(stream, "200 OK", "", b"{}"),
            _ => reply(stream, "401 Unauthorized", "", b""),
        }
    });
    let place = tempfile::tempdir().unwrap();
    let image = format!("{address}/base:1");
    let error = transfer(address)
        .pull(&image, None, place.path(), &|_| {})
        .await
        .unwrap_err();
    assert_eq!(error.code, "image-access", "{error:?}");
    let requests = requests.load(Ordering::SeqCst);
    assert!(requests < 20, "{requests} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_keeps_a_byte_of_each_part_is_not_sent_a_part_for_each_byte() {
    let parts = Arc::new(AtomicU64::new(0));
    let counted = parts.clone();
    let address = serve(move |request, stream, _| {
        let place = "Location: /v2/nats/blobs/uploads/1\r\n";
        let kept = || format!("{place}Range: 0-{}\r\n", counted.load(Ordering::SeqCst));
        match request.method.as_str() {
            "HEAD" => reply(stream, "404 Not Found", "", b""),
            "POST" => reply(stream, "202 Accepted", place, b""),
            "PATCH" => {
                counted.fetch_add(1, Ordering::SeqCst);
                reply(stream, "202 Accepted", &kept(), b"");
            }
            _ => reply(stream, "204 No Content", &kept(), b""),
        }
    });
    let file = tempfile::tempfile().unwrap();
    file.set_len(LAYER_BYTES).unwrap();
    let image = image(
        format!("{address}/nats:1"),
        Section::new(Arc::new(file), 0, LAYER_BYTES),
    );
    let error = transfer(address).push(&image, None, None, &|_| {}).await.unwrap_err();
    assert!(
        error.message.contains("keeps only a part of what it is sent"),
        "{error:?}"
    );
    let parts = parts.load(Ordering::SeqCst);
    assert!(parts < 20, "{parts} parts");
}
