//! A real registry on an address of this machine: Debian's `docker-registry`, which `.ci/setup` installs. Images are
//! pushed by the HTTP API, because the client under test should not create the test's input.

use crate::WAIT_TIMEOUT;
use crate::ports::free_port_at;
use crate::root;
use crate::runtime::finish;
use anyhow::{Context, Result, bail, ensure};
use boson_oci::{Blob, Descriptor, MediaType, digest, manifest};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, LOCATION};
use serde_json::json;
use std::collections::HashMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user of a registry with a password.
pub const USER: &str = "robot";
/// The password of [`USER`].
pub const PASSWORD: &str = "s3cret";
/// Its bcrypt hash.
const PASSWORDS: &str = "robot:$2b$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n";

static HTTP: LazyLock<reqwest::Client> = LazyLock::new(reqwest::Client::new);

/// A running registry; it ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    host: String,
    files: TempDir,
    asks: bool,
}

// === impl Server ===

impl Server {
    /// Starts a registry, with or without a password.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(asks: bool) -> Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST, asks)
    }

    /// Starts a registry that listens on this address: pods reach servers on the gateway of their cluster.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_at(address: Ipv4Addr, asks: bool) -> Result<Self> {
        let files = tempfile::tempdir()?;
        let host = format!("{address}:{}", free_port_at(address)?);
        let path = |name: &str| files.path().join(name);
        let mut config = format!(
            "version: 0.1\nlog: {{level: error}}\nhttp: {{addr: '{host}'}}\nstorage: {{filesystem: {{rootdirectory: '{}'}}}}\n",
            path("data").display()
        );
        if asks {
            fs::write(path("htpasswd"), PASSWORDS)?;
            let file = path("htpasswd");
            config.push_str(&format!(
                "auth: {{htpasswd: {{realm: test, path: '{}'}}}}\n",
                file.display()
            ));
        }
        fs::write(path("config.yml"), config)?;
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(path("config.yml"))
            .stdout(Stdio::null())
            .stderr(File::create(path("log"))?)
            .spawn()
            .context("docker-registry is missing: run .ci/setup")?;
        let mut server = Self {
            child,
            host,
            files,
            asks,
        };
        let began = Instant::now();
        while TcpStream::connect(&server.host).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("the registry ended: {status}");
            }
            ensure!(began.elapsed() < WAIT_TIMEOUT, "the registry does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// `127.0.0.1:PORT`, or the given address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The directory with its files; `data` is its storage.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    /// The full name of an image: `<host>/bosh/<name>`.
    pub fn image(&self, name: &str) -> String {
        format!("{}/bosh/{name}", self.host)
    }

    /// Pushes an image of these layers as `<name>:<tag>`.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push(&self, name: &str, layers: &[Vec<u8>]) -> Result<()> {
        self.push_with(name, layers, b"{}")
    }

    /// Like [`Self::push`], with a configuration, which a runnable image needs. Layers are gzipped.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push_with(&self, name: &str, layers: &[Vec<u8>], config: &[u8]) -> Result<()> {
        let (repository, tag) = name.split_once(':').context("a tag is missing")?;
        let mut descriptors = Vec::new();
        for layer in layers {
            descriptors.push(self.blob(repository, layer, MediaType::ImageLayerGzip)?);
        }
        let config = self.blob(repository, config, MediaType::ImageConfig)?;
        self.put(repository, tag, &manifest(&config, &descriptors))
    }

    /// Pushes the component of a plugin as `<name>:<tag>`, as tools of the component ecosystem do; returns the digest
    /// of its manifest.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push_component(&self, name: &str, component: &[u8]) -> Result<String> {
        let (repository, tag) = name.split_once(':').context("a tag is missing")?;
        let layer = self.blob(repository, component, "application/wasm")?;
        let config = self.blob(repository, b"{}", "application/vnd.wasm.config.v0+json")?;
        let image = manifest(&config, &[layer]);
        self.put(repository, tag, &image)?;
        Ok(image.digest.to_string())
    }

    /// Attaches a signature to an image with this digest, as `cosign sign --key` does: the payload, and its signature
    /// in base64.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push_signature(&self, repository: &str, digest: &str, payload: &[u8], signature: &str) -> Result<()> {
        let mut layer = self.blob(repository, payload, "application/vnd.dev.cosign.simplesigning.v1+json")?;
        let annotation = ("dev.cosignproject.cosign/signature".to_owned(), signature.to_owned());
        layer.set_annotations(Some(HashMap::from([annotation])));
        self.attach(repository, digest, "sig", layer)
    }

    /// Attaches a document to an image under a tag of cosign's: `sbom` or `att`.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push_tagged(
        &self,
        repository: &str,
        digest: &str,
        suffix: &str,
        (media_type, document): (&str, &[u8]),
    ) -> Result<()> {
        let layer = self.blob(repository, document, media_type)?;
        self.attach(repository, digest, suffix, layer)
    }

    fn attach(&self, repository: &str, digest: &str, suffix: &str, layer: Descriptor) -> Result<()> {
        let config = self.blob(repository, b"{}", MediaType::ImageConfig)?;
        let tag = format!("{}.{suffix}", digest.replace(':', "-"));
        self.put(repository, &tag, &manifest(&config, &[layer]))
    }

    /// Attaches documents to an image as its referrers, in an index with the tag of the image's digest: this registry
    /// has no interface for referrers. Only one call for an image.
    ///
    /// # Errors
    /// The registry refuses.
    pub fn push_referrers(&self, repository: &str, digest: &str, documents: &[(&str, &[u8])]) -> Result<()> {
        let config = self.blob(repository, b"{}", "application/vnd.oci.empty.v1+json")?;
        let mut entries = Vec::new();
        for (media_type, document) in documents {
            let layer = self.blob(repository, document, *media_type)?;
            let referrer = json!({
                "schemaVersion": 2,
                "mediaType": MediaType::ImageManifest,
                "artifactType": media_type,
                "config": config,
                "layers": [layer],
                "subject": {"mediaType": MediaType::ImageManifest, "digest": digest, "size": 1},
            });
            let referrer = Blob::json(MediaType::ImageManifest, &referrer);
            self.put(repository, referrer.digest.as_ref(), &referrer)?;
            let mut entry = referrer.descriptor();
            entry.set_artifact_type(Some(MediaType::from(*media_type)));
            entries.push(entry);
        }
        let index = json!({"schemaVersion": 2, "mediaType": MediaType::ImageIndex, "manifests": entries});
        let index = Blob::json(MediaType::ImageIndex, &index);
        self.put(repository, &digest.replace(':', "-"), &index)
    }

    /// Pushes the image of a release from its source directory: its jobs, in the layout of release images.
    ///
    /// # Errors
    /// The directory cannot be read; the registry refuses.
    pub fn push_release(&self, name: &str, release: &Path) -> Result<()> {
        let mut files = Vec::new();
        for job in crate::folders(&release.join("jobs"))? {
            let job_name = job.file_name().context("no name")?.to_string_lossy().into_owned();
            for path in files_below(&job)? {
                let inner = path.strip_prefix(&job)?.display().to_string();
                // Jobs in images are built: their spec has the same name as in a tarball.
                let inner = if inner == "spec" { "job.MF".to_string() } else { inner };
                files.push((format!("var/vcap/jobs-src/{job_name}/{inner}"), fs::read(path)?));
            }
        }
        let files: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
            .collect();
        self.push(name, &[layer(&files)?])
    }

    /// Uploads a blob.
    fn blob(&self, repository: &str, bytes: &[u8], media_type: impl Into<MediaType>) -> Result<Descriptor> {
        let digest = digest(bytes);
        let url = format!("http://{}/v2/bosh/{repository}/blobs/uploads/", self.host);
        let headers = self.send(&url, "POST", "application/octet-stream", b"")?;
        let place = headers.get(LOCATION).context("no place to upload to")?.to_str()?;
        let joint = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{joint}digest={digest}");
        self.send(&url, "PUT", "application/octet-stream", bytes)?;
        Ok(Descriptor::new(media_type.into(), bytes.len() as u64, digest))
    }

    /// Puts a manifest or an index under a tag or its digest.
    fn put(&self, repository: &str, reference: &str, document: &Blob) -> Result<()> {
        let url = format!("http://{}/v2/bosh/{repository}/manifests/{reference}", self.host);
        self.send(&url, "PUT", document.media_type.as_ref(), &document.bytes)
            .map(drop)
    }

    /// One request; returns the headers of the answer.
    fn send(&self, url: &str, method: &str, media_type: &str, body: &[u8]) -> Result<HeaderMap> {
        let request = HTTP.request(method.parse()?, url).header(CONTENT_TYPE, media_type);
        let request = if self.asks {
            request.basic_auth(USER, Some(PASSWORD))
        } else {
            request
        };
        let sent = request.body(body.to_vec()).send();
        let answer = finish(async move { Ok(sent.await?.error_for_status()?.headers().clone()) });
        // A registry that has ended says why.
        let log = || fs::read_to_string(self.files().join("log")).unwrap_or_default();
        answer.with_context(|| format!("{method} {url}: {}", log()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gzipped layer of these files: path and content.
///
/// # Errors
/// A path that a tar cannot hold.
pub fn layer(files: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *content)?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// The releases of `docs/examples/nats`, with the tags in its manifest.
///
/// # Errors
/// As [`Server::push_release`].
pub fn push_example(server: &Server) -> Result<()> {
    let releases = root().join("docs/examples/nats/releases");
    server.push_release("messaging:ubuntu-jammy-1.584-1.4.0", &releases.join("messaging"))?;
    server.push_release("smoke:ubuntu-jammy-1.584-0.3.1", &releases.join("smoke"))
}

/// The files below a directory, sorted.
pub(crate) fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![directory.to_path_buf()]);
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path)
            } else {
                found.push(path)
            }
        }
    }
    found.sort();
    Ok(found)
}
