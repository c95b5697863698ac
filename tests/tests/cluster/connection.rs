//! A connection to the cluster that counts the writes of an operator in this process, and can be cut at any of them.

use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::watch;

/// User agent in the audit log.
pub const AGENT: &str = "operator-under-test";

/// When the connection to the cluster ends.
#[derive(Clone, Copy, Debug)]
pub enum Death {
    Never,
    /// Before this write is sent.
    Before(usize),
    /// After it succeeded.
    After(usize),
}

/// Of each so many writes, one ends a connection, unless all of them do.
const WRITES_PER_DEATH: usize = 3;

/// A connection to the cluster that ends.
#[derive(Clone, Default)]
pub struct Connection {
    /// Which writes are numbered, by method, path and query; none: all of them.
    pub numbered: Option<fn(&str) -> bool>,
    /// How many numbered writes were sent.
    pub writes: Arc<AtomicUsize>,
    pub cut: Arc<AtomicBool>,
    /// Whether it is cut, and the write after which it is has succeeded.
    pub ended: watch::Sender<bool>,
    /// Method and path of each successful write.
    pub landed: Arc<Mutex<Vec<String>>>,
}

// === impl Death ===

impl Death {
    /// Those of a test with so many writes: with `BOSON_ALL_DEATHS`, as `make deaths` sets it, before and after each;
    /// else at some of them, before and after in turn.
    pub fn at_writes(count: usize) -> Vec<Self> {
        if std::env::var_os("BOSON_ALL_DEATHS").is_some() {
            return (0..count).flat_map(|at| [Self::Before(at), Self::After(at)]).collect();
        }
        let some = (0..count).step_by(WRITES_PER_DEATH);
        some.map(|at| if at % 2 == 0 { Self::Before(at) } else { Self::After(at) })
            .collect()
    }
}

// === impl Connection ===

impl Connection {
    /// Whether it has ended.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    /// Waits until it has ended, or until the operator is done: with fewer writes than usual (two became one), the
    /// write that ends it does not happen.
    pub async fn ended_or(&self, done: impl Future<Output = ()>) {
        let mut ended = self.ended.subscribe();
        tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {}
            () = done => {}
        }
    }

    /// Method and path of each successful write.
    pub fn landed(&self) -> Vec<String> {
        self.landed.lock().clone()
    }

    pub fn client(&self, inner: Client, death: Death) -> Client {
        let line = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (line, inner) = (line.clone(), inner.clone());
            async move { line.pass(inner, request, death).await }
        });
        Client::new(service, "default")
    }

    async fn pass(
        self,
        inner: Client,
        mut request: http::Request<Body>,
        death: Death,
    ) -> Result<http::Response<Body>, tower::BoxError> {
        let headers = request.headers_mut();
        headers.insert(http::header::USER_AGENT, http::HeaderValue::from_static(AGENT));
        let dead = || Err("the line is cut".into());
        // The lease is renewed on its own schedule, which would make the numbers of the others depend on the clock.
        let asks = request.uri().query().unwrap_or_default().contains("dryRun=");
        let is_write = *request.method() != http::Method::GET && !asks && !request.uri().path().contains("/leases");
        let what = format!("{} {}", request.method(), request.uri().path());
        let whole = format!("{} {}", request.method(), request.uri());
        let is_numbered = is_write && self.numbered.is_none_or(|is_numbered| is_numbered(&whole));
        let number = is_numbered.then(|| self.writes.fetch_add(1, Ordering::SeqCst));
        let dies = |at: Option<usize>| at.is_some() && at == number;
        let (before, after) = match death {
            Death::Never => (None, None),
            Death::Before(at) => (Some(at), None),
            Death::After(at) => (None, Some(at)),
        };
        if dies(before) {
            self.cut.store(true, Ordering::SeqCst);
            self.ended.send_replace(true);
        }
        if self.is_cut() {
            return dead();
        }
        let is_last = dies(after);
        if is_last {
            self.cut.store(true, Ordering::SeqCst);
        }
        // A write that was sent succeeds, and is counted, whether or not the operator lives to get the answer.
        let (landed, ended) = (self.landed.clone(), self.ended.clone());
        let sent = tokio::spawn(async move {
            let answer = inner.send(request).await;
            if is_write && answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                landed.lock().push(what);
            }
            if is_last {
                ended.send_replace(true);
            }
            answer
        });
        let answer = sent.await?;
        if is_last { dead() } else { Ok(answer?) }
    }
}
