//! Questions to a server with BOSH's interface over HTTP: `GET <url>/?name=<name>&type=<number>`. The adapter of Cloud
//! Foundry for the internal domains of apps is one.

use crate::lookup::ADDRESS_TYPES;
use crate::wire::{GivenRecord, question_of};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::HOST;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::error::Error;
use std::fmt::Write as _;
use std::net::IpAddr;
use tokio::net::TcpStream;

/// Largest answer: as many addresses as fit into an answer over TCP.
const MAX_BODY_BYTES: usize = 512 << 10;
const HTTP_PORT: u16 = 80;

#[derive(Deserialize)]
struct Reply {
    #[serde(rename = "Answer", default)]
    answers: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type", default)]
    kind: u16,
    #[serde(rename = "TTL", default)]
    ttl: u32,
    #[serde(default)]
    data: String,
}

/// The addresses that the server has for a question. None: it does not know the name, or has no address of this type.
pub(super) async fn ask(url: &str, packet: &[u8]) -> Result<Vec<GivenRecord>, Box<dyn Error + Send + Sync>> {
    let (name, kind) = question_of(packet).ok_or("no question")?;
    let uri: Uri = url.parse()?;
    let authority = uri.authority().ok_or("no host")?;
    let host = authority.host().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(HTTP_PORT))).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    // It ends with the sender.
    tokio::spawn(connection);
    let target = format!(
        "{}/?name={}&type={kind}",
        uri.path().trim_end_matches('/'),
        encoded(&name)
    );
    let request = Request::get(target)
        .header(HOST, authority.as_str())
        .body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await?;
    Ok(records(&body.to_bytes(), kind)?)
}

fn records(body: &[u8], asked: u16) -> serde_json::Result<Vec<GivenRecord>> {
    let reply: Reply = serde_json::from_slice(body)?;
    let given = |entry: Entry| {
        let ip: IpAddr = entry.data.parse().ok()?;
        let kind = if ip.is_ipv4() {
            ADDRESS_TYPES[0]
        } else {
            ADDRESS_TYPES[1]
        };
        let fits = entry.kind == kind && entry.kind == asked;
        fits.then_some(GivenRecord { ip, ttl: entry.ttl })
    };
    Ok(reply.answers.into_iter().flatten().filter_map(given).collect())
}

/// A name as a value of a query.
fn encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            out.push(byte.into());
        } else {
            // Writing to a text never fails.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_asked_type_are_read() {
        let body = br#"{"Status": 0, "TC": false, "Answer": [{"name": "a.", "type": 1, "TTL": 7, "data": "10.0.0.1"},
            {"type": 1, "data": "x"}, {"type": 28, "data": "::1"}, {"type": 1, "data": "::1"}, {"type": 5, "data": "b."}]}"#;
        let first = GivenRecord {
            ip: [10, 0, 0, 1].into(),
            ttl: 7,
        };
        assert_eq!(records(body, 1).unwrap(), [first]);
        assert_eq!(records(body, 28).unwrap().len(), 1);
        assert_eq!(records(b"{\"Status\": 3, \"Answer\": null}", 1).unwrap(), []);
        assert!(records(b"<html>", 1).is_err());
    }

    #[test]
    fn names_cannot_add_parameters() {
        assert_eq!(encoded("a_b-c.apps.internal."), "a_b-c.apps.internal.");
        assert_eq!(encoded("a&type=1 #"), "a%26type%3D1%20%23");
    }
}
