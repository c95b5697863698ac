//! Sending blobs and manifests to one repository: small blobs in one request, large ones in parts, each of which may be
//! sent again.

use super::Tell;
use crate::client::{Access, Client, Repository, header};
use crate::credentials::Credentials;
use crate::error::Error;
use crate::token::may_ask;
use boson_oci::{Blob, Digest, Section};
use oci_spec::distribution::Reference;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, LOCATION, RANGE};
use reqwest::{Body, Method, Response, StatusCode, Url};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::sleep;

/// Bytes that are sent in one request, and what an upload holds in memory.
const PART_BYTES: usize = 4 << 20;
/// The largest part that a registry may ask for, in bytes.
const MAX_PART_BYTES: usize = 32 << 20;
/// Most failures of one blob that are retried.
const MAX_FAILURES: u32 = 5;
/// A registry's header with its minimum size of a part.
const MIN_PART_BYTES_HEADER: &str = "oci-chunk-min-length";

/// A repository that is written to.
pub(crate) struct Upload<'u> {
    client: &'u Client,
    reference: &'u Reference,
    credentials: Option<&'u Credentials>,
    access: Access<'u>,
    repository: Mutex<Arc<Repository<'u>>>,
}

struct Session {
    /// Address for the next part.
    place: Url,
    /// Bytes that the registry has.
    sent: u64,
    /// Bytes of a part.
    part: usize,
}

// === impl Upload ===

impl<'u> Upload<'u> {
    pub(crate) async fn new(
        client: &'u Client,
        reference: &'u Reference,
        credentials: Option<&'u Credentials>,
        access: Access<'u>,
    ) -> Result<Self, Error> {
        let repository = client.repository_for(reference, credentials, access).await?;
        Ok(Self {
            client,
            reference,
            credentials,
            access,
            repository: Mutex::new(Arc::new(repository)),
        })
    }

    /// Sends a blob, unless the registry has it or can take it from the repository `from`.
    pub(crate) async fn blob(
        &self,
        digest: &Digest,
        content: &Section,
        from: Option<&str>,
        tell: &Tell<'_>,
    ) -> Result<(), Error> {
        let mut failures = 0;
        let mut session = None;
        loop {
            match self.continue_upload(&mut session, digest, content, from, tell).await {
                Err(error) if error.is_transient() && failures < MAX_FAILURES => {
                    failures += 1;
                    sleep(Duration::from_millis(100 << failures)).await;
                    session = self.query_progress(session).await;
                }
                ended => return ended,
            }
        }
    }

    /// Continues an upload to its end.
    async fn continue_upload(
        &self,
        session: &mut Option<Session>,
        digest: &Digest,
        content: &Section,
        from: Option<&str>,
        tell: &Tell<'_>,
    ) -> Result<(), Error> {
        if session.is_none() && !self.has_blob(digest).await? {
            *session = self.start_upload(digest, from).await?;
        }
        let Some(open) = session else {
            tell(content.size());
            return Ok(());
        };
        if content.size() <= PART_BYTES as u64 && open.sent == 0 {
            let bytes = read_part(content, 0, PART_BYTES).await?;
            self.finish_upload(open, digest, bytes).await?;
            tell(content.size());
            return Ok(());
        }
        while open.sent < content.size() {
            let bytes = read_part(content, open.sent, open.part).await?;
            let before = open.sent;
            let kept = self.send_part(open, bytes).await;
            tell(open.sent.saturating_sub(before));
            kept?;
        }
        self.finish_upload(open, digest, Vec::new()).await
    }

    async fn has_blob(&self, digest: &Digest) -> Result<bool, Error> {
        let answer = self.send_empty(Method::HEAD, &format!("blobs/{digest}")).await?;
        match answer.status() {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            status => Err(Error::of(status)),
        }
    }

    /// Begins an upload; `None` if the registry mounted the blob from another repository.
    async fn start_upload(&self, digest: &Digest, from: Option<&str>) -> Result<Option<Session>, Error> {
        let path = match from {
            Some(from) => format!("blobs/uploads/?mount={digest}&from={from}"),
            None => "blobs/uploads/".to_owned(),
        };
        let mut answer = self.send_empty(Method::POST, &path).await?;
        // Some registries refuse to mount what they do not have, instead of beginning an upload.
        if from.is_some() && !matches!(answer.status(), StatusCode::CREATED | StatusCode::ACCEPTED) {
            answer = self.send_empty(Method::POST, "blobs/uploads/").await?;
        }
        match answer.status() {
            StatusCode::CREATED if from.is_some() => Ok(None),
            StatusCode::ACCEPTED => {
                let least = header(&answer, MIN_PART_BYTES_HEADER).and_then(|least| least.parse().ok());
                let part = least.unwrap_or(PART_BYTES).clamp(PART_BYTES, MAX_PART_BYTES);
                Ok(Some(Session {
                    place: self.next_address(&answer).await?,
                    sent: 0,
                    part,
                }))
            }
            status => Err(Error::of(status)),
        }
    }

    async fn send_part(&self, session: &mut Session, bytes: Vec<u8>) -> Result<(), Error> {
        let end = session.sent + bytes.len() as u64;
        let mut headers = HeaderMap::new();
        let range = format!("{}-{}", session.sent, end.saturating_sub(1));
        headers.insert(CONTENT_RANGE, range.parse().map_err(|_| Error::Odd("breaks off"))?);
        let answer = self.send(Method::PATCH, session.place.as_str(), headers, bytes).await?;
        match answer.status() {
            StatusCode::ACCEPTED | StatusCode::CREATED | StatusCode::NO_CONTENT => {
                session.place = self.next_address(&answer).await?;
                let kept = received_bytes(&answer).filter(|have| *have > session.sent && *have <= end);
                session.sent = kept.unwrap_or(end);
                // A failure, and therefore counted: otherwise a layer could take a request for each byte.
                if session.sent == end {
                    Ok(())
                } else {
                    Err(Error::Odd("keeps only a part of what it is sent"))
                }
            }
            status => Err(Error::of(status)),
        }
    }

    /// Sends the last part, with the digest of the whole blob.
    async fn finish_upload(&self, session: &Session, digest: &Digest, bytes: Vec<u8>) -> Result<(), Error> {
        let mut place = session.place.clone();
        place.query_pairs_mut().append_pair("digest", digest.as_ref());
        let answer = self.send(Method::PUT, place.as_str(), HeaderMap::new(), bytes).await?;
        match answer.status() {
            StatusCode::CREATED | StatusCode::NO_CONTENT => Ok(()),
            // The digest does not match: a part was lost, so all are sent again.
            StatusCode::BAD_REQUEST => Err(Error::Odd("rejects a layer")),
            status => Err(Error::of(status)),
        }
    }

    /// The state of an upload at the registry; `None` if the upload must begin again.
    async fn query_progress(&self, session: Option<Session>) -> Option<Session> {
        let session = session.filter(|session| session.sent > 0)?;
        let answer = self.send_empty(Method::GET, session.place.as_str()).await.ok()?;
        let is_there = matches!(
            answer.status(),
            StatusCode::NO_CONTENT | StatusCode::ACCEPTED | StatusCode::OK
        );
        Some(Session {
            sent: received_bytes(&answer).filter(|_| is_there)?,
            place: self.next_address(&answer).await.unwrap_or(session.place),
            part: session.part,
        })
    }

    /// Puts a manifest under a tag.
    pub(crate) async fn manifest(&self, tag: &str, manifest: &Blob) -> Result<(), Error> {
        let path = format!("manifests/{tag}");
        let mut failures = 0;
        loop {
            let mut headers = HeaderMap::new();
            let media_type = manifest.media_type.as_ref().parse();
            headers.insert(CONTENT_TYPE, media_type.map_err(|_| Error::Odd("rejects a manifest"))?);
            let sent = self.send(Method::PUT, &path, headers, manifest.bytes.clone());
            let error = match sent.await.map(|answer| answer.status()) {
                Ok(StatusCode::CREATED | StatusCode::OK | StatusCode::ACCEPTED) => return Ok(()),
                Ok(status) => Error::of(status),
                Err(error) => error,
            };
            if !error.is_transient() || failures == MAX_FAILURES {
                return Err(error);
            }
            failures += 1;
            sleep(Duration::from_millis(100 << failures)).await;
        }
    }

    /// One request without content.
    async fn send_empty(&self, method: Method, place: &str) -> Result<Response, Error> {
        self.send(method, place, HeaderMap::new(), Vec::new()).await
    }

    /// One request. An expired token is replaced once.
    async fn send(&self, method: Method, place: &str, headers: HeaderMap, body: Vec<u8>) -> Result<Response, Error> {
        let repository = self.repository.lock().await.clone();
        let body: bytes::Bytes = body.into();
        let answer = send_once(&repository, &method, place, &headers, body.clone()).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let fresh = self.renew_token(&repository).await?;
        send_once(&fresh, &method, place, &headers, body).await
    }

    async fn renew_token(&self, old: &Arc<Repository<'u>>) -> Result<Arc<Repository<'u>>, Error> {
        let mut current = self.repository.lock().await;
        if Arc::ptr_eq(old, &current) {
            let fresh = self
                .client
                .repository_for(self.reference, self.credentials, self.access)
                .await?;
            *current = Arc::new(fresh);
        }
        Ok(current.clone())
    }

    /// The address of the next request, from an answer.
    async fn next_address(&self, answer: &Response) -> Result<Url, Error> {
        const NO_LOCATION: Error = Error::Odd("does not return an address for uploads");
        let place = header(answer, LOCATION).ok_or(NO_LOCATION)?;
        let place = answer.url().join(place).map_err(|_| NO_LOCATION)?;
        if may_ask(&place, &self.client.without_tls) && place.username().is_empty() && place.password().is_none() {
            Ok(place)
        } else {
            Err(Error::Odd("requests an upload without TLS"))
        }
    }
}

async fn send_once(
    repository: &Repository<'_>,
    method: &Method,
    place: &str,
    headers: &HeaderMap,
    body: bytes::Bytes,
) -> Result<Response, Error> {
    let request = repository.request(method.clone(), place)?;
    let mut headers = headers.clone();
    if *method != Method::HEAD && *method != Method::GET {
        headers.insert(CONTENT_LENGTH, body.len().into());
        headers
            .entry(CONTENT_TYPE)
            .or_insert(reqwest::header::HeaderValue::from_static("application/octet-stream"));
        return Ok(request.headers(headers).body(Body::from(body)).send().await?);
    }
    Ok(request.headers(headers).send().await?)
}

/// Reads a part of a file, which may have to come from the disk.
async fn read_part(content: &Section, at: u64, most: usize) -> Result<Vec<u8>, Error> {
    let content = content.clone();
    let read = tokio::task::spawn_blocking(move || content.part(at, most));
    Ok(read.await.map_err(io::Error::from)??)
}

/// Bytes that the registry has received, from `Range: 0-<last>`. `0-0` means none, because no part has one byte.
fn received_bytes(answer: &Response) -> Option<u64> {
    let (_, last) = header(answer, RANGE)?.trim_start_matches("bytes=").split_once('-')?;
    match last.parse::<u64>().ok()? {
        0 => Some(0),
        last => last.checked_add(1),
    }
}
