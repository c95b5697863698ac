//! `container-run monit-http`: the sidecar that answers on monit's port, for jobs that read the status of processes
//! there, start and stop them.
//!
//! It knows of processes what the commands `bpm` and `monit` know: the descriptions of all jobs, the state files and
//! sockets in the directory that all containers share. It listens on the loopback address, which is the same for all
//! containers of the pod, and for them only.

mod action;
mod connection;
mod documents;
mod request;

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::PollFlags;

use self::action::{Action, Pending};
use self::connection::Connection;
use self::documents::Service;
use self::request::{Method, Parsed, Request, Status};
use crate::arguments::Flags;
use crate::command::monit::summary;
use crate::events::Events;
use crate::failure::Result;
use crate::instance::known::{self, Known};
use crate::instance::now;
use crate::output::say::say;
use crate::places::Places;

/// Clients at the same time; the oldest gives way to the next one.
const MOST: usize = 16;
/// How long to wait for a port that another program uses.
const RETRY: Duration = Duration::from_secs(10);
/// `vcap:random-password` in base64: user and password of monit on every BOSH VM, which clients have as a constant.
const CREDENTIALS: &str = "dmNhcDpyYW5kb20tcGFzc3dvcmQ=";

const OK: Status = (200, "OK");
const XML: &str = "text/xml";
const TEXT: &str = "text/plain";

struct Server<'a> {
    places: &'a Places,
    processes: Vec<Known>,
    pending: Pending,
    /// When it started, in seconds since 1970.
    incarnation: u64,
    port: u16,
    listener: Option<TcpListener>,
    /// When to try again to listen.
    retry: Instant,
    connections: Vec<Connection>,
}

/// Runs the subcommand.
pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let mut events = Events::new()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut server = Server {
        places,
        processes: known::all(places),
        pending: Pending::default(),
        incarnation: since.as_secs(),
        port: flags.port,
        listener: None,
        retry: Instant::now(),
        connections: Vec::new(),
    };
    loop {
        server.listen();
        if events.wait_for(server.deadline(), server.interests())?.stop {
            return Ok(0);
        }
        server.accept();
        server.proceed();
    }
}

// === impl Server ===

impl Server<'_> {
    /// Listens on the port. Ignores errors, because the other containers do not need it.
    fn listen(&mut self) {
        if self.listener.is_some() || Instant::now() < self.retry {
            return;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port));
        match listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Ok(listener) => self.listener = Some(listener),
            Err(error) => {
                say(&format!(
                    "listening on port {}: {error}; next attempt in {} seconds",
                    self.port,
                    RETRY.as_secs()
                ));
                self.retry = Instant::now() + RETRY;
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let retry = self.listener.is_none().then_some(self.retry);
        self.connections.iter().map(Connection::until).chain(retry).min()
    }

    fn interests(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let listener = self.listener.iter().map(|listener| (listener.as_fd(), PollFlags::IN));
        listener.chain(self.connections.iter().map(Connection::interest))
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..MOST {
            let Ok((stream, _)) = listener.accept() else { return };
            let Ok(connection) = Connection::new(stream) else {
                continue;
            };
            if self.connections.len() >= MOST {
                // In the order in which they were accepted.
                self.connections.remove(0);
            }
            self.connections.push(connection);
        }
    }

    fn proceed(&mut self) {
        let mut connections = std::mem::take(&mut self.connections);
        for connection in &mut connections {
            connection.proceed(|parsed| self.answer(parsed));
        }
        connections.retain(Connection::is_open);
        self.connections = connections;
    }

    fn answer(&mut self, parsed: &Parsed<'_>) -> Vec<u8> {
        let incarnation = self.incarnation;
        let request = match parsed {
            Parsed::Request(request) => request,
            Parsed::Refused(status) => return refusal(*status, status.1),
            Parsed::Incomplete => return refusal(request::BAD, request::BAD.1),
        };
        if !is_authorized(request) {
            return refusal(request::UNAUTHORIZED, "You are not authorized to access monit");
        }
        match (request.method, request.path) {
            (Method::Get, "/_status") if request.parameter("format") == Some("xml") => {
                response(OK, XML, &documents::status(&self.services(), incarnation))
            }
            (Method::Get, "/_status2") if request.parameter("format") == Some("xml") => {
                response(OK, XML, &documents::status2(&self.services(), incarnation))
            }
            (Method::Get, "/_status" | "/_status2") => {
                self.refresh();
                response(OK, TEXT, &summary(&self.processes))
            }
            (Method::Get, _) => refusal(request::NOT_FOUND, "There is no page of this name"),
            (Method::Post, path) => self.act(path.trim_start_matches('/'), request),
        }
    }

    fn refresh(&mut self) {
        for process in &mut self.processes {
            process.refresh(self.places);
        }
    }

    fn services(&mut self) -> Vec<Service<'_>> {
        // Before the states are read: what is done by now has changed them.
        let names = self.processes.iter().map(|known| (&known.job, &known.process.name));
        let pending: Vec<Option<Action>> = names.map(|(job, process)| self.pending.of(job, process)).collect();
        self.refresh();
        let now = now();
        let service = |(known, pending)| service(known, pending, now);
        self.processes.iter().zip(pending).map(service).collect()
    }

    /// Begins the action that a form names.
    fn act(&mut self, name: &str, request: &Request<'_>) -> Vec<u8> {
        let Some(index) = known::position(&self.processes, name) else {
            return refusal(request::NOT_FOUND, "There is no service by that name");
        };
        let Some(action) = request.parameter("action").and_then(Action::named) else {
            return refusal(request::BAD, "Invalid action");
        };
        let known = &self.processes[index];
        match self.pending.begin(self.places, &known.job, &known.process.name, action) {
            Ok(true) => response(OK, TEXT, "accepted\n"),
            Ok(false) => refusal(
                request::UNAVAILABLE,
                "Other action already in progress -- please try again later",
            ),
            Err(failure) => {
                say(&failure.text);
                refusal(request::UNAVAILABLE, "please try again later")
            }
        }
    }
}

fn service(known: &Known, pending: Option<Action>, now: u64) -> Service<'_> {
    Service {
        name: known.check(),
        state: known.record.map(|record| record.state),
        pid: known.pid().unwrap_or(0),
        uptime: known
            .record
            .map_or(0, |record| now.saturating_sub(record.since) / 1_000_000_000),
        pending,
    }
}

fn is_authorized(request: &Request<'_>) -> bool {
    let given = request.authorization.and_then(|given| given.split_once(' '));
    given.is_some_and(|(scheme, given)| scheme.eq_ignore_ascii_case("basic") && given.trim() == CREDENTIALS)
}

fn refusal(status: Status, text: &str) -> Vec<u8> {
    response(status, TEXT, &format!("{text}\n"))
}

/// Each connection has one answer.
fn response((code, reason): Status, kind: &str, body: &str) -> Vec<u8> {
    let challenge = match code {
        401 => "WWW-Authenticate: Basic realm=\"monit\"\r\n",
        _ => "",
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {code} {reason}\r\n{challenge}Content-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    text.into_bytes()
}
