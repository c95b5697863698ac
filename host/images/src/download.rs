//! Release tarballs from web servers: over TLS only, within bounds, resumed where an earlier run was interrupted, and
//! checked against their digest before use.

use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::digest::sha256;
use boson_pipeline::release::codes as release_codes;
use boson_releases::{DigestError, Verifier};
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Certificate, Client, Response, StatusCode, Url};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may pause within an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Redirects that are followed: release servers send to the storage where tarballs are.
const MAX_REDIRECTS: usize = 5;
/// The largest tarball, in bytes; the largest of cf-deployment has 1 GiB.
const MAX_TARBALL_BYTES: u64 = 8 << 30;
/// How often a server is asked again after it broke off.
const MAX_ATTEMPTS: u32 = 5;

/// Downloads into a directory of ours.
#[derive(Clone, Debug)]
pub struct Downloads {
    client: Client,
    directory: PathBuf,
    largest: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Release<'r> {
    pub name: &'r str,
    /// URL of its tarball.
    pub url: &'r str,
    /// Digests of the tarball.
    pub digests: Option<&'r str>,
}

/// A downloaded tarball. Other processes that need it wait until it is no longer used.
#[derive(Debug)]
pub struct Download {
    /// Path of the file.
    pub path: PathBuf,
    /// Its origin for messages, without query, which may contain a token.
    pub title: String,
    lock: File,
}

/// Called with the number of bytes so far, and the total if the server reports it.
pub type Tell<'t> = dyn Fn(u64, Option<u64>) + Send + Sync + 't;

enum DownloadError {
    /// Another may succeed.
    Broken(String),
    /// No other will.
    Final(Diagnostic),
}

// === impl Downloads ===

impl Downloads {
    /// `directory` is created if it is missing, with access for its owner only. `authorities`: PEM, trusted beside the
    /// system's.
    ///
    /// # Errors
    /// `image-authority`, `image-cache`.
    pub fn new(directory: &Path, authorities: &[Vec<u8>]) -> Result<Self, Diagnostic> {
        let mut certificates = Vec::new();
        let no_certificate = |_| {
            Diagnostic::error(
                boson_releases::codes::IMAGE_AUTHORITY,
                "a CA for servers is not a certificate",
            )
        };
        for pem in authorities {
            certificates.extend(Certificate::from_pem_bundle(pem).map_err(no_certificate)?);
        }
        let client = Client::builder()
            .user_agent(concat!("boson/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(Policy::custom(redirect_action))
            .tls_certs_merge(certificates)
            .build()
            .map_err(no_certificate)?;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| cache_error(directory, &error))?;
        Ok(Self {
            client,
            directory: directory.to_path_buf(),
            largest: MAX_TARBALL_BYTES,
        })
    }

    /// The tarball of a release, in a file that the caller removes with [`Download::done`].
    ///
    /// # Errors
    /// `image-download`: it cannot be downloaded; `release-digest`: it does not match its digest.
    pub async fn get(&self, release: Release<'_>, tell: &Tell<'_>) -> Result<Download, Diagnostic> {
        let url = checked_url(release)?;
        let path = self.path(release);
        let file = self.open(&path).await?;
        let mut why = String::new();
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(Duration::from_millis(250 << attempt)).await;
            }
            match self.attempt(&url, release, &file, tell).await {
                Ok(()) => {
                    self.check(release, &path, &file).await?;
                    return Ok(Download {
                        path,
                        title: without_query(release.url).to_owned(),
                        lock: file,
                    });
                }
                Err(DownloadError::Final(error)) => return Err(error),
                Err(DownloadError::Broken(last)) => why = last,
            }
        }
        Err(server_error(release, &why))
    }

    fn path(&self, release: Release<'_>) -> PathBuf {
        let key = format!("{}\n{}", release.url, release.digests.unwrap_or_default());
        self.directory.join(format!("{}.tgz", sha256(key)))
    }

    /// Opens the file of a tarball, and waits for another process that downloads it.
    async fn open(&self, path: &Path) -> Result<File, Diagnostic> {
        let (path, directory) = (path.to_path_buf(), self.directory.clone());
        let opened = tokio::task::spawn_blocking(move || boson_oci::open_locked(&path));
        let opened = opened.await.unwrap_or_else(|_| Err(io::Error::other("interrupted")));
        opened.map_err(|error: io::Error| cache_error(&directory, &error))
    }

    /// Requests the missing bytes once.
    async fn attempt(
        &self,
        url: &Url,
        release: Release<'_>,
        file: &File,
        tell: &Tell<'_>,
    ) -> Result<(), DownloadError> {
        let cannot = |error: io::Error| cache_error(&self.directory, &error);
        let have = file.metadata().map_err(cannot)?.len();
        let mut request = self.client.get(url.clone());
        if have > 0 {
            request = request.header(RANGE, format!("bytes={have}-"));
        }
        let answer = request.send().await.map_err(|error| request_error(release, &error))?;
        let have = match answer.status() {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT if begins_at(&answer, have) => have,
            // The file is complete, or the server's file has changed. The digest decides.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 && release.digests.is_some() => return Ok(()),
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => {
                file.set_len(0).map_err(cannot)?;
                return Err(DownloadError::Broken("returned another file than before".into()));
            }
            status if status.is_server_error() => {
                return Err(DownloadError::Broken(format!("answers {}", status.as_u16())));
            }
            status => return Err(server_error(release, &format!("answers {}", status.as_u16())).into()),
        };
        file.set_len(have).map_err(cannot)?;
        self.receive(answer, have, release, file, tell).await
    }

    async fn receive(
        &self,
        mut answer: Response,
        mut have: u64,
        release: Release<'_>,
        mut file: &File,
        tell: &Tell<'_>,
    ) -> Result<(), DownloadError> {
        let whole = answer.content_length().map(|rest| have + rest);
        let too_large = || server_error(release, &format!("sends more than {} MiB", self.largest >> 20));
        if whole.is_some_and(|whole| whole > self.largest) {
            return Err(too_large().into());
        }
        while let Some(part) = answer.chunk().await.map_err(|error| request_error(release, &error))? {
            have += part.len() as u64;
            if have > self.largest {
                return Err(too_large().into());
            }
            // A blocking write of some KiB to the page cache takes less time than another thread would.
            let written = file.write_all(&part);
            written.map_err(|error| cache_error(&self.directory, &error))?;
            tell(have, whole);
        }
        match whole {
            Some(whole) if whole != have => Err(DownloadError::Broken("breaks off".into())),
            _ => Ok(()),
        }
    }

    /// Compares the file with its digest. A file that differs is removed, so that the next run downloads it again.
    async fn check(&self, release: Release<'_>, path: &Path, file: &File) -> Result<(), Diagnostic> {
        let Some(digests) = release.digests else { return Ok(()) };
        let refused = |mismatch: DigestError| {
            let _ = fs::remove_file(path);
            let message = format!(
                "release '{}' from '{}' was not used: {mismatch}",
                release.name,
                without_query(release.url)
            );
            Diagnostic::error(release_codes::RELEASE_DIGEST, message)
                .help("compare `sha1` in the manifest with the digest that the publisher names; the next run downloads the release again")
        };
        let verifier = Verifier::new(digests).map_err(refused)?;
        let copy = file.try_clone().map_err(|error| cache_error(&self.directory, &error))?;
        let read = tokio::task::spawn_blocking(move || feed(copy, verifier));
        let verifier = read.await.unwrap_or_else(|_| Err(io::Error::other("interrupted")));
        let verifier = verifier.map_err(|error| cache_error(&self.directory, &error))?;
        verifier.finish().map_err(refused)
    }
}

// === impl DownloadError ===

impl From<Diagnostic> for DownloadError {
    fn from(error: Diagnostic) -> Self {
        Self::Final(error)
    }
}

// === impl Download ===

impl Download {
    pub fn done(self) {
        // If it cannot be removed, the next run uses or replaces it.
        let _ = fs::remove_file(&self.path);
        drop(self.lock);
    }
}

fn feed(mut file: File, mut verifier: Verifier) -> io::Result<Verifier> {
    io::Seek::rewind(&mut file)?;
    io::copy(&mut verifier.over(file), &mut io::sink())?;
    Ok(verifier)
}

/// The address, if it is allowed.
fn checked_url(release: Release<'_>) -> Result<Url, Diagnostic> {
    let refused = |what: &str| {
        let message = format!(
            "release '{}' cannot be downloaded: '{}' {what}",
            release.name,
            without_query(release.url)
        );
        Diagnostic::error(codes::IMAGE_DOWNLOAD, message)
            .help(format!("download it yourself, and use --release {}=PATH", release.name))
    };
    let url = Url::parse(release.url).map_err(|_| refused("is not a URL"))?;
    if url.scheme() != "https" {
        return Err(refused("does not begin with https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("contains a user"));
    }
    Ok(url)
}

/// Redirects are followed over TLS only.
fn redirect_action(attempt: Attempt<'_>) -> Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("too many redirects")
    } else if attempt.url().scheme() == "https" {
        attempt.follow()
    } else {
        attempt.error("a redirect without TLS")
    }
}

/// Whether the answer begins where the file ends.
fn begins_at(answer: &Response, have: u64) -> bool {
    let range = answer
        .headers()
        .get(CONTENT_RANGE)
        .and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {have}-")))
}

/// The address without its query, which may hold a token.
fn without_query(address: &str) -> &str {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let address = address.get(..end).unwrap_or_default();
    match (address.find("://"), address.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => address.get(at + 1..).unwrap_or_default(),
        _ => address,
    }
}

fn request_error(release: Release<'_>, error: &reqwest::Error) -> DownloadError {
    if error.is_redirect() {
        return server_error(release, "redirects too often, or to an address without TLS").into();
    }
    DownloadError::Broken(
        if error.is_timeout() {
            "does not answer"
        } else if error.is_connect() {
            "is unreachable"
        } else {
            "breaks off"
        }
        .to_owned(),
    )
}

fn server_error(release: Release<'_>, what: &str) -> Diagnostic {
    let message = format!(
        "release '{}' cannot be downloaded: the server of '{}' {what}",
        release.name,
        without_query(release.url)
    );
    Diagnostic::error(codes::IMAGE_DOWNLOAD, message).help("run the command again: it continues the download")
}

fn cache_error(directory: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("'{}' cannot be used for downloads: {error}", directory.display());
    Diagnostic::error(boson_releases::codes::IMAGE_CACHE, message)
        .help("check whether its disk is full or read-only, or choose another directory with --cache")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_with_tls_and_without_users_are_asked() {
        for (url, good) in [
            ("https://bosh.io/d/x?v=1", true),
            ("http://bosh.io/d/x", false),
            ("file:///etc/passwd", false),
            ("https://me:CANARY@bosh.io/d/x", false),
            ("nats.tgz", false),
        ] {
            let release = Release {
                name: "x",
                url,
                digests: None,
            };
            match checked_url(release) {
                Ok(_) => assert!(good, "{url}"),
                Err(error) => assert!(!good && !error.message.contains("CANARY"), "{error:?}"),
            }
        }
        assert_eq!(without_query("https://a/b?token=CANARY"), "https://a/b");
    }
}
