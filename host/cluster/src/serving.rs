//! `/live`, `/ready` and `/metrics`, over plain HTTP.
//!
//! Each part of the operator reports its own state. `/ready` succeeds when all caches are filled and the API server has
//! answered. `/live` succeeds until a part ends that should run for ever; then only a restart helps.

use crate::client_slots::{Authenticated, ClientSlots};
use crate::metrics::Metrics;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// Longest time for the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a problem counts that is not reported again: a failing part retries within 60 s.
const PROBLEM_TIMEOUT: Duration = Duration::from_secs(90);
/// Most clients at a time; kubelet and Prometheus are two.
const MAX_CLIENTS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Starting,
    Working,
    /// It has ended and will not restart.
    Ended,
}

#[derive(Clone, Debug, Default)]
pub struct Health {
    parts: Arc<Mutex<BTreeMap<PartName, Part>>>,
}

/// A part, possibly one of several that serve a namespace each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartName {
    pub name: String,
    /// Its namespace. Responses leave it out: every pod can send requests, and must not learn which namespaces are
    /// served.
    pub namespace: Option<String>,
}

impl From<&str> for PartName {
    fn from(name: &str) -> Self {
        Self {
            name: name.into(),
            namespace: None,
        }
    }
}

#[derive(Clone, Debug)]
struct Part {
    state: State,
    /// Its problem, and when it was reported.
    problem: Option<(String, Instant)>,
}

// === impl Health ===

impl Health {
    /// Sets the state of a part. An unknown part does not count, so set [`State::Starting`] before it starts.
    pub fn set(&self, part: impl Into<PartName>, state: State) {
        let mut parts = self.parts.lock();
        parts.insert(part.into(), Part { state, problem: None });
    }

    /// Reports a problem of a part that an administrator has to fix. It counts until the next [`Health::set`] of the
    /// part, or for a while.
    pub fn problem(&self, part: impl Into<PartName>, words: String) {
        let part = part.into();
        let mut parts = self.parts.lock();
        let state = parts.get(&part).map_or(State::Starting, |part| part.state);
        let problem = Some((words, Instant::now()));
        parts.insert(part, Part { state, problem });
    }

    pub fn is_ready(&self) -> bool {
        self.all(|part| part.state == State::Working && part.problem().is_none())
    }

    /// Whether no part has ended.
    pub fn is_live(&self) -> bool {
        self.all(|part| part.state != State::Ended)
    }

    fn all(&self, good: impl Fn(&Part) -> bool) -> bool {
        let parts = self.parts.lock();
        parts.values().all(good)
    }

    /// A line for each part, or for each of the different states of those with the same name.
    fn text(&self) -> String {
        let parts = self.parts.lock();
        let line = |(part, state): (&PartName, &Part)| format!("{}: {}\n", part.name, state.words());
        parts.iter().map(line).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

// === impl Part ===

impl Part {
    fn words(&self) -> &str {
        self.problem().unwrap_or(match self.state {
            State::Starting => "starting",
            State::Working => "ok",
            State::Ended => "ended",
        })
    }

    fn problem(&self) -> Option<&str> {
        let fresh = self
            .problem
            .as_ref()
            .filter(|(_, since)| since.elapsed() < PROBLEM_TIMEOUT);
        fresh.map(|(words, _)| words.as_str())
    }
}

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, health: Health, metrics: Arc<Metrics>) {
    let mut slots = ClientSlots::new(MAX_CLIENTS, MAX_CLIENTS / 4);
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most likely out of file descriptors: temporary, but not brief.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let (health, metrics) = (health.clone(), metrics.clone());
        let client = tokio::spawn(async move {
            let service = service_fn(move |request| {
                let response = answer(&request, &health, &metrics);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "a client disconnected");
            }
        });
        // Nobody authenticates here.
        slots.insert(peer.ip(), Authenticated::default(), client.abort_handle());
    }
}

fn answer(request: &Request<Incoming>, health: &Health, metrics: &Metrics) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, String::new());
    }
    let answer = |good: bool| {
        let code = if good {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        text(code, health.text())
    };
    match request.uri().path() {
        "/live" => answer(health.is_live()),
        "/ready" => answer(health.is_ready()),
        "/metrics" => match scraped(health, metrics) {
            Ok(body) => text(StatusCode::OK, body),
            Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, String::new()),
        },
        _ => text(StatusCode::NOT_FOUND, String::new()),
    }
}

fn scraped(health: &Health, metrics: &Metrics) -> Result<String, std::fmt::Error> {
    metrics.ready.set(health.is_ready().into());
    metrics.text()
}

fn text(code: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write as _};
    use std::net::{SocketAddr, TcpStream};

    async fn ask(address: SocketAddr, path: &'static str) -> String {
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        asked.await.unwrap()
    }

    #[tokio::test]
    async fn silent_clients_do_not_block_others() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let health = Health::default();
        health.set("watch", State::Working);
        tokio::spawn(serve(listener, health, Arc::default()));
        let silent: Vec<_> = (0..3 * MAX_CLIENTS)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let answer = tokio::time::timeout(HEADER_TIMEOUT / 2, ask(address, "/live")).await;
        assert!(answer.unwrap().starts_with("HTTP/1.1 200"));
        drop(silent);
    }

    #[test]
    fn namespaces_are_not_named() {
        let health = Health::default();
        let part = |namespace: &str| PartName {
            namespace: Some(namespace.into()),
            ..PartName::from("watch")
        };
        health.set(part("one"), State::Working);
        health.set(part("two"), State::Working);
        assert_eq!(health.text(), "watch: ok\n");
        health.problem(part("two"), "the operator may not list secrets".into());
        assert_eq!(health.text(), "watch: ok\nwatch: the operator may not list secrets\n");
        assert!(!health.is_ready());
    }

    #[tokio::test]
    async fn the_paths_report_the_state() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let health = Health::default();
        tokio::spawn(serve(listener, health.clone(), Arc::default()));

        health.set("watch", State::Starting);
        assert!(ask(address, "/live").await.starts_with("HTTP/1.1 200"));
        let waiting = ask(address, "/ready").await;
        assert!(
            waiting.starts_with("HTTP/1.1 503") && waiting.contains("watch: starting"),
            "{waiting}"
        );

        health.set("watch", State::Working);
        assert!(ask(address, "/ready").await.starts_with("HTTP/1.1 200"));
        let metrics = ask(address, "/metrics").await;
        assert!(
            metrics.contains("boson_leading 0") && metrics.contains("boson_ready 1"),
            "{metrics}"
        );
        assert!(ask(address, "/secrets").await.starts_with("HTTP/1.1 404"));

        health.problem("watch", "the operator may not list secrets".into());
        let hindered = ask(address, "/ready").await;
        assert!(
            hindered.starts_with("HTTP/1.1 503") && hindered.contains("watch: the operator may not list secrets"),
            "{hindered}"
        );
        assert!(ask(address, "/live").await.starts_with("HTTP/1.1 200"));
        health.set("watch", State::Working);
        assert!(ask(address, "/ready").await.starts_with("HTTP/1.1 200"));

        health.set("watch", State::Ended);
        assert!(ask(address, "/live").await.starts_with("HTTP/1.1 503"));
    }
}
