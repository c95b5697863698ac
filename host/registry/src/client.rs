//! HTTP requests to registries, with size limits on all answers. Registries are not trusted.

use crate::credentials::Credentials;
use crate::error::{Error, unless_missing};
use crate::manifest::Manifest;
use crate::token::{self, Challenge};
use boson_oci::{Digest, ImageManifest};
use boson_pipeline::Diagnostic;
use oci_spec::distribution::Reference;
use reqwest::header::{ACCEPT, AUTHORIZATION, AsHeaderName, CONTENT_RANGE, HeaderValue, RANGE, WWW_AUTHENTICATE};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Certificate, Method, RequestBuilder, Response, StatusCode, Url};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a registry may pause within an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a small request may take, signing in included. Tokens are requested again during long transfers, which have
/// no limit of their own.
const SMALL_REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Redirects that are followed: registries send to the storage where layers are.
const MAX_REDIRECTS: usize = 5;
/// The largest manifest, in bytes; registries refuse to take larger ones.
const MAX_MANIFEST_BYTES: usize = 4 << 20;
/// The largest answer with a token, in bytes.
const MAX_TOKEN_BYTES: usize = 64 << 10;
/// Manifests that we can read.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json";

/// How to reach registries.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `host:port` of registries that are used without TLS.
    pub without_tls: Vec<String>,
    /// Certificates that are trusted beside the system's: PEM.
    pub authorities: Vec<Vec<u8>>,
    /// Registries that images are read from: `host:port`, or with the begin of a repository's path. None: all of them.
    pub allowed: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    pub(crate) without_tls: Arc<BTreeSet<String>>,
}

/// The access to a repository that is requested.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access<'a> {
    Pull,
    /// Write, and read from another repository of the same registry.
    Push {
        from: Option<&'a str>,
    },
}

/// One repository, with the permission to use it.
#[derive(Debug)]
pub(crate) struct Repository<'c> {
    http: &'c reqwest::Client,
    /// With a slash at its end, so that paths are relative to it.
    address: Url,
    authorization: Option<HeaderValue>,
}

// === impl Client ===

impl Client {
    /// # Errors
    /// `image-authority`: a trusted authority is not a certificate.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Diagnostic> {
        let no_certificate = |_| {
            Diagnostic::error(
                boson_releases::codes::IMAGE_AUTHORITY,
                "a CA for registries is not a certificate",
            )
        };
        let without_tls: Arc<BTreeSet<String>> = Arc::new(settings.without_tls.iter().cloned().collect());
        let mut certificates = Vec::new();
        for pem in &settings.authorities {
            certificates.extend(Certificate::from_pem_bundle(pem).map_err(no_certificate)?);
        }
        let plain = without_tls.clone();
        let http = reqwest::Client::builder()
            .user_agent(concat!("boson/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(Policy::custom(move |attempt| redirect_action(attempt, &plain)))
            .tls_certs_merge(certificates)
            .build()
            .map_err(no_certificate)?;
        Ok(Self { http, without_tls })
    }

    /// The repository of this image, authorized to read if the registry requires it.
    pub(crate) async fn repository(
        &self,
        image: &Reference,
        credentials: Option<&Credentials>,
    ) -> Result<Repository<'_>, Error> {
        self.repository_for(image, credentials, Access::Pull).await
    }

    /// The repository of this image, with this access.
    pub(crate) async fn repository_for(
        &self,
        image: &Reference,
        credentials: Option<&Credentials>,
        access: Access<'_>,
    ) -> Result<Repository<'_>, Error> {
        within_timeout(async {
            let registry = image.resolve_registry();
            let plain = self.without_tls.contains(registry);
            let scheme = if plain { "http" } else { "https" };
            let pinged = self.http.get(format!("{scheme}://{registry}/v2/")).send().await?;
            let headers = pinged.headers().get_all(WWW_AUTHENTICATE);
            let challenge = token::challenge(headers.iter().filter_map(|header| header.to_str().ok()));
            let authorization = match (challenge, credentials) {
                (Some(Challenge::Bearer { realm, service }), _) => {
                    let realm = token::realm(&realm, &self.without_tls).ok_or(Error::Realm)?;
                    let scopes = scopes(image.repository(), access);
                    Some(self.token(realm, service, &scopes, credentials).await?)
                }
                (Some(Challenge::Basic), Some(credentials)) => Some(token::basic(credentials).ok_or(Error::Refused)?),
                // Requests without authorization may still succeed.
                (Some(Challenge::Basic), None) | (None, _) => None,
            };
            let address = format!("{scheme}://{registry}/v2/{}/", image.repository());
            Ok(Repository {
                http: &self.http,
                address: Url::parse(&address).map_err(|_| Error::Odd("breaks off"))?,
                authorization,
            })
        })
        .await
    }

    async fn token(
        &self,
        mut realm: Url,
        service: Option<String>,
        scopes: &[String],
        credentials: Option<&Credentials>,
    ) -> Result<HeaderValue, Error> {
        const UNUSABLE: Error = Error::Odd("returned no usable token");
        for scope in scopes {
            realm.query_pairs_mut().append_pair("scope", scope);
        }
        if let Some(service) = service {
            realm.query_pairs_mut().append_pair("service", &service);
        }
        let mut request = self.http.get(realm);
        if let Some(credentials) = credentials {
            request = request.header(AUTHORIZATION, token::basic(credentials).ok_or(Error::Refused)?);
        }
        let answer = check_status(request.send().await?)?;
        let body = read_body(answer, MAX_TOKEN_BYTES, UNUSABLE).await?;
        token::bearer(&body).ok_or(UNUSABLE)
    }
}

fn scopes(repository: &str, access: Access<'_>) -> Vec<String> {
    match access {
        Access::Pull => vec![format!("repository:{repository}:pull")],
        Access::Push { from } => {
            let own = format!("repository:{repository}:pull,push");
            let other = from.filter(|from| *from != repository);
            let other = other.map(|from| format!("repository:{from}:pull"));
            [own].into_iter().chain(other).collect()
        }
    }
}

// === impl Repository ===

impl Repository<'_> {
    /// The manifest of this tag or digest.
    pub(crate) async fn manifest(&self, tag_or_digest: &str) -> Result<Vec<u8>, Error> {
        let answer = self.get(&format!("manifests/{tag_or_digest}")).await?;
        let too_large = Error::Format("has a manifest of more than 4 MiB", "push it again");
        let body = read_body(answer, MAX_MANIFEST_BYTES, too_large).await?;
        // A tag has no colon.
        if tag_or_digest.contains(':') && boson_oci::digest(&body).as_ref() != tag_or_digest {
            return Err(Error::Odd("returned a manifest that does not match its digest"));
        }
        Ok(body)
    }

    /// The manifest of an image for this platform, and its text. `help`: for an index that leads to another one.
    pub(crate) async fn image(
        &self,
        image: &Reference,
        help: &'static str,
    ) -> Result<(Box<ImageManifest>, Vec<u8>), Error> {
        let mut body = self.manifest(tag_or_digest(image)).await?;
        if let Manifest::Index(digest) = Manifest::read(&body)? {
            body = self.manifest(digest.as_ref()).await?;
        }
        match Manifest::read(&body)? {
            Manifest::Image(manifest) => Ok((manifest, body)),
            Manifest::Index(_) => Err(Error::Format("is an index of indexes", help)),
        }
    }

    pub(crate) async fn blob(&self, digest: &Digest) -> Result<Response, Error> {
        self.get(&format!("blobs/{digest}")).await
    }

    /// Begins to read a layer from this byte on, or from its begin where the registry gives all of it.
    pub(crate) async fn blob_from(&self, digest: &Digest, from: u64) -> Result<(Response, u64), Error> {
        let mut request = self.request(Method::GET, &format!("blobs/{digest}"))?;
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let answer = request.send().await?;
        match answer.status() {
            StatusCode::PARTIAL_CONTENT if begins_at(&answer, from) => Ok((answer, from)),
            StatusCode::UNAUTHORIZED => Err(Error::Expired),
            _ => check_status(answer).map(|answer| (answer, 0)),
        }
    }

    /// A small blob, checked.
    pub(crate) async fn document(&self, digest: &Digest) -> Result<Vec<u8>, Error> {
        let answer = self.get(&format!("blobs/{digest}")).await?;
        let too_large = Error::Format("has a document of more than 4 MiB", "push it again");
        let body = read_body(answer, MAX_MANIFEST_BYTES, too_large).await?;
        if boson_oci::digest(&body) == *digest {
            Ok(body)
        } else {
            Err(Error::Odd("returned a document that does not match its digest"))
        }
    }

    /// The index of the manifests that refer to the one with this digest; `None` if the registry does not keep it.
    pub(crate) async fn referrers(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
        const UNKNOWN: [StatusCode; 4] = [
            StatusCode::BAD_REQUEST,
            StatusCode::METHOD_NOT_ALLOWED,
            StatusCode::NOT_ACCEPTABLE,
            StatusCode::NOT_IMPLEMENTED,
        ];
        let answer = match self.get(&format!("referrers/{digest}")).await {
            Err(Error::Missing) => return Ok(None),
            Err(Error::Status(status)) if UNKNOWN.contains(&status) => return Ok(None),
            answer => answer?,
        };
        let too_many = Error::Format("has more than 4 MiB of referrers", "delete those that are not needed");
        read_body(answer, MAX_MANIFEST_BYTES, too_many).await.map(Some)
    }

    /// The digest of the manifest under this tag, if there is one.
    pub(crate) async fn manifest_digest(&self, tag: &str) -> Result<Option<String>, Error> {
        let request = self.request(Method::HEAD, &format!("manifests/{tag}"))?;
        let answer = unless_missing(check_status(request.header(ACCEPT, MANIFESTS).send().await?))?;
        let digest = |answer: Response| header(&answer, "docker-content-digest").unwrap_or_default().to_owned();
        Ok(answer.map(digest))
    }

    /// A request for a path of the repository, or to an address that the registry gave. Another host gets no
    /// `Authorization` header: the address contains what it needs.
    pub(crate) fn request(&self, method: Method, place: &str) -> Result<RequestBuilder, Error> {
        let url = self.address.join(place).map_err(|_| Error::Odd("breaks off"))?;
        let own = url.origin() == self.address.origin();
        let request = self.http.request(method, url);
        Ok(match self.authorization.as_ref().filter(|_| own) {
            // It is not sent to another host on a redirect.
            Some(authorization) => request.header(AUTHORIZATION, authorization.clone()),
            None => request,
        })
    }

    async fn get(&self, path: &str) -> Result<Response, Error> {
        let request = self.request(Method::GET, path)?.header(ACCEPT, MANIFESTS);
        check_status(request.send().await?)
    }
}

/// The result of a small request, if it ends in time.
pub(crate) async fn within_timeout<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let asked = timeout(SMALL_REQUEST_TIMEOUT, request).await;
    asked.unwrap_or(Err(Error::Odd("does not answer")))
}

/// The tag or digest by which the manifest is requested.
pub(crate) fn tag_or_digest(image: &Reference) -> &str {
    image.digest().or(image.tag()).unwrap_or_default()
}

/// The answer, if its status is a success. The body of an error is not read.
fn check_status(answer: Response) -> Result<Response, Error> {
    match answer.status() {
        StatusCode::OK => Ok(answer),
        status => Err(Error::of(status)),
    }
}

/// Whether the part begins at this byte.
fn begins_at(answer: &Response, from: u64) -> bool {
    let range = header(answer, CONTENT_RANGE);
    range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

/// The first header of this name, if it is text.
pub(crate) fn header(answer: &Response, name: impl AsHeaderName) -> Option<&str> {
    answer.headers().get(name)?.to_str().ok()
}

/// The whole body, or the error `too_large`.
async fn read_body(mut answer: Response, largest: usize, too_large: Error) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        if body.len() + part.len() > largest {
            return Err(too_large);
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// Redirects are followed to hosts with TLS, and to registries that are listed as hosts without TLS.
fn redirect_action(attempt: Attempt<'_>, without_tls: &BTreeSet<String>) -> Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("too many redirects")
    } else if token::may_ask(attempt.url(), without_tls) {
        attempt.follow()
    } else {
        attempt.error("a redirect without TLS")
    }
}
