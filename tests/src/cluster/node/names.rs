//! The cluster's DNS: Services by their full names. A real server would be one more program to build; this one asks the
//! API server, for each name once a second at most.

use super::super::client::{connect, twice};
use crate::runtime::finish;
use anyhow::{Context, Result};
use kube::Client;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Domain of the names of Services.
const ENDING: &str = ".svc.cluster.local";
/// Length of a message's header, in bytes.
const HEADER_BYTES: usize = 12;

/// How long an answer is repeated. CoreDNS repeats them for 5 s or longer, so no test can expect newer ones.
const ANSWER_TTL: Duration = Duration::from_secs(1);
/// Names with answers. More are not remembered: the map is emptied then.
const MAX_NAMES: usize = 1000;

/// How long a server that is dropped may still wait for a query.
const READ_TIMEOUT: Duration = Duration::from_millis(200);

/// A server; it ends when this is dropped, so that the next cluster of this process can use the address.
#[derive(Debug)]
pub(super) struct Server {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What was found for a name, and when it was asked for.
type Found = Option<(Instant, Vec<Ipv4Addr>)>;

/// The last answer for each name.
#[derive(Debug, Default)]
struct Answers {
    names: Mutex<HashMap<String, Arc<Mutex<Found>>>>,
}

// === impl Answers ===

impl Answers {
    /// The answer for a name. Queries for the same name wait for the first one, others do not.
    fn get(&self, name: &str, now: Instant, ask: impl FnOnce() -> Vec<Ipv4Addr>) -> Vec<Ipv4Addr> {
        let entry = self.entry(name);
        let mut found = entry.lock();
        if let Some((asked, addresses)) = &*found
            && now.saturating_duration_since(*asked) < ANSWER_TTL
        {
            return addresses.clone();
        }
        let addresses = ask();
        *found = Some((now, addresses.clone()));
        addresses
    }

    fn entry(&self, name: &str) -> Arc<Mutex<Found>> {
        let mut names = self.names.lock();
        if names.len() >= MAX_NAMES {
            names.clear();
        }
        names.entry(name.to_string()).or_default().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers at port 53 of this address.
///
/// # Errors
/// The port is in use, or the kubeconfig file cannot be read.
pub(super) fn serve(address: Ipv4Addr, kubeconfig: PathBuf) -> Result<Server> {
    let client = finish(connect(kubeconfig))?;
    let socket = UdpSocket::bind((address, 53)).with_context(|| format!("cannot answer names at {address}"))?;
    socket.set_read_timeout(Some(READ_TIMEOUT))?;
    let stopped = Arc::new(AtomicBool::new(false));
    let (stops, answers) = (stopped.clone(), Arc::new(Answers::default()));
    let thread = thread::spawn(move || {
        let mut buffer = [0; 512];
        while !stops.load(Ordering::Relaxed) {
            // An error is the timeout, or about an answer to a pod that has ended.
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            let (packet, answers, client) = (buffer[..length].to_vec(), answers.clone(), client.clone());
            let Ok(socket) = socket.try_clone() else { return };
            thread::spawn(move || {
                if let Some(answer) = answer(&packet, |service, namespace| {
                    answers.get(&format!("{service}.{namespace}"), Instant::now(), || {
                        ask(&client, service, namespace)
                    })
                }) {
                    // A deleted pod waits for no answer.
                    let _ = socket.send_to(&answer, from);
                }
            });
        }
    });
    Ok(Server {
        stopped,
        thread: Some(thread),
    })
}

/// The answer to a question; `find` returns the addresses for Service and namespace.
fn answer(packet: &[u8], find: impl Fn(&str, &str) -> Vec<Ipv4Addr>) -> Option<Vec<u8>> {
    let (name, end) = name(packet)?;
    let kind = packet.get(end..end + 2)?;
    let question = packet.get(HEADER_BYTES..end + 4)?;
    // With search domains, resolvers also ask for such a name below other names.
    let service = name.strip_suffix(ENDING).and_then(|rest| rest.split_once('.'));
    let service = service.filter(|(_, namespace)| !namespace.contains('.'));
    let found = service
        .map(|(service, namespace)| find(service, namespace))
        .unwrap_or_default();
    let mut reply = packet.get(..2)?.to_vec();
    // A name that exists, exists for all types.
    let code = if found.is_empty() { 0x83 } else { 0x80 };
    let addresses = if kind == [0, 1] { found } else { Vec::new() };
    reply.extend([
        0x84 | (packet.get(2)? & 1),
        code,
        0,
        1,
        0,
        u8::try_from(addresses.len()).ok()?,
        0,
        0,
        0,
        0,
    ]);
    reply.extend(question);
    for address in addresses {
        reply.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        reply.extend(address.octets());
    }
    Some(reply)
}

/// The name of the first question in lower case, and its end.
fn name(packet: &[u8]) -> Option<(String, usize)> {
    let (mut labels, mut at) = (Vec::new(), HEADER_BYTES);
    loop {
        let length = usize::from(*packet.get(at)?);
        let label = packet.get(at + 1..at + 1 + length).filter(|_| length < 64)?;
        at += length + 1;
        if length == 0 {
            return Some((labels.join(".").to_lowercase(), at));
        }
        labels.push(String::from_utf8_lossy(label).into_owned());
    }
}

/// The address of a Service, or those of its pods if it is headless.
fn ask(client: &Client, service: &str, namespace: &str) -> Vec<Ipv4Addr> {
    // Without an answer, the name does not exist for the pod that asks.
    let get = |path: String| get(client, &path).unwrap_or_default();
    let object = get(format!("/api/v1/namespaces/{namespace}/services/{service}"));
    let address = object["spec"]["clusterIP"].as_str().unwrap_or_default();
    if address != "None" {
        return address.parse().into_iter().collect();
    }
    let slices = get(format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices\
         ?labelSelector=kubernetes.io/service-name%3D{service}"
    ));
    let endpoints = items(&slices["items"]).flat_map(|slice| items(&slice["endpoints"]));
    let addresses = endpoints.flat_map(|endpoint| items(&endpoint["addresses"]));
    addresses.filter_map(|address| address.as_str()?.parse().ok()).collect()
}

fn get(client: &Client, path: &str) -> Result<Value> {
    twice(|| {
        let (client, request) = (client.clone(), http::Request::get(path).body(Vec::new()));
        async move { client.request(request.map_err(kube::Error::HttpError)?).await }
    })
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str) -> Vec<u8> {
        let mut question = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            question.push(label.len() as u8);
            question.extend(label.bytes());
        }
        question.extend([0, 0, 1, 0, 1]);
        question
    }

    #[test]
    fn a_name_is_asked_for_once_a_second() {
        let (answers, now) = (Answers::default(), Instant::now());
        let get = |name: &str, now, address| answers.get(name, now, || vec![address]);
        let (old, new) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(get("web.ns", now, old), [old]);
        assert_eq!(get("web.ns", now + ANSWER_TTL / 2, new), [old]);
        assert_eq!(get("web.other", now, new), [new]);
        assert_eq!(get("web.ns", now + ANSWER_TTL, new), [new]);
        for number in 0..2 * MAX_NAMES {
            get(&number.to_string(), now, old);
        }
        assert!(answers.names.lock().len() <= MAX_NAMES);
    }

    #[test]
    fn a_name_below_the_name_of_a_service_is_not_asked_for() {
        let question = question("web.ns.svc.cluster.local.ns.svc.cluster.local");
        let found = answer(&question, |service, namespace| unreachable!("{service} {namespace}")).unwrap();
        assert_eq!((found[3] & 0x0f, found[7]), (3, 0));
    }

    #[test]
    fn a_service_is_found_by_its_full_name() {
        let question = question("web.ns.svc.cluster.local");
        let found = answer(&question, |service, namespace| {
            assert_eq!((service, namespace), ("web", "ns"));
            vec![Ipv4Addr::new(10, 0, 0, 1)]
        });
        let found = found.unwrap();
        assert_eq!(
            (found[3] & 0x0f, found[7], &found[found.len() - 4..]),
            (0, 1, &[10, 0, 0, 1][..])
        );
        let none = answer(&question, |_, _| Vec::new()).unwrap();
        assert_eq!((none[3] & 0x0f, none[7]), (3, 0));
        assert_eq!(answer(&question[..20], |_, _| Vec::new()), None);
    }
}
