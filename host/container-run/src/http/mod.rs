//! An HTTP server for few clients, on the thread that also waits for everything else.

mod connection;
pub mod request;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use self::connection::Connection;
use self::request::{Parsed, Status};
use crate::output::say::say;

/// Clients at the same time; the oldest gives way to the next one.
const MAX_CONNECTIONS: usize = 16;
/// How long to wait for a port that another program uses.
const LISTEN_INTERVAL: Duration = Duration::from_secs(10);

pub struct Server {
    /// The first one that exists is used.
    addresses: Vec<SocketAddr>,
    listener: Option<TcpListener>,
    /// When to try again to listen.
    retry: Instant,
    connections: Vec<Connection>,
}

// === impl Server ===

impl Server {
    pub fn new(addresses: Vec<SocketAddr>) -> Self {
        Self {
            addresses,
            listener: None,
            retry: Instant::now(),
            connections: Vec::new(),
        }
    }

    /// Listens, unless it does. Ignores errors, because the other containers do not need it.
    pub fn listen(&mut self) {
        if self.listener.is_some() || Instant::now() < self.retry {
            return;
        }
        let listener = TcpListener::bind(self.addresses.as_slice());
        match listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Ok(listener) => self.listener = Some(listener),
            Err(error) => {
                let port = self.addresses.first().map_or(0, SocketAddr::port);
                say(&format!(
                    "listening on port {port}: {error}; next attempt in {} seconds",
                    LISTEN_INTERVAL.as_secs()
                ));
                self.retry = Instant::now() + LISTEN_INTERVAL;
            }
        }
    }

    /// When something is due, even if no client does anything.
    pub fn deadline(&self) -> Option<Instant> {
        let retry = self.listener.is_none().then_some(self.retry);
        self.connections.iter().map(Connection::until).chain(retry).min()
    }

    pub fn interests(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let listener = self.listener.iter().map(|listener| (listener.as_fd(), PollFlags::IN));
        listener.chain(self.connections.iter().map(Connection::interest))
    }

    /// Reads requests and writes answers, as far as that is possible now.
    pub fn proceed(&mut self, mut answer: impl FnMut(Parsed<'_>) -> Vec<u8>) {
        self.accept();
        for connection in &mut self.connections {
            connection.proceed(&mut answer);
        }
        self.connections.retain(Connection::is_open);
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..MAX_CONNECTIONS {
            let Ok((stream, _)) = listener.accept() else { return };
            let Ok(connection) = Connection::new(stream) else {
                continue;
            };
            if self.connections.len() >= MAX_CONNECTIONS {
                // In the order in which they were accepted.
                self.connections.remove(0);
            }
            self.connections.push(connection);
        }
    }
}

/// Each connection has one answer. `headers`: lines with their ends.
pub fn response(status: Status, headers: &str, body: &str) -> Vec<u8> {
    let Status { code, reason } = status;
    let length = body.len();
    let text =
        format!("HTTP/1.1 {code} {reason}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    text.into_bytes()
}
