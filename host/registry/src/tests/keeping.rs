//! Which layers are cached, how many, and who gets access to them.

use super::server::{Request, layer, manifest, reply, serve};
use super::{registry, sized};
use crate::cache::Sizes;
use parking_lot::Mutex;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

/// Requests for layers, in their order.
type Asked = Arc<Mutex<Vec<String>>>;

/// A file of the jobs, large enough for a layer of 12 KiB.
fn jobs(name: &str) -> Vec<u8> {
    layer(&[(&format!("var/vcap/jobs-src/{name}/monit"), &[b'#'; 10_000])])
}

/// Every image has a layer for each letter of its tag. The repository `closed` gives manifests, but no layers.
fn letters() -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let noted = asked.clone();
    let answer = move |request: &Request, stream: &mut TcpStream, _: SocketAddr| {
        let path = request.path.as_str();
        let last = path.rsplit('/').next().unwrap();
        let layers: Vec<Vec<u8>> = last.chars().map(|letter| jobs(&letter.to_string())).collect();
        if path.contains("/manifests/") {
            let layers: Vec<&[u8]> = layers.iter().map(Vec::as_slice).collect();
            return reply(stream, "200 OK", "", &manifest(&layers));
        }
        if path.contains("closed/blobs/") {
            return reply(stream, "403 Forbidden", "", b"");
        }
        let found = ('a'..='z').find(|letter| super::server::digest(&jobs(&letter.to_string())).as_ref() == last);
        match found {
            Some(letter) => {
                noted.lock().push(letter.to_string());
                reply(stream, "200 OK", "", &jobs(&letter.to_string()));
            }
            None => reply(stream, "200 OK", "", b""),
        }
    };
    (serve(answer), asked)
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_layers_of_an_image_share_one_bound() {
    let (address, _) = letters();
    let cache = tempfile::tempdir().unwrap();
    let sizes = Sizes {
        image: 30_000,
        ..Sizes::default()
    };
    let registry = sized(address, cache.path(), sizes);
    registry.fetch(&format!("{address}/r:ab"), None).await.unwrap();
    // Two of its layers are kept already, and count as well.
    for tag in ["abc", "cde", "aaa"] {
        let error = registry.fetch(&format!("{address}/r:{tag}"), None).await.unwrap_err();
        assert_eq!(error.code, "image-size", "{error:?}");
        assert!(error.message.contains("more than 30000 bytes"), "{error:?}");
    }
    assert_eq!(files(&cache.path().join("open")), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_are_read_at_once_share_a_bound_and_give_it_back() {
    let (address, _) = letters();
    let cache = tempfile::tempdir().unwrap();
    let sizes = Sizes {
        open: 30_000,
        ..Sizes::default()
    };
    let registry = sized(address, cache.path(), sizes);
    let (first, second) = (format!("{address}/r:ab"), format!("{address}/r:c"));
    let held = registry.fetch(&first, None).await.unwrap();
    let error = registry.fetch(&second, None).await.unwrap_err();
    assert_eq!(error.code, "image-cache", "{error:?}");
    drop(held);
    registry.fetch(&second, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_recently_used_layer_is_evicted_and_its_readers_are_not_affected() {
    let (address, asked) = letters();
    let cache = tempfile::tempdir().unwrap();
    let sizes = Sizes {
        kept: 3 * 12 * 1024,
        ..Sizes::default()
    };
    let registry = sized(address, cache.path(), sizes);
    let image = |tag: &str| format!("{address}/r:{tag}");
    for tag in ["a", "b", "c", "a"] {
        registry.fetch(&image(tag), None).await.unwrap();
    }
    let held = registry.fetch(&image("b"), None).await.unwrap();
    for tag in ["a", "d", "e"] {
        registry.fetch(&image(tag), None).await.unwrap();
        assert!(files(&cache.path().join("layers")) <= 3);
    }
    // `c` and `b` were evicted, `a` was not.
    for tag in ["a", "b"] {
        registry.fetch(&image(tag), None).await.unwrap();
    }
    assert_eq!(asked.lock().concat(), "abcdeb");
    let errors = boson_releases::read(held.path(), None).unwrap_err();
    assert!(!errors.iter().any(|error| error.code == "release-path"), "{errors:?}");
    assert_eq!(files(&held.path().join("blobs/sha256")), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_is_kept_for_its_repository_alone() {
    let (address, asked) = letters();
    let cache = tempfile::tempdir().unwrap();
    let registry = registry(address, cache.path());
    registry.fetch(&format!("{address}/r:a"), None).await.unwrap();
    registry.fetch(&format!("{address}/s:a"), None).await.unwrap();
    assert_eq!(asked.lock().concat(), "aa");
    let error = registry.fetch(&format!("{address}/closed:a"), None).await.unwrap_err();
    assert_eq!(error.code, "image-access", "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
    let (address, _) = letters();
    let cache = tempfile::tempdir().unwrap();
    let first = registry(address, cache.path());
    let held = first.fetch(&format!("{address}/r:a"), None).await.unwrap();
    let open = cache.path().join("open");
    for (name, file) in [("killed", "lock"), ("killed-early", "layer-0")] {
        fs::create_dir(open.join(name)).unwrap();
        fs::write(open.join(name).join(file), "").unwrap();
    }
    let second = registry(address, cache.path());
    assert_eq!(files(&open), 1);
    assert!(held.path().join("index.json").is_file());
    drop(held);
    assert_eq!(files(&open), 0);
    second.fetch(&format!("{address}/r:a"), None).await.unwrap();
}
