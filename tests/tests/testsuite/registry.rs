//! Tests with a real registry on a loopback address: Debian's `docker-registry`, which `.ci/setup` installs.

use boson_registry::{Credentials, Registry, Settings};
use boson_tests::ports::free_port;
use boson_tests::registry::{PASSWORD, Server, USER, layer};
use std::fs;
use std::path::Path;

fn registry(server: &Server, cache: &Path) -> Registry {
    let settings = Settings {
        without_tls: vec![server.host().to_string()],
        authorities: Vec::new(),
        allowed: Vec::new(),
    };
    Registry::new(cache.to_path_buf(), &settings).unwrap()
}

fn nats() -> Vec<Vec<u8>> {
    let jobs = "var/vcap/jobs-src/nats";
    let noise: Vec<u8> = (0..2_000_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    vec![
        layer(&[("usr/lib/packages", &noise), (&format!("{jobs}/monit"), b"old")]).unwrap(),
        layer(&[
            (&format!("{jobs}/job.MF"), b"name: nats\ntemplates: {a.erb: config/a}\n"),
            (&format!("{jobs}/templates/a.erb"), b"<%= 1 %>"),
            (&format!("{jobs}/.wh.monit"), b""),
        ])
        .unwrap(),
    ]
}

fn bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata().unwrap() {
            data if data.is_dir() => bytes(&entry.path()),
            data => data.len(),
        })
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_read_and_only_its_jobs_are_cached() {
    let server = Server::start(false).unwrap();
    server.push("nats:ubuntu-jammy-1.2-5", &nats()).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(&server, cache.path());
    let image = server.image("nats:ubuntu-jammy-1.2-5");
    let layout = registry.fetch(&image, None).await.unwrap();
    let release = boson_releases::read(layout.path(), None).unwrap();
    assert_eq!((release.name.as_str(), release.version.as_deref()), ("nats", Some("5")));
    assert_eq!(release.jobs[0].templates[0].text, "<%= 1 %>");
    assert!(release.jobs[0].monit.is_none());
    drop(layout);
    assert!(bytes(cache.path()) < 100_000, "{} bytes are kept", bytes(cache.path()));

    // A cached layer is not requested again: it may have been deleted.
    fs::remove_dir_all(server.files().join("data/docker/registry/v2/blobs/sha256")).unwrap();
    let again = registry.fetch(&image, None).await;
    assert_eq!(again.unwrap_err().code, "image-missing");
    server.push("nats:ubuntu-jammy-1.2-5", &nats()).unwrap();
    registry.fetch(&image, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_needed_each_time() {
    let server = Server::start(true).unwrap();
    server.push("nats:a-1-5", &nats()).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(&server, cache.path());
    let image = server.image("nats:a-1-5");
    let of = |password: &str| Credentials {
        username: USER.into(),
        password: password.into(),
    };
    registry.fetch(&image, Some(&of(PASSWORD))).await.unwrap();
    for wrong in [None, Some(of("CANARY"))] {
        let error = registry.fetch(&image, wrong.as_ref()).await.unwrap_err();
        assert_eq!(error.code, "image-access", "{error:?}");
        assert!(!format!("{error:?}").contains("CANARY"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_reported() {
    let server = Server::start(false).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(&server, cache.path());
    let missing = registry.fetch(&server.image("nats:1"), None).await.unwrap_err();
    assert_eq!(missing.code, "image-missing", "{missing:?}");
    let malformed = registry.fetch("Not An Image", None).await.unwrap_err();
    assert_eq!(malformed.code, "image-reference");
    let closed = free_port().unwrap();
    let refused = registry.fetch(&format!("127.0.0.1:{closed}/a:1"), None).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, "image-registry", "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_that_does_not_match_its_digest_is_not_cached() {
    let server = Server::start(false).unwrap();
    server.push("nats:a-1-5", &nats()).unwrap();
    let other = layer(&[("var/vcap/jobs-src/nats/job.MF", b"name: evil\n")]).unwrap();
    let blobs = server.files().join("data/docker/registry/v2/blobs/sha256");
    for prefix in fs::read_dir(&blobs).unwrap() {
        for blob in fs::read_dir(prefix.unwrap().path()).unwrap() {
            let data = blob.unwrap().path().join("data");
            if fs::read(&data).unwrap().starts_with(&[0x1f, 0x8b]) {
                fs::write(&data, &other).unwrap();
            }
        }
    }
    let cache = tempfile::tempdir().unwrap();
    let image = server.image("nats:a-1-5");
    let error = registry(&server, cache.path()).fetch(&image, None).await;
    assert!(error.is_err());
    let kept = fs::read_dir(cache.path().join("layers")).map_or(0, |files| files.count());
    assert_eq!(kept, 0);
}
