//! The HTTPS server of the webhook: TLS with the newest certificate of the Secret, and limits for everything that a
//! client could make large or slow.

use super::keeper::Keeper;
use super::material::Material;
use super::{DELETIONS, DEPLOYMENTS, HEALTH_PART, PODS, Reviewers, answer, deletions, deployments, pods};
use boson_cluster::client_slots::{Authenticated, ClientSlots};
use boson_cluster::metrics::Review;
use boson_cluster::serving::{Health, State};
use futures::StreamExt;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::RwLock;
use serde_json::Value;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Most connections at a time. An API server keeps a few open.
const MAX_CONNECTIONS: usize = 256;
/// Most connections from one address on which no review was requested yet.
const MAX_NEW_CONNECTIONS_PER_ADDRESS: usize = 32;
/// Limit for the handshake, for the first request, and for the body of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit for the next request of an API server.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Most bytes of a request. It holds an object twice, and the API server stores no object over 1.5 MiB.
const MAX_BODY_BYTES: usize = 8 << 20;
/// After a failure.
const FAILURE_RETRY_DELAY: Duration = Duration::from_secs(5);

/// The present certificate and path.
#[derive(Clone)]
struct Current {
    tls: TlsAcceptor,
    /// With the leading `/`.
    path: String,
}

/// Why the Secret cannot be used.
#[derive(Debug, thiserror::Error)]
enum SecretError {
    #[error("an entry is missing")]
    Incomplete,
    #[error("the certificate is invalid")]
    Certificate,
    #[error("the key is invalid")]
    Key,
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

/// What is served now, if anything is.
type Shared = Arc<RwLock<Option<Current>>>;

/// Serves until it is dropped. The key of the reviewers is set from the Secret.
pub(crate) async fn serve(listener: TcpListener, keeper: Keeper, reviewers: Arc<Reviewers>, health: Health) {
    let current = Shared::default();
    futures::join!(
        follow_certificates(&keeper, &current, &reviewers, &health),
        accept(listener, &current, &reviewers)
    );
}

/// The answer to the review in this body. `what`: the last part of the path. None: it is no review, or nothing answers
/// it.
async fn review(reviewers: &Reviewers, what: &str, body: &[u8]) -> Option<Value> {
    let began = Instant::now();
    let request = answer::request(body)?;
    let (resource, answer) = match what {
        DEPLOYMENTS => (DEPLOYMENTS, deployments::review(reviewers, &request).await),
        DELETIONS => (DELETIONS, deletions::review(reviewers, &request).await),
        PODS if reviewers.links => (PODS, pods::review(reviewers, &request).await),
        _ => return None,
    };
    tracing::info!(
        resource,
        // Selects the lines of a deployment, as in the lines of its reconciles.
        deployment = (resource != PODS).then_some(request.name.as_str()),
        name = request.name,
        namespace = request.namespace,
        outcome = answer.outcome,
        "reviewed an object"
    );
    let label = Review {
        resource,
        outcome: answer.outcome,
    };
    let metrics = reviewers.context.cluster.metrics();
    metrics.reviews.get_or_create(&label).inc();
    metrics.review_seconds.observe(began.elapsed().as_secs_f64());
    answer.to_review(&request)
}

/// Switches to each new certificate.
async fn follow_certificates(keeper: &Keeper, current: &Shared, reviewers: &Reviewers, health: &Health) {
    health.set(HEALTH_PART, State::Starting);
    let mut secrets = pin!(keeper.secrets());
    while let Some(secret) = secrets.next().await {
        let Some(secret) = secret else {
            while let Err(error) = keeper.create_secret().await {
                tracing::warn!(%error, "cannot create the Secret of the webhook");
                tokio::time::sleep(FAILURE_RETRY_DELAY).await;
            }
            continue;
        };
        let material = Material::read(&secret).ok_or(SecretError::Incomplete);
        match material.and_then(|material| Ok((Current::new(&material)?, material.digest_key))) {
            Ok((new, digest_key)) => {
                reviewers.key.set(digest_key);
                *current.write() = Some(new);
                health.set(HEALTH_PART, State::Working);
            }
            // The leader creates another one.
            Err(error) => tracing::warn!(why = error.to_string(), "the Secret of the webhook cannot be used"),
        }
    }
}

// === impl Current ===

impl Current {
    fn new(material: &Material) -> Result<Self, SecretError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(material.leaf.certificate.as_bytes()).collect();
        let chain = chain.map_err(|_| SecretError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(material.leaf.key.as_bytes()).map_err(|_| SecretError::Key)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = config.with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            tls: TlsAcceptor::from(Arc::new(config)),
            path: format!("/{}", material.path),
        })
    }
}

async fn accept(listener: TcpListener, current: &Shared, reviewers: &Arc<Reviewers>) {
    let mut slots = ClientSlots::new(MAX_CONNECTIONS, MAX_NEW_CONNECTIONS_PER_ADDRESS);
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most likely out of file descriptors: temporary, but not brief.
                tracing::warn!(%error, "cannot accept a connection of the API server");
                tokio::time::sleep(FAILURE_RETRY_DELAY).await;
                continue;
            }
        };
        let authenticated = Authenticated::default();
        let client = tokio::spawn(serve_connection(
            stream,
            current.clone(),
            reviewers.clone(),
            authenticated.clone(),
        ));
        slots.insert(peer.ip(), authenticated, client.abort_handle());
    }
}

/// One connection. It keeps its first certificate, but the path is checked for each request. `authenticated` is set by
/// the first request with the path, and without one the connection is closed soon.
async fn serve_connection(stream: TcpStream, current: Shared, reviewers: Arc<Reviewers>, authenticated: Authenticated) {
    let Some(Current { tls, .. }) = current.read().clone() else {
        return;
    };
    let Ok(Ok(stream)) = timeout(REQUEST_TIMEOUT, tls.accept(stream)).await else {
        return;
    };
    let service = service_fn(|request| {
        let (current, reviewers, authenticated) = (current.clone(), reviewers.clone(), authenticated.clone());
        async move { Ok::<_, Infallible>(respond(request, &current, &reviewers, &authenticated).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let served = match timeout(REQUEST_TIMEOUT, &mut connection).await {
        Ok(served) => served,
        Err(_) if authenticated.get() => connection.await,
        Err(_) => return,
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a client of the webhook disconnected");
    }
}

async fn respond(
    request: Request<Incoming>,
    current: &Shared,
    reviewers: &Reviewers,
    authenticated: &Authenticated,
) -> Response<Full<Bytes>> {
    // A client without the path learns nothing, not even that the path exists.
    let asked = current.read().as_ref().and_then(|current| {
        let what = request.uri().path().strip_prefix(&current.path)?.strip_prefix('/')?;
        Some(what.to_string())
    });
    let Some(what) = asked.filter(|_| request.method() == Method::POST) else {
        return response(StatusCode::NOT_FOUND, Bytes::new());
    };
    authenticated.set();
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
    let Ok(Ok(body)) = timeout(REQUEST_TIMEOUT, body).await else {
        return response(StatusCode::BAD_REQUEST, Bytes::new());
    };
    match review(reviewers, &what, &body.to_bytes()).await {
        Some(answer) => response(StatusCode::OK, answer.to_string().into()),
        None => response(StatusCode::BAD_REQUEST, Bytes::new()),
    }
}

/// After an error, the connection is closed.
fn response(code: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    if code != StatusCode::OK {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
