//! Components of plugins: what is pulled, for whom it is cached, and registries that send something else.

use super::registry;
use super::server::{digest, reply, serve};
use crate::{Owned, Registry};
use boson_oci::Digest;
use boson_pipeline::Diagnostic;
use parking_lot::Mutex;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const COMPONENT: &[u8] = b"\0asm a component";

/// The manifest of an image with this component.
fn artifact(component: &[u8], size: u64) -> String {
    let digest = digest(component);
    format!(
        r#"{{"schemaVersion":2,"config":{{{0}}},"layers":[{{{0}}}]}}"#,
        format_args!(r#""mediaType":"application/wasm","digest":"{digest}","size":{size}"#)
    )
}

/// A registry with one image, whose component is sent by `send`; and its requests.
fn registry_with(
    manifest: String,
    send: impl Fn(&mut std::net::TcpStream) + Clone + Send + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = asked.clone();
    let address = serve(move |request, stream, _| {
        noted.lock().push(request.path.clone());
        match request.path.as_str() {
            "/v2/" => reply(stream, "200 OK", "", b""),
            path if path.contains("/manifests/") => reply(stream, "200 OK", "", manifest.as_bytes()),
            _ => send(stream),
        }
    });
    (address, asked)
}

async fn pull(registry: &Registry, namespace: &str, image: &str) -> Result<Digest, Diagnostic> {
    registry.pull_component(Owned { namespace, image }, None).await
}

fn kept(cache: &Path) -> usize {
    let open = fs::read_dir(cache.join("open")).map_or(0, Iterator::count);
    assert_eq!(open, 0, "files of a pull that has ended");
    fs::read_dir(cache.join("layers")).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_component_is_pulled_once_for_each_namespace() {
    let manifest = artifact(COMPONENT, COMPONENT.len() as u64);
    let (address, asked) = registry_with(manifest.clone(), |stream| reply(stream, "200 OK", "", COMPONENT));
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(address, cache.path());
    let tag = format!("{address}/team/p:1");
    let pinned = registry.pin(&tag, None).await.unwrap();
    assert_eq!(pinned, digest(manifest.as_bytes()));
    assert_eq!(kept(cache.path()), 0, "a tag is resolved without a pull");
    let image = format!("{tag}@{pinned}");
    let wanted = Owned {
        namespace: "a",
        image: &image,
    };
    assert!(registry.component(wanted).await.unwrap().is_none());
    assert_eq!(pull(&registry, "a", &image).await.unwrap(), digest(COMPONENT));
    assert_eq!(kept(cache.path()), 2, "the manifest and the component");
    let before = asked.lock().len();
    assert_eq!(pull(&registry, "a", &image).await.unwrap(), digest(COMPONENT));
    assert_eq!(
        registry.component_digest(wanted).await.unwrap(),
        Some(digest(COMPONENT))
    );
    assert_eq!(registry.component(wanted).await.unwrap().as_deref(), Some(COMPONENT));
    assert_eq!(asked.lock().len(), before, "the registry may be away");

    // Another namespace must be allowed by the registry itself.
    let other = Owned {
        namespace: "b",
        image: &image,
    };
    assert!(registry.component(other).await.unwrap().is_none());
    pull(&registry, "b", &image).await.unwrap();
    assert!(asked.lock().len() > before);

    // A damaged file of the cache is not used, and replaced.
    for file in fs::read_dir(cache.path().join("layers")).unwrap() {
        fs::write(file.unwrap().path(), b"damaged").unwrap();
    }
    assert!(registry.component(wanted).await.unwrap().is_none());
    pull(&registry, "a", &image).await.unwrap();
    assert_eq!(registry.component(wanted).await.unwrap().as_deref(), Some(COMPONENT));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_what_its_digest_names_or_is_not_kept() {
    let longer = [COMPONENT, &[0; 1 << 20]].concat();
    let size = COMPONENT.len() as u64;
    for sent in [
        b"\0asm another one".to_vec(),
        longer,
        COMPONENT[1..].to_vec(),
        Vec::new(),
    ] {
        let manifest = artifact(COMPONENT, size);
        let (address, _) = registry_with(manifest.clone(), move |stream| reply(stream, "200 OK", "", &sent));
        let cache = tempfile::tempdir().unwrap();
        let image = format!("{address}/p@{}", digest(manifest.as_bytes()));
        let error = pull(&registry(address, cache.path()), "a", &image).await.unwrap_err();
        assert_eq!(error.code, "plugin-image-registry", "{error:?}");
        assert!(error.message.contains("does not match its digest"), "{error:?}");
        assert_eq!(kept(cache.path()), 0);
    }
    // The manifest is not the one that was asked for.
    let (address, asked) = registry_with(artifact(COMPONENT, size), |stream| {
        reply(stream, "200 OK", "", COMPONENT)
    });
    let cache = tempfile::tempdir().unwrap();
    let image = format!("{address}/p@{}", digest(b"other"));
    let error = pull(&registry(address, cache.path()), "a", &image).await.unwrap_err();
    assert!(error.message.contains("a manifest that does not match"), "{error:?}");
    assert!(!asked.lock().iter().any(|path| path.contains("/blobs/")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_component_is_not_requested_and_an_endless_one_is_given_up() {
    let manifest = artifact(COMPONENT, 97 << 20);
    let (address, asked) = registry_with(manifest.clone(), |stream| reply(stream, "200 OK", "", COMPONENT));
    let cache = tempfile::tempdir().unwrap();
    let image = format!("{address}/p@{}", digest(manifest.as_bytes()));
    let error = pull(&registry(address, cache.path()), "a", &image).await.unwrap_err();
    assert_eq!(error.code, "plugin-image-format", "{error:?}");
    assert!(error.message.contains("more than 96 MiB"), "{error:?}");
    assert!(!asked.lock().iter().any(|path| path.contains("/blobs/")));

    let manifest = artifact(COMPONENT, 1 << 20);
    let (address, _) = registry_with(manifest.clone(), |stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        // A byte now and then, so that the timeout for pauses does not apply.
        while stream.write_all(b"v").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let cache = tempfile::tempdir().unwrap();
    let image = format!("{address}/p@{}", digest(manifest.as_bytes()));
    let impatient = registry(address, cache.path()).with_timeout(Duration::from_millis(500));
    let error = pull(&impatient, "a", &image).await.unwrap_err();
    assert!(error.message.contains("did not send all of it"), "{error:?}");
    assert_eq!(kept(cache.path()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_goes_where_the_settings_do_not_allow_it() {
    let manifest = artifact(COMPONENT, COMPONENT.len() as u64);
    let (other, asked_there) = registry_with(manifest.clone(), |stream| reply(stream, "200 OK", "", COMPONENT));
    // A registry may send to a storage, but not to one without TLS that is not listed.
    let place = format!("Location: http://{other}/v2/p/blobs/x\r\n");
    let (address, asked) = registry_with(manifest.clone(), move |stream| {
        reply(stream, "307 Temporary Redirect", &place, b"");
    });
    let cache = tempfile::tempdir().unwrap();
    let image = format!("{address}/p@{}", digest(manifest.as_bytes()));
    let error = pull(&registry(address, cache.path()), "a", &image).await.unwrap_err();
    assert!(
        error
            .message
            .contains("redirects too often, or to an address without TLS"),
        "{error:?}"
    );
    assert!(asked_there.lock().is_empty());

    let before = asked.lock().len();
    let settings = crate::Settings {
        allowed: vec!["registry.example.com/team".into()],
        ..super::settings(&[address])
    };
    let limited = Registry::new(cache.path().into(), &settings).unwrap();
    for error in [
        pull(&limited, "a", &image).await.unwrap_err(),
        limited.pin(&format!("{address}/p:1"), None).await.unwrap_err(),
    ] {
        assert_eq!(error.code, "plugin-image-not-allowed", "{error:?}");
    }
    assert_eq!(asked.lock().len(), before, "it sent no request");
    for image in ["Not An Image", "r.example/p@sha512:0", "r.example/p@sha256:xyz"] {
        let error = pull(&limited, "a", image).await.unwrap_err();
        assert_eq!(error.code, "plugin-image-reference", "{error:?}");
    }
}
