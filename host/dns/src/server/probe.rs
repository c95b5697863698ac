//! The HTTP endpoints for the kubelet and for Prometheus: `/live`, `/ready`, `/metrics`.

use super::{State, Tally};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

const MAX_CLIENTS: usize = 16;
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_LINE_BYTES: usize = 1_024;

/// Answers until it is dropped. It reads only the first line of a request, which needs no HTTP library.
pub(super) async fn serve(listener: TcpListener, state: Arc<State>) {
    let places = Arc::new(Semaphore::new(MAX_CLIENTS));
    loop {
        let (Ok((stream, _)), Ok(place)) = (listener.accept().await, places.clone().acquire_owned().await) else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let state = state.clone();
        tokio::spawn(async move {
            // A client that is too slow, or disconnects, gets no answer.
            let _ = tokio::time::timeout(CLIENT_TIMEOUT, answer(stream, &state)).await;
            drop(place);
        });
    }
}

async fn answer(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    let (mut head, mut buffer) = (Vec::new(), [0; 256]);
    while !head.contains(&b'\n') && head.len() < MAX_LINE_BYTES {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            length => head.extend_from_slice(&buffer[..length]),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split_whitespace();
    let (code, body) = match (words.next(), words.next()) {
        (Some("GET" | "HEAD"), Some("/live")) => ("200 OK", "ok\n".to_string()),
        (Some("GET" | "HEAD"), Some("/ready")) if state.is_complete() => ("200 OK", "ok\n".to_string()),
        (Some("GET" | "HEAD"), Some("/ready")) => {
            ("503 Service Unavailable", "the pods are not listed yet\n".to_string())
        }
        (Some("GET" | "HEAD"), Some("/metrics")) => ("200 OK", metrics(state)),
        _ => ("404 Not Found", String::new()),
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {code}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

fn metrics(state: &State) -> String {
    let Tally {
        answered,
        forwarded,
        unanswered,
        unreadable,
    } = &state.tally;
    let mut text = String::new();
    for (name, help, value) in [
        ("answered", "Questions answered by this server.", answered),
        ("forwarded", "Questions forwarded to other servers.", forwarded),
        ("unanswered", "Forwarded questions that no server answered.", unanswered),
        ("unreadable", "Failed reads of the zone.", unreadable),
    ] {
        let value = value.load(Ordering::Relaxed);
        // Writing to a text never fails.
        let _ = write!(
            text,
            "# HELP boson_dns_{name}_total {help}\n# TYPE boson_dns_{name}_total counter\nboson_dns_{name}_total {value}\n"
        );
    }
    text
}
