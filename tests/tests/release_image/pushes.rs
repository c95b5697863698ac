//! Images in a registry: Debian's `docker-registry`, behind a proxy that counts bytes and can be cut.

use crate::workspace::{NAME, Workspace, said};
use boson_registry::{Registry, Settings};
use boson_tests::compiled::Release;
use boson_tests::registry::{PASSWORD, Server, USER};
use boson_tests::write_script;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A proxy for a registry.
struct Wire {
    host: String,
    /// Bytes that were sent to the registry.
    sent: Arc<AtomicU64>,
    /// The connection is cut, once, after this many more bytes; 0: never.
    cut: Arc<AtomicU64>,
}

// === impl Wire ===

impl Wire {
    fn to(registry: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Self {
            host: listener.local_addr().unwrap().to_string(),
            sent: Arc::default(),
            cut: Arc::default(),
        };
        let (to, sent, cut) = (registry.host().to_string(), wire.sent.clone(), wire.cut.clone());
        thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect(&to).unwrap());
                let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
                thread::spawn(move || drop(std::io::copy(&mut &back.0, &mut &back.1)));
                let (sent, cut) = (sent.clone(), cut.clone());
                thread::spawn(move || pass(near, far, &sent, &cut));
            }
        });
        wire
    }

    fn made(&self, workspace: &Workspace, arguments: &[&str]) -> (String, u64) {
        let before = self.sent.load(Ordering::SeqCst);
        let registry = format!("{}/bosh", self.host);
        let own = [
            "release.tgz",
            "--registry",
            &registry,
            "--registry-without-tls",
            &self.host,
        ];
        let made = workspace.made(&[&own, arguments].concat());
        (made, self.sent.load(Ordering::SeqCst) - before)
    }
}

fn pass(mut near: TcpStream, mut far: TcpStream, sent: &AtomicU64, cut: &AtomicU64) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = near.read(&mut buffer) {
        sent.fetch_add(count as u64, Ordering::SeqCst);
        let count_down = |left: u64| Some(left.saturating_sub(count as u64));
        let left = cut.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down);
        // Of all connections, one only.
        if left.is_ok_and(|left| (1..=count as u64).contains(&left)) {
            break;
        }
        if far.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
}

/// Reads the image as a conversion in the operator's process does.
fn greeting(server: &Server) -> String {
    let cache = tempfile::tempdir().unwrap();
    let settings = Settings {
        without_tls: vec![server.host().to_string()],
        ..Settings::default()
    };
    let registry = Registry::new(cache.path().to_path_buf(), &settings).unwrap();
    let image = server.image(NAME);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let layout = runtime.block_on(registry.fetch(&image, None)).unwrap();
    let release = boson_releases::read_titled(layout.path(), &image, "messaging").unwrap();
    release.jobs[0].templates[0].text.clone()
}

#[test]
fn a_pushed_image_is_read_by_conversions_and_sent_once() {
    let (workspace, server) = (Workspace::new(), Server::start(false).unwrap());
    let wire = Wire::to(&server);
    let (made, sent) = wire.made(&workspace, &[]);
    assert!(
        made.starts_with(&format!("{}/bosh/{NAME}@sha256:", wire.host)),
        "{made}"
    );
    assert!(sent > 1_000_000, "{sent}");
    assert_eq!(greeting(&server), "hello");
    // It exists already: checked, not sent.
    let (again, sent) = wire.made(&workspace, &[]);
    assert_eq!(made, again);
    assert!(sent < 4096, "{sent}");
    // A changed job has some hundred bytes, plus its metadata.
    workspace.release(&Release::small("good day"));
    let (changed, sent) = wire.made(&workspace, &["--force"]);
    assert_ne!(made, changed);
    assert!(sent < 32 << 10, "{sent}");
    assert_eq!(greeting(&server), "good day");
}

#[test]
fn an_interrupted_upload_is_continued() {
    let (workspace, server) = (Workspace::new(), Server::start(false).unwrap());
    let mut release = Release::small("hello");
    let noise = boson_tests::compiled::noise(12_000_000);
    release.packages[0].1[0].1 = boson_tests::compiled::Entry::File(0o644, noise);
    workspace.release(&release);
    for cut in [600_000, 2_000_000, 7_000_000] {
        let wire = Wire::to(&server);
        fs::remove_dir_all(server.files().join("data/docker")).unwrap_or_default();
        wire.cut.store(cut, Ordering::SeqCst);
        let (_, sent) = wire.made(&workspace, &["--force"]);
        assert_eq!(wire.cut.load(Ordering::SeqCst), 0, "the wire was not cut: {sent} bytes");
        assert_eq!(greeting(&server), "hello");
    }
}

#[test]
fn an_image_may_be_built_on_one_in_the_registry() {
    let (workspace, server) = (Workspace::new(), Server::start(false).unwrap());
    let base = boson_tests::registry::layer(&[("etc/passwd", b"root:x:0:0:::\n"), ("bin/sh", b"#!\n")]).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(base.as_slice())
        .read_to_end(&mut plain)
        .unwrap();
    let diff = boson_tests::compiled::sha256(&plain);
    let config =
        format!(r#"{{"architecture":"amd64","os":"linux","rootfs":{{"type":"layers","diff_ids":["sha256:{diff}"]}}}}"#);
    server.push_with("stemcell:1", &[base], config.as_bytes()).unwrap();
    let registry = format!("{}/other", server.host());
    let image = server.image("stemcell:1");
    let arguments = [
        "release.tgz",
        "--registry",
        &registry,
        "--registry-without-tls",
        server.host(),
    ];
    let output = workspace.command_on(&image, &arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let output = workspace
        .command_on(&server.image("other:1"), &[&arguments[..], &["--force"]].concat())
        .output()
        .unwrap();
    let refused = said(&output);
    assert!(
        refused.contains("error[image-missing]") && refused.contains("neither an image nor a file"),
        "{refused}"
    );
}

#[test]
fn credentials_come_from_dockers_configuration() {
    let (workspace, server) = (Workspace::new(), Server::start(true).unwrap());
    let registry = format!("{}/bosh", server.host());
    let arguments = [
        "release.tgz",
        "--registry",
        &registry,
        "--registry-without-tls",
        server.host(),
    ];
    let refused = workspace.refused(&arguments);
    assert!(
        refused.contains("error[image-push-refused]") && refused.contains("docker login"),
        "{refused}"
    );
    let login = |password: &str| {
        let auth = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{USER}:{password}"));
        fs::write(
            workspace.path("config.json"),
            format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, server.host()),
        )
        .unwrap();
    };
    login("CANARY");
    let refused = workspace.refused(&arguments);
    assert!(
        refused.contains("error[image-push-refused]") && !refused.contains("CANARY"),
        "{refused}"
    );
    login(PASSWORD);
    workspace.made(&arguments);
    // A helper, which docker uses if passwords are not to be stored in files.
    let helper = workspace.path("docker-credential-test");
    let answer = format!(r#"{{\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}"#);
    write_script(&helper, &format!("#!/bin/sh\nread server\necho \"{answer}\"\n")).unwrap();
    fs::write(workspace.path("config.json"), r#"{"credsStore":"test"}"#).unwrap();
    let path = format!("{}:{}", workspace.path(".").display(), std::env::var("PATH").unwrap());
    let output = workspace
        .command(&[&arguments[..], &["--force"]].concat())
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
}
