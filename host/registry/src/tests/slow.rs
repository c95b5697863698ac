//! A registry whose answer never ends.

use super::registry;
use super::server::{layer, manifest, reply, serve};
use std::io::Write;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn an_image_that_does_not_end_is_given_up_and_so_is_the_thread_that_unpacks_it() {
    let whole = layer(&[("var/vcap/jobs-src/nats/monit", b"check")]);
    let (sender, heard) = mpsc::channel();
    let address = serve(move |request, stream, _| match request.path.as_str() {
        "/v2/" => reply(stream, "200 OK", "", b""),
        path if path.contains("/manifests/") => reply(stream, "200 OK", "", &manifest(&[&whole])),
        _ => {
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", whole.len()).as_bytes());
            // A byte now and then, so that the timeout for pauses does not apply.
            while stream.write_all(b"v").is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
            let _ = sender.send(());
        }
    });
    let cache = tempfile::tempdir().unwrap();
    // Until then, it has to get as far as the layer.
    let registry = registry(address, cache.path()).with_timeout(Duration::from_secs(3));
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let error = runtime
        .block_on(registry.fetch(&format!("{address}/nats:1"), None))
        .unwrap_err();
    assert_eq!(error.code, "image-registry", "{error:?}");
    assert!(error.message.contains("did not send all of it"), "{error:?}");
    heard.recv_timeout(Duration::from_secs(20)).unwrap();
    // It waits for threads that block.
    drop(runtime);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
