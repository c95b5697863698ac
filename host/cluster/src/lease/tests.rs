//! A leader and a server whose answers are late or missing. In real time, because the tests are about timeouts of
//! sockets.

use super::{ANSWER_TIMEOUT, Election, End, READ_INTERVAL, RENEW_TIMEOUT};
use crate::client::Cluster;
use crate::serving::Health;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kube::{Client, Config};
use parking_lot::Mutex;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

const ABSENT: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;
/// Tolerance for a busy machine.
const SLACK: Duration = Duration::from_millis(1500);

/// An API server with one lease.
#[derive(Default)]
struct Server {
    lease: Mutex<Option<Value>>,
    asked: AtomicUsize,
    /// Delay of the answer to a write.
    late: Duration,
    /// Requests without an answer: the first, and how many.
    silent: (usize, usize),
    versions: AtomicU64,
}

// === impl Server ===

impl Server {
    async fn start(self) -> (Arc<Self>, Cluster) {
        let server = Arc::new(self);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let server = serving.clone();
                let service = service_fn(move |request| server.clone().answer(request));
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        let mut config = Config::new(format!("http://{address}").parse().unwrap());
        config.default_retry = false;
        (server, Cluster::new(Client::try_from(config).unwrap(), Arc::default()))
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let (first, many) = self.silent;
        if (first..first.saturating_add(many)).contains(&number) {
            return std::future::pending().await;
        }
        let writes = request.method() != Method::GET;
        if writes {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut lease: Value = serde_json::from_slice(&body).unwrap();
            let version = self.versions.fetch_add(1, Ordering::SeqCst);
            lease["metadata"]["resourceVersion"] = version.to_string().into();
            *self.lease.lock() = Some(lease);
            sleep(self.late).await;
        }
        let (code, body) = match self.lease.lock().as_ref() {
            Some(lease) => (200, lease.to_string()),
            None => (404, ABSENT.into()),
        };
        Ok(Response::builder()
            .status(code)
            .body(Full::new(Bytes::from(body)))
            .unwrap())
    }
}

fn election() -> Election {
    Election {
        namespace: "n".into(),
        name: "l".into(),
        me: "me".into(),
    }
}

#[tokio::test]
async fn one_dead_connection_does_not_lose_the_lease() {
    // The first read and write, and then one request without an answer.
    let silent = (2, 1);
    let server = Server {
        silent,
        ..Server::default()
    };
    let (server, cluster) = server.start().await;
    let leading = async || sleep(RENEW_TIMEOUT + SLACK).await;
    let end = election()
        .lead(&cluster, &Health::default(), std::future::pending(), leading)
        .await;
    assert_eq!(end, End::Done);
    assert!(server.asked.load(Ordering::SeqCst) > 5);
}

#[tokio::test]
async fn a_lease_counts_from_before_its_write_and_is_renewed_until_its_end() {
    let late = ANSWER_TIMEOUT - SLACK / 2;
    let server = Server {
        late,
        silent: (2, usize::MAX - 2),
        ..Server::default()
    };
    let (server, cluster) = server.start().await;
    let (begun, working) = oneshot::channel();
    let work = async move || {
        begun.send(Instant::now()).unwrap();
        std::future::pending::<()>().await;
    };
    let (asking, health) = (Instant::now(), Health::default());
    let election = election();
    let end = timeout(
        RENEW_TIMEOUT * 3,
        election.lead(&cluster, &health, std::future::pending(), work),
    );
    assert_eq!(end.await, Ok(End::Lost));
    let working = working.await.unwrap();
    assert!(working - asking >= late);
    assert!(asking.elapsed() < RENEW_TIMEOUT + SLACK, "{:?}", asking.elapsed());
    let tries = server.asked.load(Ordering::SeqCst) - 2;
    assert!(tries >= 2, "{tries} tries after a pause of {READ_INTERVAL:?}");
}
