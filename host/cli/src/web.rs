//! Documents from web servers, for the operator: only from allowed hosts, because users who can write a BOSHDeployment
//! choose the address, and see errors about the response in its conditions.

use crate::etags::{Cached, Documents};
use boson_controllers::codes;
use boson_controllers::conversion::Web;
use boson_pipeline::Diagnostic;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, Response, StatusCode, Url};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The largest document; manifests and ops files have some hundred KiB, a ConfigMap holds one MiB.
const MAX_DOCUMENT_BYTES: usize = 4 << 20;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;

/// Which servers are allowed.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// `HOST` or `HOST:PORT`.
    pub allowed: BTreeSet<String>,
    /// Those of them that are used without TLS.
    pub without_tls: BTreeSet<String>,
}

pub struct WebDocuments {
    client: Client,
    hosts: Arc<Hosts>,
    cached: Mutex<Documents>,
}

// === impl Hosts ===

impl Hosts {
    /// Why this address is not allowed.
    fn denial_reason(&self, url: &Url) -> Option<String> {
        let host = url.host_str().unwrap_or_default();
        let place = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Some(
                "addresses with a user are rejected: everyone who can read the deployment could read the password"
                    .into(),
            );
        }
        match url.scheme() {
            "https" if self.allowed.contains(&place) || self.without_tls.contains(&place) => None,
            "http" if self.without_tls.contains(&place) => None,
            "http" => Some(format!("documents are read from '{place}' over TLS only")),
            "https" => Some(format!("documents are not read from the host '{place}'")),
            _ => Some("only addresses with https:// can be read".into()),
        }
    }
}

// === impl WebDocuments ===

impl WebDocuments {
    /// `authorities`: certificates, PEM, that are trusted besides the system's.
    ///
    /// # Errors
    /// A certificate is invalid.
    pub fn new(hosts: Hosts, authorities: &[Vec<u8>]) -> anyhow::Result<Self> {
        let hosts = Arc::new(hosts);
        let allowed = hosts.clone();
        let mut certificates = Vec::new();
        for pem in authorities {
            certificates.extend(Certificate::from_pem_bundle(pem)?);
        }
        let client = Client::builder()
            .user_agent(concat!("boson/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST_TIMEOUT)
            .redirect(Policy::custom(move |attempt| follow_redirect(attempt, &allowed)))
            .tls_certs_merge(certificates)
            .build()?;
        Ok(Self {
            client,
            hosts,
            cached: Mutex::default(),
        })
    }

    async fn read(&self, address: &str) -> Result<Vec<u8>, Diagnostic> {
        let url =
            Url::parse(address).map_err(|_| denied_error(format!("'{}' is not a URL", without_query(address))))?;
        if let Some(why) = self.hosts.denial_reason(&url) {
            return Err(denied_error(format!(
                "'{}' may not be read: {why}",
                without_query(address)
            )));
        }
        let cached = self.cached.lock().get(address);
        let mut request = self.client.get(url);
        if let Some(cached) = &cached {
            request = request.header(IF_NONE_MATCH, cached.tag.clone());
        }
        let answer = request.send().await.map_err(|error| request_error(address, &error))?;
        match (answer.status(), cached) {
            (StatusCode::NOT_MODIFIED, Some(kept)) => Ok(kept.bytes.to_vec()),
            (StatusCode::OK, _) => self.body(address, answer).await,
            (status, _) => Err(read_error(address, &format!("the server responds with {status}"))),
        }
    }

    /// Reads the body, and caches it if it has an ETag.
    async fn body(&self, address: &str, mut answer: Response) -> Result<Vec<u8>, Diagnostic> {
        let tag = answer.headers().get(ETAG).cloned();
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|error| request_error(address, &error))? {
            bytes.extend_from_slice(&part);
            if bytes.len() > MAX_DOCUMENT_BYTES {
                return Err(read_error(
                    address,
                    &format!("it is larger than {} MiB", MAX_DOCUMENT_BYTES >> 20),
                ));
            }
        }
        let mut cached = self.cached.lock();
        match tag {
            Some(tag) => cached.store(
                address,
                Cached {
                    tag,
                    bytes: bytes.as_slice().into(),
                },
            ),
            None => cached.forget(address),
        }
        Ok(bytes)
    }
}

impl Web for WebDocuments {
    fn document<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, Diagnostic>> {
        Box::pin(self.read(url))
    }
}

/// Follows redirects to allowed hosts only.
fn follow_redirect(attempt: Attempt<'_>, hosts: &Hosts) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("too many redirects");
    }
    match hosts.denial_reason(attempt.url()) {
        Some(why) => attempt.error(format!("it redirects, and {why}")),
        None => attempt.follow(),
    }
}

/// The address without its query, which may hold a token.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

fn denied_error(why: String) -> Diagnostic {
    Diagnostic::error(codes::DEPLOYMENT_URL, why).help(
        "allow it with the operator's flag --document-host HOST[:PORT] (--document-host-without-tls for http), or put the document into a ConfigMap",
    )
}

fn read_error(address: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        codes::DEPLOYMENT_URL_UNREAD,
        format!("'{}' cannot be read: {why}", without_query(address)),
    )
    .help("running pods are not changed; the operator tries again automatically")
}

/// The innermost cause: the outer ones repeat the address, with its query.
fn request_error(address: &str, error: &reqwest::Error) -> Diagnostic {
    if error.is_timeout() {
        return read_error(address, &format!("no response within {} s", REQUEST_TIMEOUT.as_secs()));
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if std::ptr::addr_eq(cause, error) {
        read_error(address, "the response is invalid")
    } else {
        read_error(address, &cause.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_string()).collect()
    }

    #[test]
    fn only_hosts_that_were_named_are_asked_and_only_as_they_were() {
        let hosts = Hosts {
            allowed: set(&["docs.example.com", "other:8443"]),
            without_tls: set(&["plain:8080"]),
        };
        for (url, good) in [
            ("https://docs.example.com/m.yml", true),
            ("https://DOCS.example.com:443/m.yml", true),
            ("https://other:8443/", true),
            ("http://plain:8080/", true),
            ("https://other/", false),
            ("https://docs.example.com:444/", false),
            ("https://docs.example.com.evil.com/", false),
            ("http://docs.example.com/", false),
            ("http://plain/", false),
            ("https://user:word@docs.example.com/", false),
            ("https://169.254.169.254/latest", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(hosts.denial_reason(&Url::parse(url).unwrap()).is_none(), good, "{url}");
        }
    }

    #[test]
    fn a_query_is_not_shown() {
        let error = read_error("https://a/b?token=CANARY", "x");
        assert!(error.message.contains("https://a/b") && !error.message.contains("CANARY"));
    }
}
