//! A fake registry that sends the responses of a test, byte by byte.

use boson_oci::Digest;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

pub struct Request {
    pub method: String,
    /// Path and query.
    pub path: String,
    pub authorization: Option<String>,
}

/// Serves until the test's process ends; each connection has one request. `answer` writes the whole answer, head
/// included.
pub fn serve(answer: impl Fn(&Request, &mut TcpStream, SocketAddr) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut lines = reader.by_ref().lines();
                let first = lines.next().unwrap().unwrap();
                let mut first = first.split(' ').map(ToOwned::to_owned);
                let mut request = Request {
                    method: first.next().unwrap(),
                    path: first.next().unwrap(),
                    authorization: None,
                };
                let mut length = 0;
                for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
                    match line.split_once(": ") {
                        Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                            request.authorization = Some(value.to_owned());
                        }
                        Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                            length = value.parse().unwrap();
                        }
                        _ => {}
                    }
                }
                // A client that still sends would see a broken connection instead of the answer.
                let _ = std::io::copy(&mut reader.take(length), &mut std::io::sink());
                answer(&request, &mut stream, address);
            });
        }
    });
    address
}

/// Writes an answer: status, further headers (each with its line end), body.
pub fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
    // The client may have disconnected.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// The manifest of an image of these layers.
pub fn manifest(layers: &[&[u8]]) -> Vec<u8> {
    let described: Vec<String> = layers
        .iter()
        .map(|layer| {
            let (digest, size) = (digest(layer), layer.len());
            let media_type = "application/vnd.oci.image.layer.v1.tar";
            format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size}}}"#)
        })
        .collect();
    let empty = r#"{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}"#;
    let text = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{empty},"layers":[{}]}}"#,
        described.join(",")
    );
    text.into_bytes()
}

pub fn digest(bytes: &[u8]) -> Digest {
    boson_oci::digest(bytes)
}

/// A layer, not compressed, with these files.
pub fn layer(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *content).unwrap();
    }
    archive.into_inner().unwrap()
}
