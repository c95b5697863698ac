//! `container-run monit-http`: the sidecar that answers on monit's port, for jobs that read the status of processes
//! there, start and stop them.
//!
//! It knows of processes what the commands `bpm` and `monit` know: the descriptions of all jobs, the state files and
//! sockets in the directory that all containers share. It listens on the loopback address, which is the same for all
//! containers of the pod, and for them only.

mod action;
mod documents;

use std::net::Ipv4Addr;
use std::time::{SystemTime, UNIX_EPOCH};

use self::action::{Action, Pending};
use self::documents::Service;
use crate::arguments::Flags;
use crate::command::monit::summary;
use crate::error::Result;
use crate::events::Events;
use crate::http::request::{self, Method, Parsed, Request, Status};
use crate::http::{self, Server};
use crate::instance::known::{self, Known};
use crate::instance::now;
use crate::output::say::say;
use crate::places::Places;

/// `vcap:random-password` in base64: user and password of monit on every BOSH VM, which clients have as a constant.
const BASIC_CREDENTIALS: &str = "dmNhcDpyYW5kb20tcGFzc3dvcmQ=";

const XML_CONTENT_TYPE: &str = "text/xml";
const TEXT_CONTENT_TYPE: &str = "text/plain";

struct Monit<'a> {
    places: &'a Places,
    processes: Vec<Known>,
    pending: Pending,
    /// When it started, in seconds since 1970.
    incarnation: u64,
}

pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let mut events = Events::new()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut monit = Monit {
        places,
        processes: known::all(places),
        pending: Pending::default(),
        incarnation: since.as_secs(),
    };
    let mut server = Server::new(vec![(Ipv4Addr::LOCALHOST, flags.port).into()]);
    loop {
        server.listen();
        if events.wait_for(server.deadline(), server.interests())?.stop {
            return Ok(0);
        }
        server.proceed(|parsed| monit.answer(parsed));
    }
}

// === impl Monit ===

impl Monit<'_> {
    fn answer(&mut self, parsed: Parsed<'_>) -> Vec<u8> {
        let incarnation = self.incarnation;
        let request = match &parsed {
            Ok(request) => request,
            Err(status) => return refusal(*status, status.reason),
        };
        if !is_authorized(request) {
            return refusal(request::UNAUTHORIZED, "You are not authorized to access monit");
        }
        match (request.method, request.path) {
            (Method::Get, "/_status") if request.parameter("format") == Some("xml") => response(
                request::OK,
                XML_CONTENT_TYPE,
                &documents::status(&self.services(), incarnation),
            ),
            (Method::Get, "/_status2") if request.parameter("format") == Some("xml") => response(
                request::OK,
                XML_CONTENT_TYPE,
                &documents::status2(&self.services(), incarnation),
            ),
            (Method::Get, "/_status" | "/_status2") => {
                self.refresh();
                response(request::OK, TEXT_CONTENT_TYPE, &summary(&self.processes))
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
            return refusal(request::BAD_REQUEST, "Invalid action");
        };
        let known = &self.processes[index];
        match self.pending.begin(self.places, &known.job, &known.process.name, action) {
            Ok(true) => response(request::OK, TEXT_CONTENT_TYPE, "accepted\n"),
            Ok(false) => refusal(
                request::UNAVAILABLE,
                "Other action already in progress -- please try again later",
            ),
            Err(error) => {
                say(&error.text);
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
    given.is_some_and(|(scheme, given)| scheme.eq_ignore_ascii_case("basic") && given.trim() == BASIC_CREDENTIALS)
}

fn refusal(status: Status, text: &str) -> Vec<u8> {
    response(status, TEXT_CONTENT_TYPE, &format!("{text}\n"))
}

fn response(status: Status, kind: &str, body: &str) -> Vec<u8> {
    let challenge = match status {
        request::UNAUTHORIZED => "WWW-Authenticate: Basic realm=\"monit\"\r\n",
        _ => "",
    };
    http::response(status, &format!("{challenge}Content-Type: {kind}\r\n"), body)
}
