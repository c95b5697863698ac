//! Releases of a deployment, from a server with TLS whose behaviour a test defines.

use crate::workspace::Workspace;
use boson_tests::compiled::sha256;
use parking_lot::Mutex;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A request: the path, and the start of the range.
type Asked = (String, Option<u64>);

/// An answer: head, body.
type Answer = (String, Vec<u8>);

struct Web {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Web {
    /// Starts the server; `ca.pem` of the workspace is its certificate.
    fn serve(workspace: &Workspace, answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Self {
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "3",
            ])
            .args([
                "-keyout",
                "key.pem",
                "-out",
                "ca.pem",
                "-subj",
                "/CN=tests",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
                "-addext",
                "basicConstraints=critical,CA:FALSE",
            ])
            .current_dir(workspace.path("."))
            .output()
            .unwrap();
        assert!(made.status.success());
        let certificate = CertificateDer::from_pem_file(workspace.path("ca.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(workspace.path("key.pem")).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (requests, answer) = (asked.clone(), Arc::new(answer));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, requests, answer) = (acceptor.clone(), requests.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = acceptor.accept(stream).await.unwrap();
                    let mut head = vec![0; 8192];
                    let count = stream.read(&mut head).await.unwrap();
                    let asked = asked_of(&head[..count]);
                    let nth = {
                        let mut requests = requests.lock();
                        requests.push(asked.clone());
                        requests.len()
                    };
                    let (head, body) = answer(&asked, nth);
                    let _ = stream
                        .write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes())
                        .await;
                    let _ = stream.write_all(&body).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self {
            address,
            asked,
            _runtime: runtime,
        }
    }

    /// A manifest with the release at this path, and its digest.
    fn manifest(&self, workspace: &Workspace, path: &str, digest: &str) {
        let text = format!(
            "name: d\nreleases:\n- name: messaging\n  version: 1.4.0\n  url: {}{path}\n  sha1: {digest}\n\
             stemcells: [{{alias: default, os: ubuntu-jammy, version: '1.584'}}]\n\
             instance_groups: [{{name: g, stemcell: default, jobs: [{{name: server, release: messaging, properties: {{password: ((p))}}}}]}}]\n",
            self.address
        );
        fs::write(workspace.path("manifest.yml"), text).unwrap();
    }
}

fn asked_of(head: &[u8]) -> Asked {
    let mut lines = BufReader::new(head).lines().map_while(Result::ok);
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_string();
    let range = lines.find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("range: bytes=")?
            .strip_suffix('-')?
            .parse()
            .ok()
    });
    (path, range)
}

fn ok(body: &[u8]) -> Answer {
    (format!("200 OK\r\nContent-Length: {}", body.len()), body.to_vec())
}

const ARGUMENTS: [&str; 6] = [
    "--manifest",
    "manifest.yml",
    "--out",
    "images",
    "--registry-ca",
    "ca.pem",
];

fn arguments() -> Vec<&'static str> {
    [&ARGUMENTS[..], &["--registry", "r.example/cf"]].concat()
}

#[test]
fn an_interrupted_download_continues_where_it_ended() {
    let workspace = Workspace::new();
    let tarball = fs::read(workspace.path("release.tgz")).unwrap();
    let digest = format!("sha256:{}", sha256(&tarball));
    let web = Web::serve(&workspace, move |(path, range), nth| match (path.as_str(), range) {
        ("/moved", _) => (
            "302 Found\r\nLocation: /release.tgz\r\nContent-Length: 0".into(),
            Vec::new(),
        ),
        // Breaks off in the middle, twice.
        (_, None) => (
            format!("200 OK\r\nContent-Length: {}", tarball.len()),
            tarball[..1000].to_vec(),
        ),
        (_, Some(from)) => {
            let from = *from as usize;
            let end = if nth < 6 { from + 1000 } else { tarball.len() };
            let head = format!(
                "206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{}",
                tarball.len() - from,
                tarball.len() - 1,
                tarball.len()
            );
            (head, tarball[from..end].to_vec())
        }
    });
    web.manifest(&workspace, "/moved", &digest);
    let made = workspace.made(&arguments());
    assert!(
        made.starts_with("r.example/cf/messaging:ubuntu-jammy-1.584-1.4.0@sha256:"),
        "{made}"
    );
    let ranges: Vec<Option<u64>> = web
        .asked
        .lock()
        .iter()
        .filter(|(path, _)| path != "/moved")
        .map(|(_, range)| *range)
        .collect();
    assert_eq!(ranges, [None, Some(1000), Some(2000)]);
    let archive = workspace.path("images/messaging-ubuntu-jammy-1.584-1.4.0.tar");
    let release = boson_releases::read(&archive, None).unwrap();
    assert_eq!(release.name, "messaging");
    // Used files are not cached.
    assert_eq!(fs::read_dir(workspace.path("cache/downloads")).unwrap().count(), 0);
}

#[test]
fn the_next_run_continues_the_download_of_a_failed_run() {
    let workspace = Workspace::new();
    let tarball = fs::read(workspace.path("release.tgz")).unwrap();
    let digest = format!("sha256:{}", sha256(&tarball));
    let whole = tarball.clone();
    let web = Web::serve(&workspace, move |(_, range), nth| match range {
        None => (
            format!("200 OK\r\nContent-Length: {}", whole.len()),
            whole[..500].to_vec(),
        ),
        Some(_) if nth < 6 => ("404 Not Found\r\nContent-Length: 0".into(), Vec::new()),
        Some(from) => {
            let body = whole[*from as usize..].to_vec();
            let head = format!(
                "206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-/*",
                body.len()
            );
            (head, body)
        }
    });
    web.manifest(&workspace, "/release.tgz", &digest);
    let said = workspace.refused(&arguments());
    assert!(
        said.contains("error[image-download]") && said.contains("answers 404"),
        "{said}"
    );
    assert!(said.contains("manifest.yml:3"), "{said}");
    for _ in 0..4 {
        web.asked.lock().push(("padding".into(), None));
    }
    workspace.made(&arguments());
    assert_eq!(web.asked.lock().last().unwrap().1, Some(500));
}

#[test]
fn a_file_that_does_not_match_its_digest_is_not_used() {
    let workspace = Workspace::new();
    let tarball = fs::read(workspace.path("release.tgz")).unwrap();
    let web = Web::serve(&workspace, move |_, _| ok(&tarball));
    for digest in ["sha256:00", &"0".repeat(40), "md5:00"] {
        web.manifest(&workspace, "/release.tgz", digest);
        let said = workspace.refused(&arguments());
        assert!(
            said.contains("error[release-digest]") && said.contains("manifest.yml:3"),
            "{said}"
        );
        assert_eq!(fs::read_dir(workspace.path("cache/downloads")).unwrap().count(), 0);
    }
    assert!(!workspace.path("images").exists());
}

#[test]
fn nothing_is_downloaded_without_tls() {
    let workspace = Workspace::new();
    let web = Web::serve(&workspace, |_, _| {
        (
            "302 Found\r\nLocation: http://127.0.0.1:9/x\r\nContent-Length: 0".into(),
            Vec::new(),
        )
    });
    web.manifest(&workspace, "/release.tgz", "sha256:00");
    let said = workspace.refused(&arguments());
    assert!(
        said.contains("error[image-download]") && said.contains("without TLS"),
        "{said}"
    );
    let text = fs::read_to_string(workspace.path("manifest.yml")).unwrap();
    fs::write(workspace.path("manifest.yml"), text.replace("https:", "http:")).unwrap();
    let said = workspace.refused(&arguments());
    assert!(
        said.contains("error[image-download]") && said.contains("does not begin with https://"),
        "{said}"
    );
    // The tarball may come from another source.
    workspace.made(&[&arguments()[..], &["--release", "messaging=release.tgz"]].concat());
    let said = workspace.refused(&[&arguments()[..], &["--release", "mesaging=release.tgz"]].concat());
    assert!(said.contains("error[image-no-release]"), "{said}");
}

#[test]
fn a_tarball_of_another_version_is_refused() {
    let workspace = Workspace::new();
    let web = Web::serve(&workspace, |_, _| ok(b""));
    web.manifest(&workspace, "/release.tgz", "sha256:00");
    let text = fs::read_to_string(workspace.path("manifest.yml")).unwrap();
    fs::write(
        workspace.path("manifest.yml"),
        text.replace("version: 1.4.0", "version: 1.5.0"),
    )
    .unwrap();
    let said = workspace.refused(&[&arguments()[..], &["--release", "release.tgz"]].concat());
    assert!(said.contains("error[image-version-differs]"), "{said}");
    let text = fs::read_to_string(workspace.path("manifest.yml")).unwrap();
    let text = text
        .replace("version: 1.5.0", "version: 1.4.0")
        .replace("'1.584'", "'1.600'");
    fs::write(workspace.path("manifest.yml"), text).unwrap();
    let output = workspace
        .command(&[&arguments()[..], &["--release", "release.tgz"]].concat())
        .output()
        .unwrap();
    let said = crate::workspace::said(&output);
    assert!(
        output.status.success() && said.contains("warning[image-stemcell-differs]"),
        "{said}"
    );
}
