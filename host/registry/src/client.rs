//! HTTP to registries: few requests, none of whose answers is read beyond its bound. What a registry says is not trusted.

use crate::cache::hex;
use crate::credentials::Credentials;
use crate::failure::Failure;
use crate::token::{self, Challenge};
use oci_spec::distribution::Reference;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Certificate, Response, StatusCode, Url};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a registry may be silent in the middle of an answer.
const SILENCE: Duration = Duration::from_secs(30);
/// Redirects that are followed: registries send to the storage where layers are.
const REDIRECTS: usize = 5;
/// The largest manifest, in bytes; registries refuse to take larger ones.
const MANIFEST: usize = 4 << 20;
/// The largest answer with a token, in bytes.
const TOKEN: usize = 64 << 10;
/// Manifests that we can read.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json";

/// Asks registries.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    without_tls: Arc<BTreeSet<String>>,
}

/// One repository, with the right to read it.
#[derive(Debug)]
pub(crate) struct Repository<'c> {
    http: &'c reqwest::Client,
    address: String,
    authorization: Option<HeaderValue>,
}

// === impl Client ===

impl Client {
    /// `authorities`: PEM, trusted beside the system's.
    ///
    /// # Errors
    /// One of them is no certificate.
    pub(crate) fn new(without_tls: &[String], authorities: &[Vec<u8>]) -> reqwest::Result<Self> {
        let without_tls: Arc<BTreeSet<String>> = Arc::new(without_tls.iter().cloned().collect());
        let mut certificates = Vec::new();
        for pem in authorities {
            certificates.extend(Certificate::from_pem_bundle(pem)?);
        }
        let plain = without_tls.clone();
        let http = reqwest::Client::builder()
            .user_agent(concat!("boson/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .redirect(Policy::custom(move |attempt| followed(attempt, &plain)))
            .tls_certs_merge(certificates)
            .build()?;
        Ok(Self { http, without_tls })
    }

    /// The repository of this image, with a right that the registry asks for, where it does.
    pub(crate) async fn repository(
        &self,
        image: &Reference,
        credentials: Option<&Credentials>,
    ) -> Result<Repository<'_>, Failure> {
        let registry = image.resolve_registry();
        let plain = self.without_tls.contains(registry);
        let scheme = if plain { "http" } else { "https" };
        let pinged = self.http.get(format!("{scheme}://{registry}/v2/")).send().await?;
        let headers = pinged.headers().get_all(WWW_AUTHENTICATE);
        let challenge = token::challenge(headers.iter().filter_map(|header| header.to_str().ok()));
        let authorization = match (challenge, credentials) {
            (Some(Challenge::Bearer { realm, service }), _) => {
                let realm = token::realm(&realm, &self.without_tls).ok_or(Failure::Realm)?;
                let scope = format!("repository:{}:pull", image.repository());
                Some(self.token(realm, service, &scope, credentials).await?)
            }
            (Some(Challenge::Basic), Some(credentials)) => Some(token::basic(credentials).ok_or(Failure::Refused)?),
            // What needs no right may still be had; the rest is refused.
            (Some(Challenge::Basic), None) | (None, _) => None,
        };
        Ok(Repository {
            http: &self.http,
            address: format!("{scheme}://{registry}/v2/{}", image.repository()),
            authorization,
        })
    }

    async fn token(
        &self,
        mut realm: Url,
        service: Option<String>,
        scope: &str,
        credentials: Option<&Credentials>,
    ) -> Result<HeaderValue, Failure> {
        realm.query_pairs_mut().append_pair("scope", scope);
        if let Some(service) = service {
            realm.query_pairs_mut().append_pair("service", &service);
        }
        let mut request = self.http.get(realm);
        if let Some(credentials) = credentials {
            request = request.header(AUTHORIZATION, token::basic(credentials).ok_or(Failure::Refused)?);
        }
        let answer = good(request.send().await?)?;
        let unusable = Failure::Odd("gives no token that can be used");
        match bounded(answer, TOKEN).await? {
            Some(body) => token::bearer(&body).ok_or(unusable),
            None => Err(unusable),
        }
    }
}

// === impl Repository ===

impl Repository<'_> {
    /// The manifest of this tag or digest.
    pub(crate) async fn manifest(&self, which: &str) -> Result<Vec<u8>, Failure> {
        let answer = self.get(&format!("manifests/{which}")).await?;
        let body = bounded(answer, MANIFEST).await?;
        let body = body.ok_or(Failure::Format("has a manifest of more than 4 MiB", "push it again"))?;
        // A tag has no colon.
        if which.contains(':') && format!("sha256:{}", hex(&Sha256::digest(&body))) != which {
            return Err(Failure::Odd("gives a manifest that is not what its digest says"));
        }
        Ok(body)
    }

    /// Begins to read a layer.
    pub(crate) async fn blob(&self, digest: &str) -> Result<Response, Failure> {
        self.get(&format!("blobs/{digest}")).await
    }

    async fn get(&self, path: &str) -> Result<Response, Failure> {
        let mut request = self
            .http
            .get(format!("{}/{path}", self.address))
            .header(ACCEPT, MANIFESTS);
        if let Some(authorization) = &self.authorization {
            // Redirects to another host go without it.
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        good(request.send().await?)
    }
}

/// The answer, where it is one. Its body is not read otherwise: the status tells enough.
fn good(answer: Response) -> Result<Response, Failure> {
    match answer.status() {
        StatusCode::OK => Ok(answer),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Failure::Refused),
        StatusCode::NOT_FOUND => Err(Failure::Missing),
        status => Err(Failure::Status(status)),
    }
}

/// The whole body, or none where it is larger.
async fn bounded(mut answer: Response, largest: usize) -> Result<Option<Vec<u8>>, Failure> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        if body.len() + part.len() > largest {
            return Ok(None);
        }
        body.extend_from_slice(&part);
    }
    Ok(Some(body))
}

/// A registry may send on to whoever speaks TLS, or is a registry that may do without.
fn followed(attempt: Attempt<'_>, without_tls: &BTreeSet<String>) -> Action {
    let url = attempt.url();
    let plain = url.scheme() == "http" && without_tls.contains(&token::place(url));
    if attempt.previous().len() > REDIRECTS {
        attempt.error("too many redirects")
    } else if plain || url.scheme() == "https" {
        attempt.follow()
    } else {
        attempt.error("a redirect without TLS")
    }
}
