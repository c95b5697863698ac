//! Tokens: invalid ones, and the hosts that they are sent to.

use super::server::{Request, layer, manifest, reply, serve};
use super::{many, registry, settings};
use crate::{Credentials, Registry, Settings};
use parking_lot::Mutex;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// A registry that requires a token, and whose token server returns these bytes.
fn asking(token: &'static [u8]) -> SocketAddr {
    serve(move |request, stream, address| match request.path.as_str() {
        "/v2/" => {
            let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\",service=\"r\"\r\n");
            reply(stream, "401 Unauthorized", &challenge, b"");
        }
        _ => reply(stream, "200 OK", "", token),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_token_ends_the_reading_of_the_image_only() {
    let large: &'static [u8] =
        Box::leak(format!(r#"{{"token":"{}"}}"#, "CANARY".repeat(20_000)).into_boxed_str()).as_bytes();
    for token in [br#"{"token":"CANARY\nb"}"#.as_slice(), b"CANARY", b"{}", large] {
        let address = asking(token);
        let cache = tempfile::tempdir().unwrap();
        let registry = registry(address, cache.path());
        let error = registry.fetch(&format!("{address}/nats:1"), None).await.unwrap_err();
        assert_eq!(error.code, "image-registry", "{error:?}");
        assert!(error.message.contains("returned no usable token"), "{error:?}");
        assert!(!format!("{error:?}").contains("CANARY"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_never_ends_is_not_read() {
    let address = serve(|request, stream, address| match request.path.as_str() {
        "/v2/" => {
            let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\"\r\n");
            reply(stream, "401 Unauthorized", &challenge, b"");
        }
        _ => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            while stream.write_all(&[b' '; 4096]).is_ok() {}
        }
    });
    let cache = tempfile::tempdir().unwrap();
    let error = registry(address, cache.path())
        .fetch(&format!("{address}/nats:1"), None)
        .await
        .unwrap_err();
    assert!(error.message.contains("returned no usable token"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_without_tls_may_not_name_any_token_server_without_tls() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = asked.clone();
    let thief = serve(move |request, stream, _| {
        noted.lock().push(request.path.clone());
        reply(stream, "200 OK", "", br#"{"token":"abc"}"#);
    });
    let address = serve(move |_, stream, _| {
        let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{thief}/token\",service=\"r\"\r\n");
        reply(stream, "401 Unauthorized", &challenge, b"");
    });
    let cache = tempfile::tempdir().unwrap();
    let credentials = Credentials {
        username: "u".into(),
        password: "p".into(),
    };
    let image = format!("{address}/nats:1");
    let fetched = registry(address, cache.path()).fetch(&image, Some(&credentials)).await;
    let error = fetched.unwrap_err();
    assert_eq!(error.code, "image-registry");
    assert!(error.message.contains("names a token server without TLS"), "{error:?}");
    assert!(asked.lock().is_empty(), "the password was sent");
    // A token server that is listed, too, is used.
    drop(
        many(&[address, thief], cache.path())
            .fetch(&image, Some(&credentials))
            .await,
    );
    assert_eq!(asked.lock().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_goes_for_a_token_and_the_token_to_the_registry_alone() {
    let whole = layer(&[("var/vcap/jobs-src/nats/monit", b"check")]);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = seen.clone();
    let note = move |who: &str, request: &Request| {
        let authorization = request.authorization.clone().unwrap_or_default();
        let what = request.path.rsplit_once('/').unwrap().0.to_owned();
        noted.lock().push(format!("{who} {what} {authorization}"));
    };
    let (described, stored, storing) = (manifest(&[&whole]), whole.clone(), note.clone());
    let storage = serve(move |request, stream, _| {
        storing("storage", request);
        reply(stream, "200 OK", "", &stored);
    });
    let address = serve(move |request, stream, address| {
        note("registry", request);
        match request.path.as_str() {
            "/v2/" => {
                let challenge =
                    format!("WWW-Authenticate: Bearer realm=\"http://{address}/give/token\",service=\"r\"\r\n");
                reply(stream, "401 Unauthorized", &challenge, b"");
            }
            "/give/token?scope=repository%3Anats%3Apull&service=r" => {
                reply(stream, "200 OK", "", br#"{"token":"abc"}"#)
            }
            "/v2/nats/manifests/1" => reply(stream, "200 OK", "", &described),
            _ => {
                let place = format!("Location: http://{storage}/stored/layer\r\n");
                reply(stream, "307 Temporary Redirect", &place, b"");
            }
        }
    });
    let cache = tempfile::tempdir().unwrap();
    let credentials = Credentials {
        username: "u".into(),
        password: "p".into(),
    };
    let image = format!("{address}/nats:1");
    // Only to hosts that are listed as hosts without TLS.
    let error = registry(address, cache.path())
        .fetch(&image, Some(&credentials))
        .await
        .unwrap_err();
    assert!(error.message.contains("redirects"), "{error:?}");
    seen.lock().clear();
    let registry = many(&[address, storage], cache.path());
    registry.fetch(&image, Some(&credentials)).await.unwrap();
    assert_eq!(
        *seen.lock(),
        [
            "registry /v2 ",
            "registry /give Basic dTpw",
            "registry /v2/nats/manifests Bearer abc",
            "registry /v2/nats/blobs Bearer abc",
            "storage /stored ",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_registries_that_are_allowed_are_asked() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = asked.clone();
    let address = serve(move |request, stream, _| {
        noted.lock().push(request.path.clone());
        reply(stream, "404 Not Found", "", b"");
    });
    let cache = tempfile::tempdir().unwrap();
    let code_of = async |allowed: &[String], image: &str| {
        let settings = Settings {
            allowed: allowed.to_vec(),
            ..settings(&[address])
        };
        let registry = Registry::new(cache.path().into(), &settings).unwrap();
        registry.fetch(image, None).await.unwrap_err().code
    };
    let (image, here) = (format!("{address}/team/nats:1"), address.to_string());
    for allowed in [
        "r.example",
        "docker.io",
        &format!("{here}/other"),
        &format!("{here}/tea"),
    ] {
        assert_eq!(
            code_of(&[allowed.to_string()], &image).await,
            "image-registry-not-allowed",
            "{allowed}"
        );
    }
    assert_eq!(
        code_of(&["r.example".into()], "team/nats:1").await,
        "image-registry-not-allowed"
    );
    assert!(asked.lock().is_empty());
    for allowed in [
        vec![],
        vec![here.clone()],
        vec!["r.example".into(), format!("{here}/team")],
    ] {
        assert_eq!(code_of(&allowed, &image).await, "image-missing", "{allowed:?}");
    }
}
