//! Forwards questions about all other names to the cluster's servers, or to those that the manifest names.
//!
//! As BOSH's server does, it asks the next server if one does not answer. Unlike BOSH's server, it accepts NXDOMAIN as
//! an answer, and if no server answers it returns SERVFAIL: clients would cache an NXDOMAIN.

use super::framing::{read, write};
use super::{State, over_http};
use crate::lookup::any_port;
use crate::resolv_conf;
use crate::wire::{Forward, HEADER_BYTES, Way, reply_with_records};
use crate::zone::Upstream;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MAX_OPEN_QUESTIONS: usize = 512;
/// How long a server may take.
const SERVER_TIMEOUT: Duration = Duration::from_secs(2);
/// Servers that are asked about one name.
const MAX_SERVERS: usize = 3;
const MAX_ANSWER_BYTES: usize = 65_535;
const DNS_PORT: u16 = 53;

#[derive(Debug)]
pub struct Forwarder {
    resolv_conf: PathBuf,
    permits: Arc<Semaphore>,
    chance: RandomState,
    count: AtomicU64,
}

// === impl Forwarder ===

impl Forwarder {
    /// Servers that the manifest does not name are in this file.
    pub fn new(resolv_conf: PathBuf) -> Self {
        Self {
            resolv_conf,
            permits: Arc::new(Semaphore::new(MAX_OPEN_QUESTIONS)),
            chance: RandomState::new(),
            count: AtomicU64::new(0),
        }
    }

    /// A permit for one more question; `None` if too many are open.
    pub fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Asks one server after the other.
    pub async fn ask(&self, state: &State, packet: &[u8], asked: Forward, way: Way) -> Vec<u8> {
        let servers = match &asked.upstream {
            Upstream::Http(url) => return Self::ask_over_http(state, url, packet, asked.failed, way).await,
            Upstream::Servers(servers) if servers.is_empty() => self.servers(state),
            Upstream::Servers(servers) => servers.clone(),
        };
        let mut last = None;
        for server in servers.into_iter().take(MAX_SERVERS) {
            let id = self.next_id();
            let tried = tokio::time::timeout(SERVER_TIMEOUT, self.exchange(server, packet, id, way)).await;
            match tried {
                Ok(Ok(answer)) if is_final(&answer) => return to_client(answer, packet, asked),
                Ok(Ok(answer)) => last = Some(answer),
                Ok(Err(error)) => tracing::debug!(%server, %error, "cannot ask"),
                Err(_) => tracing::debug!(%server, "no answer in {SERVER_TIMEOUT:?}"),
            }
        }
        match last {
            Some(answer) => to_client(answer, packet, asked),
            None => {
                state.tally.unanswered.fetch_add(1, Ordering::Relaxed);
                asked.failed
            }
        }
    }

    async fn ask_over_http(state: &State, url: &str, packet: &[u8], failed: Vec<u8>, way: Way) -> Vec<u8> {
        let tried = tokio::time::timeout(SERVER_TIMEOUT, over_http::ask(url, packet));
        let why = match tried.await {
            Ok(Ok(records)) => return reply_with_records(packet, way, records).unwrap_or(failed),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer in {SERVER_TIMEOUT:?}"),
        };
        tracing::debug!(url, why, "cannot ask");
        state.tally.unanswered.fetch_add(1, Ordering::Relaxed);
        failed
    }

    /// The file is read each time: it is short, and may change.
    fn servers(&self, state: &State) -> Vec<SocketAddr> {
        let zone = state.zone();
        if !zone.recursors.is_empty() {
            return zone.recursors.clone();
        }
        let text = std::fs::read_to_string(&self.resolv_conf).unwrap_or_default();
        let all = resolv_conf::servers(&text).into_iter();
        let asked = all.filter(|ip| !zone.excluded.contains(ip));
        asked.map(|ip| SocketAddr::new(ip, DNS_PORT)).collect()
    }

    /// Hard to guess, so that an attacker cannot spoof the server's answer.
    fn next_id(&self) -> [u8; 2] {
        let hash = self.chance.hash_one(self.count.fetch_add(1, Ordering::Relaxed));
        [(hash >> 8) as u8, hash as u8]
    }

    async fn exchange(&self, server: SocketAddr, packet: &[u8], id: [u8; 2], way: Way) -> std::io::Result<Vec<u8>> {
        let mut question = packet.to_vec();
        question.splice(..2, id);
        if way == Way::Tcp {
            let mut stream = TcpStream::connect(server).await?;
            write(&mut stream, &question).await?;
            let answer = read(&mut stream)
                .await?
                .filter(|answer| is_answer_to(answer, &question));
            return answer.ok_or_else(|| std::io::ErrorKind::InvalidData.into());
        }
        // A new port for each question, connected so that only this server's answers arrive.
        let socket = UdpSocket::bind(any_port(server)).await?;
        socket.connect(server).await?;
        socket.send(&question).await?;
        let mut buffer = vec![0; MAX_ANSWER_BYTES];
        loop {
            let length = socket.recv(&mut buffer).await?;
            if is_answer_to(&buffer[..length], &question) {
                buffer.truncate(length);
                return Ok(buffer);
            }
        }
    }
}

/// Is it an answer, and to this question? Both begin with the header, and one question follows.
fn is_answer_to(answer: &[u8], question: &[u8]) -> bool {
    let Some(asked) = name_end(question).and_then(|end| question.get(HEADER_BYTES..end)) else {
        return false;
    };
    let is_reply = answer.get(2).is_some_and(|flags| flags & 0x80 != 0);
    let same = answer
        .get(HEADER_BYTES..HEADER_BYTES + asked.len())
        .is_some_and(|theirs| theirs.eq_ignore_ascii_case(asked));
    // Some servers leave the question out where they refuse.
    let without = answer.get(4..6) == Some(&[0, 0]);
    is_reply && answer.get(..2) == question.get(..2) && (same || without)
}

/// End of name, type and class of the first question.
fn name_end(packet: &[u8]) -> Option<usize> {
    let mut at = HEADER_BYTES;
    loop {
        let length = usize::from(*packet.get(at)?);
        if length > 63 {
            return None;
        }
        at += length + 1;
        if length == 0 {
            return (at + 4 <= packet.len()).then_some(at + 4);
        }
    }
}

/// NOERROR and NXDOMAIN are final; after any other code the next server is asked.
fn is_final(answer: &[u8]) -> bool {
    matches!(answer.get(3).map(|flags| flags & 0x0f), Some(0 | 3))
}

/// The answer with the client's id, no longer than the client accepts.
fn to_client(mut answer: Vec<u8>, packet: &[u8], asked: Forward) -> Vec<u8> {
    if answer.len() > asked.limit {
        return asked.cut;
    }
    if let (Some(to), Some(from)) = (answer.get_mut(..2), packet.get(..2)) {
        to.copy_from_slice(from);
    }
    answer
}
