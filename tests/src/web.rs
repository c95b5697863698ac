//! Requests to web servers, each over a connection of its own: one, and many in a row.

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// For a request as a whole.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Between the end of a request and the next one.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);
/// Errors that are kept.
const MAX_ERRORS: usize = 5;

/// The content of a page.
///
/// # Errors
/// The server cannot be reached, or the answer is none, an error, or not complete.
pub fn get(server: SocketAddr, path: &str) -> Result<String> {
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&server, REQUEST_TIMEOUT)?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    // The timeouts of the stream are those of one step.
    ensure!(
        began.elapsed() < REQUEST_TIMEOUT,
        "answered after {:?}",
        began.elapsed()
    );
    let (head, content) = answer.split_once("\r\n\r\n").context("no answer")?;
    ensure!(head.split(' ').nth(1) == Some("200"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    ensure!(
        length.is_none_or(|length| length == content.len().to_string()),
        "{} bytes of {length:?}",
        content.len()
    );
    Ok(content.to_owned())
}

/// A client that asks for a page again and again, until it is dropped.
#[derive(Debug)]
pub struct Client {
    record: Arc<Mutex<Record>>,
    thread: Option<JoinHandle<()>>,
}

/// Requests that have ended, and those of them without an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub sent: u64,
    pub lost: u64,
}

#[derive(Debug, Default)]
struct Record {
    count: Count,
    /// The last ones.
    errors: VecDeque<String>,
    is_over: bool,
}

// === impl Client ===

impl Client {
    pub fn start(server: SocketAddr, path: &'static str) -> Self {
        let record = Arc::<Mutex<Record>>::default();
        let its = Arc::clone(&record);
        let run = move || {
            while !its.lock().is_over {
                let answer = get(server, path);
                its.lock().add(answer);
                thread::sleep(REQUEST_INTERVAL);
            }
        };
        Self {
            record,
            thread: Some(thread::spawn(run)),
        }
    }

    pub fn count(&self) -> Count {
        self.record.lock().count
    }

    /// The last errors, a line each.
    pub fn errors(&self) -> String {
        Vec::from(self.record.lock().errors.clone()).join("\n")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.record.lock().is_over = true;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

// === impl Record ===

impl Record {
    fn add(&mut self, answer: Result<String>) {
        self.count.sent += 1;
        if let Err(error) = answer {
            self.count.lost += 1;
            self.errors.truncate(MAX_ERRORS - 1);
            self.errors
                .push_front(format!("request {}: {error:#}", self.count.sent));
        }
    }
}
