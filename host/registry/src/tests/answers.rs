//! Manifests and layers that are not what they should be.

use super::registry;
use super::server::{digest, layer, manifest, reply, serve};
use boson_pipeline::Diagnostic;
use std::fs;
use std::io::Write;

/// The error for an image with this manifest and layer.
async fn fetch_error(manifest: Vec<u8>, layer: Vec<u8>) -> Diagnostic {
    let address = serve(move |request, stream, _| match request.path.as_str() {
        "/v2/" => reply(stream, "200 OK", "", b""),
        path if path.contains("/manifests/") => reply(stream, "200 OK", "", &manifest),
        _ => reply(stream, "200 OK", "", &layer),
    });
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(address, cache.path());
    let error = registry.fetch(&format!("{address}/nats:1"), None).await.unwrap_err();
    let kept = fs::read_dir(cache.path().join("layers")).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "{error:?}");
    let open = fs::read_dir(cache.path().join("open")).map_or(0, Iterator::count);
    assert_eq!(open, 0, "{error:?}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_is_what_its_manifest_says_or_is_not_kept() {
    let whole = layer(&[("var/vcap/jobs-src/nats/monit", b"check")]);
    let other = layer(&[("var/vcap/jobs-src/nats/monit", b"evil!")]);
    let longer = [whole.clone(), vec![0; 1 << 20]].concat();
    for given in [other, longer, whole[..whole.len() - 512].to_vec(), Vec::new()] {
        let error = fetch_error(manifest(&[&whole]), given).await;
        assert_eq!(error.code, "image-registry", "{error:?}");
        assert!(error.message.contains("does not match its digest"), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_of_an_index_is_the_one_that_was_asked_for() {
    let index = format!(
        r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"","digest":"{}","size":1}}]}}"#,
        digest(b"other")
    );
    let error = fetch_error(index.into_bytes(), Vec::new()).await;
    assert_eq!(error.code, "image-registry", "{error:?}");
    assert!(
        error.message.contains("a manifest that does not match its digest"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_never_ends_is_not_read() {
    for status in ["200 OK", "500 Internal Server Error"] {
        let address = serve(move |request, stream, _| match request.path.as_str() {
            "/v2/" => reply(stream, "200 OK", "", b""),
            _ => {
                let head = format!("HTTP/1.1 {status}\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
                while stream.write_all(&[b' '; 65536]).is_ok() {}
            }
        });
        let cache = tempfile::tempdir().unwrap();
        let registry = registry(address, cache.path());
        let error = registry.fetch(&format!("{address}/nats:1"), None).await.unwrap_err();
        let wanted = match status {
            "200 OK" => "a manifest of more than 4 MiB",
            _ => "responds with status 500",
        };
        assert!(error.message.contains(wanted), "{error:?}");
    }
}
