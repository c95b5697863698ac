//! `container-run probe`: a health check of a process. Workloads only name it: its texts, which may be secret, are in
//! the description of the job.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::arguments::Flags;
use crate::description::{Description, Probe, Request};
use crate::error::{Error, Result};
use crate::output::say::say;
use crate::places::Places;

/// Longer than most probes may take: the kubelet ends them.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);
/// Enough of an answer for its first line.
const MAX_ANSWER_BYTES: u64 = 16 << 10;
/// The pod's address, a variable of every container.
const ADDRESS_VARIABLE: &str = "POD_IP";
/// Headers that a request has unless it sets them itself.
const DEFAULT_HEADERS: [(&str, &str); 3] = [
    ("User-Agent", "kube-probe/container-run"),
    ("Accept", "*/*"),
    ("Connection", "close"),
];

/// Runs the subcommand.
pub fn run(places: &Places, flags: &Flags) -> Result<u8> {
    let description = Description::read(places, &flags.job)?;
    match description.probe(&flags.process, &flags.name)? {
        Probe::Exec(command) => Err(exec_command(command)),
        Probe::Http(request) => ask(request, flags.port),
    }
}

/// Returns only if that fails.
fn exec_command(command: &[String]) -> Error {
    let Some((program, arguments)) = command.split_first() else {
        return Error::new("the command of the probe is empty");
    };
    let error = Command::new(program).args(arguments).exec();
    let text = format!("cannot run the command of the probe: {}", error.kind());
    Error::of_exec(&error, text)
}

fn ask(request: &Request, port: u16) -> Result<u8> {
    let host = match request.host.as_str() {
        "" => std::env::var(ADDRESS_VARIABLE).unwrap_or_else(|_| "127.0.0.1".into()),
        host => host.to_string(),
    };
    let text = message(request, &host, port)?;
    let answer = exchange(&text, &host, port);
    let answer = answer.map_err(|error| Error::new(format!("no HTTP answer from port {port}: {}", error.kind())))?;
    match status(&answer) {
        Some(200..=399) => Ok(0),
        Some(code) => {
            say(&format!("HTTP probe failed with statuscode: {code}"));
            Ok(1)
        }
        None => Err(Error::new(format!("the answer from port {port} is not HTTP"))),
    }
}

fn message(request: &Request, host: &str, port: u16) -> Result<String> {
    let path = request.path.strip_prefix('/').unwrap_or(&request.path);
    let own = [("Host".to_string(), format!("{host}:{port}"))];
    let defaults = DEFAULT_HEADERS.map(|(name, value)| (name.to_string(), value.to_string()));
    let is_given = |name: &str| {
        request
            .headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    let defaults = own.into_iter().chain(defaults).filter(|(name, _)| !is_given(name));
    let headers: String = defaults
        .chain(request.headers.iter().cloned())
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let parts = request.headers.iter().flat_map(|(name, value)| [name, value]);
    if parts.chain([&request.path]).any(|part| part.contains(char::is_control)) {
        return Err(Error::new("the request of the probe contains a control character"));
    }
    Ok(format!("GET /{path} HTTP/1.1\r\n{headers}\r\n"))
}

fn exchange(message: &str, host: &str, port: u16) -> io::Result<Vec<u8>> {
    let address = (host, port).to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&address, PROBE_TIMEOUT)?;
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
    stream.write_all(message.as_bytes())?;
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_ANSWER_BYTES)).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// The status code of `HTTP/1.1 200 OK`.
fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    words.next().filter(|word| word.starts_with("HTTP/"))?;
    words.next()?.parse().ok()
}
