//! The server on real sockets, and servers that it forwards to.

use super::demo;
use boson_dns::lookup::{self, Found};
use boson_dns::server::{Forwarder, PodSettings, State, read, serve_tcp, serve_udp, zone_of_pod};
use boson_dns::upcheck;
use boson_dns::zone::{AliasFiles, Zone};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinEncodable};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// A server with the deployment of the vectors, and these recursors.
async fn served(recursors: &[SocketAddr]) -> (SocketAddr, Arc<State>) {
    let mut zone = Zone::read(demo::DOCUMENT, &AliasFiles::new()).unwrap();
    zone.recursors = recursors.to_vec();
    let state = Arc::new(State::new(zone));
    let slices = demo::slices().into_iter().map(|slice| (slice.service.clone(), slice));
    state.put_all(slices.collect::<HashMap<_, _>>());
    let (udp, tcp) = loop {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        // A connection of another process may have the same port.
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
            break (udp, tcp);
        }
    };
    let address = udp.local_addr().unwrap();
    let forwarder = Arc::new(Forwarder::new("/nonexistent/resolv.conf".into()));
    tokio::spawn(serve_udp(Arc::new(udp), state.clone(), forwarder.clone()));
    tokio::spawn(serve_tcp(tcp, state.clone(), forwarder));
    (address, state)
}

/// A server elsewhere, which gives every question this code, or nothing at all; and how often it was asked.
async fn elsewhere(code: Option<ResponseCode>) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (address, count) = (socket.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let asked = count.clone();
    tokio::spawn(async move {
        let mut buffer = [0; 1024];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            asked.fetch_add(1, Ordering::Relaxed);
            let Some(code) = code else { continue };
            let mut message = Message::from_bytes(&buffer[..length]).unwrap();
            // An answer to another question is not accepted.
            let mut foreign = message.clone();
            foreign.metadata.id = foreign.metadata.id.wrapping_add(1);
            foreign.metadata.message_type = MessageType::Response;
            socket.send_to(&foreign.to_bytes().unwrap(), from).await.unwrap();
            message.metadata.message_type = MessageType::Response;
            message.metadata.response_code = code;
            socket.send_to(&message.to_bytes().unwrap(), from).await.unwrap();
        }
    });
    (address, count)
}

fn question(name: &str) -> Vec<u8> {
    let mut message = Message::new(4711, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    message.to_bytes().unwrap()
}

async fn ask(server: SocketAddr, name: &str) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&question(name), server).await.unwrap();
    let mut buffer = [0; 4096];
    let received = tokio::time::timeout(Duration::from_secs(20), socket.recv(&mut buffer)).await;
    let message = Message::from_bytes(&buffer[..received.unwrap().unwrap()]).unwrap();
    assert_eq!(message.metadata.id, 4711);
    message
}

async fn code(server: SocketAddr, name: &str) -> ResponseCode {
    ask(server, name).await.metadata.response_code
}

#[tokio::test]
async fn names_of_the_deployment_are_answered_over_udp_and_tcp() {
    let (server, _) = served(&[]).await;
    assert_eq!(ask(server, "web.service.internal.").await.answers.len(), 2);
    let mut stream = TcpStream::connect(server).await.unwrap();
    // Two questions over one connection.
    for name in ["web.service.internal.", "q-s4.web-ui.default.demo.bosh."] {
        let packet = question(name);
        stream.write_all(&(packet.len() as u16).to_be_bytes()).await.unwrap();
        stream.write_all(&packet).await.unwrap();
        let length = stream.read_u16().await.unwrap();
        let mut answer = vec![0; length.into()];
        stream.read_exact(&mut answer).await.unwrap();
        assert!(Message::from_bytes(&answer).unwrap().answers.len() >= 2, "{name}");
    }
    tokio::task::spawn_blocking(move || upcheck::wait(server, Duration::from_secs(5)))
        .await
        .unwrap()
        .unwrap();
}

/// A server over HTTP, which gives every request this answer, and the first lines of the requests.
async fn over_http(answer: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).await.unwrap();
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            seen.lock().push(text.lines().next().unwrap_or_default().to_string());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, requests)
}

#[tokio::test]
async fn a_pods_server_asks_the_server_of_a_domain_over_http_and_its_own_servers_about_others() {
    let body = r#"{"TC": false, "Answer": [{"type": 1, "TTL": 3, "data": "10.255.0.7"}, {"type": 1, "TTL": 3, "data": "10.255.0.8"}]}"#;
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let (url, requests) = over_http(answer.leak()).await;
    let (failing, _) = over_http("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n").await;
    let (recursor, count) = elsewhere(Some(ResponseCode::NoError)).await;
    let jobs = tempfile::tempdir().unwrap();
    let write = |job: &str, url: &str, domain: &str| {
        let directory = jobs.path().join(job).join("dns");
        std::fs::create_dir_all(&directory).unwrap();
        let text = serde_json::json!([{"domain": domain, "source": {"type": "http", "url": url}}]).to_string();
        std::fs::write(directory.join("handlers.json"), text).unwrap();
    };
    write("adapter", &url, "apps.internal.");
    write("broken", &failing, "broken.internal");
    // The first job by name decides.
    write("later", &failing, "apps.internal");
    let settings = PodSettings {
        jobs: jobs.path().into(),
        addresses: vec![[127, 0, 0, 1].into()],
        port: 0,
        resolv_conf: "/nonexistent".into(),
    };
    let mut zone = zone_of_pod(&settings).unwrap();
    assert_eq!(zone.excluded, [std::net::IpAddr::from([127, 0, 0, 1])]);
    zone.recursors = vec![recursor];
    let (server, state) = served(&[]).await;
    state.put_zone(zone);
    let found = ask(server, "web.Apps.internal.").await;
    let mut all: Vec<String> = found
        .answers
        .iter()
        .map(|one| format!("{} {}", one.ttl, one.data))
        .collect();
    all.sort();
    assert_eq!(all, ["3 10.255.0.7", "3 10.255.0.8"]);
    assert_eq!(*requests.lock(), ["GET /?name=web.Apps.internal.&type=1 HTTP/1.1"]);
    assert_eq!(code(server, "x.broken.internal.").await, ResponseCode::ServFail);
    assert_eq!(code(server, "web.service.internal.").await, ResponseCode::NoError);
    assert_eq!(count.load(Ordering::Relaxed), 1);
    // With a faulty file the server does not start, as in BOSH.
    write("adapter", "https://127.0.0.1", "apps.internal");
    assert!(
        zone_of_pod(&settings)
            .unwrap_err()
            .to_string()
            .contains("adapter/dns/handlers.json")
    );
}

#[tokio::test]
async fn the_next_server_is_asked_where_one_does_not_answer() {
    let (silent, silent_count) = elsewhere(None).await;
    let (failing, _) = elsewhere(Some(ResponseCode::ServFail)).await;
    let (good, good_count) = elsewhere(Some(ResponseCode::NoError)).await;
    let (server, _) = served(&[silent, failing, good]).await;
    let began = Instant::now();
    assert_eq!(code(server, "example.com.").await, ResponseCode::NoError);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(
        (silent_count.load(Ordering::Relaxed), good_count.load(Ordering::Relaxed)),
        (1, 1)
    );
    // While that one is open others are answered.
    let waiting = tokio::spawn(async move { code(server, "example.org.").await });
    let is_asked = async {
        while silent_count.load(Ordering::Relaxed) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), is_asked).await.unwrap();
    assert_eq!(code(server, "web.service.internal.").await, ResponseCode::NoError);
    assert_eq!(
        good_count.load(Ordering::Relaxed),
        1,
        "the other one is answered before"
    );
    assert_eq!(waiting.await.unwrap(), ResponseCode::NoError);
}

#[tokio::test]
async fn no_such_name_is_an_answer_and_no_answer_is_servfail() {
    let (none, _) = elsewhere(Some(ResponseCode::NXDomain)).await;
    let (other, other_count) = elsewhere(Some(ResponseCode::NoError)).await;
    let (server, _) = served(&[none, other]).await;
    assert_eq!(code(server, "example.com.").await, ResponseCode::NXDomain);
    assert_eq!(other_count.load(Ordering::Relaxed), 0);
    let (refusing, _) = elsewhere(Some(ResponseCode::Refused)).await;
    let (server, state) = served(&[refusing]).await;
    assert_eq!(code(server, "example.com.").await, ResponseCode::Refused);
    assert_eq!(state.tally.unanswered.load(Ordering::Relaxed), 0);
    let (server, state) = served(&[]).await;
    assert_eq!(code(server, "example.com.").await, ResponseCode::ServFail);
    assert_eq!(state.tally.unanswered.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn many_open_questions_do_not_keep_names_of_the_deployment_from_being_answered() {
    let (silent, _) = elsewhere(None).await;
    let (server, _) = served(&[silent]).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for number in 0..2000 {
        socket
            .send_to(&question(&format!("n{number}.example.com.")), server)
            .await
            .unwrap();
    }
    assert_eq!(code(server, "web.service.internal.").await, ResponseCode::NoError);
}

#[test]
fn a_zone_is_read_with_the_files_of_jobs_and_again_when_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    assert!(read(folder.path()).is_err());
    write("zone.json", demo::DOCUMENT);
    let (zone, first) = read(folder.path()).unwrap();
    assert_eq!(zone.aliases.get("more.s"), None);
    assert_eq!(read(folder.path()).unwrap().1, first);
    // An unreadable file and an invalid alias do not affect the others.
    write(
        "db.aliases.json",
        r#"{"adapter": {"more.s": ["*.db.default.demo.bosh"], "bad..s": ["x"]}}"#,
    );
    write("web.aliases.json", "{");
    let (zone, second) = read(folder.path()).unwrap();
    assert_ne!(first, second);
    assert_eq!(zone.aliases.get("more.s").unwrap(), ["*.db.default.demo.bosh"]);
    assert_eq!(zone.aliases.get("bad..s"), None);
    write("zone.json", "{}");
    assert!(read(folder.path()).unwrap_err().to_string().contains("zone.json"));
}

/// Checks no limit: prints the time per question with a thousand aliases (`--nocapture`).
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_aliases_are_answered_as_fast_as_one() {
    let mut document: serde_json::Value = serde_json::from_str(demo::DOCUMENT).unwrap();
    for number in 0..1000 {
        document["aliases"][format!("a{number}.service.internal")] = serde_json::json!(["*.web-ui.default.demo.bosh"]);
    }
    let (server, state) = served(&[]).await;
    state.put_zone(Zone::read(&document.to_string(), &AliasFiles::new()).unwrap());
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (mut times, mut buffer) = (Vec::new(), [0; 512]);
    for number in 0..1000 {
        let began = Instant::now();
        socket
            .send_to(&question(&format!("a{number}.service.internal.")), server)
            .await
            .unwrap();
        socket.recv(&mut buffer).await.unwrap();
        times.push(began.elapsed());
    }
    times.sort();
    let (half, most) = (times[500], times[990]);
    #[allow(clippy::print_stderr, reason = "the result is for readers of --nocapture")]
    {
        eprintln!("1,000 aliases: median {half:?}, p99 {most:?}");
    }
    assert!(half < Duration::from_millis(20), "{half:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_waits_learns_whether_a_group_has_ready_instances() {
    let (server, _) = served(&[]).await;
    for (group, found) in [
        ("web-ui", Found::Addresses),
        ("cell", Found::Addresses),
        ("batch", Found::Nothing),
        ("db", Found::Nothing),
        ("nobody", Found::NoSuchName),
    ] {
        let query = format!("q-s3.{group}.*.demo.bosh");
        let asked = tokio::task::spawn_blocking(move || lookup::ask(server, &query));
        assert_eq!(asked.await.unwrap().unwrap(), found, "{group}");
    }
}
