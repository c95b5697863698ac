//! monit's port: what its clients, the galera-agent and the BOSH agent, send and read there, and what other processes
//! of a pod may try.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::pod::{Container, Pod, until};

/// The credentials of every VM, `vcap:random-password`.
const USER: &str = "Authorization: Basic dmNhcDpyYW5kb20tcGFzc3dvcmQ=\r\n";

struct Monit {
    port: u16,
    /// Ends with the test.
    container: Container,
}

impl Monit {
    /// The sidecar of a pod, on a free port: pods of tests share the machine's.
    fn of(pod: &Pod) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let container = pod.start(&["monit-http", "--port", &port.to_string()]);
        until("an open port", || is_open(port));
        Self { port, container }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn send(&self, text: &str) -> String {
        let mut stream = self.connect();
        // The server may close the connection before it has read everything.
        drop(stream.write_all(text.as_bytes()));
        rest(stream)
    }

    fn get(&self, target: &str) -> String {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n{USER}\r\n"))
    }

    /// As the clients send it: a form.
    fn post(&self, service: &str, form: &str) -> String {
        let length = form.len();
        self.send(&format!(
            "POST /{service} HTTP/1.1\r\nHost: a\r\n{USER}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
        ))
    }

    /// `monitor`, `status` and `pendingaction` of a service, by which clients distinguish states.
    fn state(&self, service: &str) -> [u16; 3] {
        let text = self.get("/_status?format=xml");
        let name = format!("<name>{service}</name>");
        let (_, service) = text.split_once(&name).unwrap_or_else(|| panic!("{text}"));
        ["monitor", "status", "pendingaction"].map(|member| {
            let (_, value) = service.split_once(&format!("<{member}>")).unwrap();
            value[..value.find('<').unwrap()].parse().unwrap()
        })
    }

    fn reaches(&self, service: &str, state: [u16; 3]) {
        until(&format!("{service} {state:?}"), || self.state(service) == state);
    }
}

fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // A closed connection may discard the end of an answer to a request that was too long.
    drop(stream.read_to_string(&mut text));
    text
}

const RUNNING: [u16; 3] = [1, 0, 0];
const STOPPED: [u16; 3] = [0, 0, 0];
const NOT_RUNNING: [u16; 3] = [1, 512, 0];

const MAY_EXIT: &str = "may-exit";

/// A job with a process that is stopped when the pod has the file [`MAY_EXIT`].
fn slow_job() -> (Pod, Container) {
    let pod = Pod::new();
    pod.job(
        "db",
        &format!(
            "trap 'until [ -e $POD/{MAY_EXIT} ]; do sleep 0.05; done; exit 0' TERM
            echo started; while :; do sleep 0.1; done"
        ),
        json!({}),
    );
    let container = pod.process("db");
    container.says("started");
    (pod, container)
}

#[test]
fn a_process_is_stopped_and_started_as_by_the_galera_agent() {
    let (pod, mut container) = slow_job();
    let monit = Monit::of(&pod);
    monit.reaches("db", RUNNING);
    assert!(monit.post("db", "action=stop").starts_with("HTTP/1.1 200 OK\r\n"));
    // The response is immediate; the status contains the pending action.
    assert_eq!(monit.state("db"), [1, 0, 3]);
    // monit takes no other action before that; the same one again is harmless.
    assert!(monit.post("db", "action=start").starts_with("HTTP/1.1 503 "));
    assert!(monit.post("db", "action=stop").starts_with("HTTP/1.1 200 "));
    fs::write(pod.path(MAY_EXIT), "").unwrap();
    monit.reaches("db", STOPPED);
    assert!(!container.has_ended());
    assert!(monit.post("db", "action=start").starts_with("HTTP/1.1 200 "));
    monit.reaches("db", RUNNING);
    let starts = |count| until("a start", || container.output().lines().count() == count);
    // A process that exits before its shell has set its trap has no output.
    starts(2);
    assert!(monit.post("db", "action=restart").starts_with("HTTP/1.1 200 "));
    starts(3);
    monit.reaches("db", RUNNING);
    // The kubelet restarts containers, regardless of requests to monit.
    assert!(monit.post("db", "action=unmonitor").starts_with("HTTP/1.1 200 "));
    assert_eq!(monit.state("db"), RUNNING);
    container.stop();
    assert_eq!(monit.state("db"), NOT_RUNNING);
}

#[test]
fn a_stop_waits_for_a_container_that_the_kubelet_starts_again() {
    let (pod, mut container) = slow_job();
    let monit = Monit::of(&pod);
    let pid = pod
        .read("sys/run/bpm/db/db.pid")
        .trim()
        .parse()
        .ok()
        .and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::KILL).unwrap();
    assert_eq!(container.wait(), 137);
    monit.reaches("db", NOT_RUNNING);
    assert!(monit.post("db", "action=stop").starts_with("HTTP/1.1 200 "));
    assert_eq!(monit.state("db"), [1, 512, 3]);
    fs::write(pod.path(MAY_EXIT), "").unwrap();
    let mut container = pod.process("db");
    monit.reaches("db", STOPPED);
    assert!(!container.has_ended());
    // One that is already stopped.
    assert!(monit.post("db", "action=stop").starts_with("HTTP/1.1 200 "));
    monit.reaches("db", STOPPED);
}

#[test]
fn the_newer_status_lists_the_group_that_the_bosh_agent_reads() {
    let (pod, _container) = slow_job();
    let monit = Monit::of(&pod);
    monit.reaches("db", RUNNING);
    let text = monit.get("/_status2?format=xml");
    assert!(text.contains("\r\nContent-Type: text/xml\r\n"), "{text}");
    assert!(
        text.contains("<services><service name=\"db\"><type>3</type><status>0</status>"),
        "{text}"
    );
    assert!(
        text.contains("<servicegroup name=\"vcap\"><service>db</service></servicegroup>"),
        "{text}"
    );
    let text = monit.get("/_status");
    assert!(text.contains("\nProcess 'db'"), "{text}");
    assert!(text.trim_end().ends_with(" running"), "{text}");
}

#[test]
fn strangers_and_mistakes_are_refused() {
    let (pod, _container) = slow_job();
    let monit = Monit::of(&pod);
    monit.reaches("db", RUNNING);
    let wrong = "Authorization: Basic dmNhcDp3cm9uZw==\r\n";
    for user in ["", wrong, "Authorization: Bearer dmNhcDpyYW5kb20tcGFzc3dvcmQ=\r\n"] {
        for request in ["GET /_status?format=xml", "POST /db?action=stop", "GET /nothing"] {
            let text = monit.send(&format!("{request} HTTP/1.1\r\n{user}\r\n"));
            assert!(text.starts_with("HTTP/1.1 401 "), "{request} {user}: {text}");
            assert!(text.contains("\r\nWWW-Authenticate: Basic realm=\"monit\"\r\n"));
            assert!(!text.contains("db"));
        }
    }
    for (answer, status) in [
        (monit.post("other", "action=stop"), 404),
        (monit.post("", "action=stop"), 404),
        (monit.post("../db", "action=stop"), 404),
        (monit.get("/"), 404),
        (monit.get("/db"), 404),
        (monit.post("db", "action=exec"), 400),
        (monit.post("db", ""), 400),
        (monit.send("DELETE /db HTTP/1.1\r\n\r\n"), 501),
        (monit.send("nonsense\r\n\r\n"), 400),
    ] {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
    }
    assert_eq!(monit.state("db"), RUNNING);
}

#[test]
fn no_client_can_keep_others_out_or_take_memory() {
    let (pod, _container) = slow_job();
    let mut monit = Monit::of(&pod);
    monit.reaches("db", RUNNING);
    // A head and a body that are too long.
    let long = "a".repeat(1 << 20);
    let text = monit.send(&format!("GET / HTTP/1.1\r\nA: {long}\r\n\r\n"));
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 413 "), "{text}");
    let text = monit.send("POST /db HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
    // Clients that send slowly, or nothing; more of them than there are connections.
    let mut slow: Vec<TcpStream> = (0..200).map(|_| monit.connect()).collect();
    slow.iter_mut()
        .for_each(|stream| drop(stream.write_all(b"GET /_status HTTP/1.1\r\n")));
    let start = Instant::now();
    assert_eq!(monit.state("db"), RUNNING);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    // A client that never reads its answers, and one that never ends.
    for _ in 0..50 {
        let mut stream = monit.connect();
        drop(stream.write_all(format!("GET /_status?format=xml HTTP/1.1\r\n{USER}\r\n").as_bytes()));
        slow.push(stream);
    }
    let mut endless = monit.connect();
    while endless.write_all(&[b'a'; 4096]).is_ok() {
        assert!(start.elapsed() < Duration::from_secs(30));
    }
    let descriptors = || {
        fs::read_dir(format!("/proc/{}/fd", monit.container.pid().as_raw_nonzero()))
            .unwrap()
            .count()
    };
    assert!(descriptors() < 40, "{}", descriptors());
    // The last ones, which nothing has replaced, are closed by the time.
    let last = slow.pop().unwrap();
    drop(last.shutdown(Shutdown::Write));
    let waiting = monit.connect();
    assert_eq!(rest(waiting), "");
    assert!(start.elapsed() < Duration::from_secs(20));
    let resident = resident(&monit.container);
    println!("resident: {resident} KiB");
    assert!(resident < 3 << 10, "{resident} KiB");
    assert_eq!(monit.state("db"), RUNNING);
    assert_eq!(monit.container.stop(), 0);
}

/// Whether a server listens: without one, a connection to a port of this range can be made with itself.
fn is_open(port: u16) -> bool {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    stream.is_ok_and(|stream| stream.local_addr().unwrap() != stream.peer_addr().unwrap())
}

/// KiB of memory that only this process has: the test's binary is not the static one, and libraries are shared.
fn resident(container: &Container) -> u64 {
    let path = format!("/proc/{}/status", container.pid().as_raw_nonzero());
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_port_that_is_used_is_tried_again() {
    let pod = Pod::new();
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let mut container = pod.start(&["monit-http", "--port", &port.to_string()]);
    until("a message", || {
        container.error().contains(&format!("listening on port {port}: "))
    });
    assert!(!container.has_ended());
    drop(other);
    until("an open port", || is_open(port));
    assert_eq!(container.stop(), 0);
}
