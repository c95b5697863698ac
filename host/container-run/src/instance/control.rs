//! A socket of each process's container: `bpm` and `monit` in a script's container ask for a start or a stop there.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Context, Error, Result};

/// How long to wait for a container: longer than a BPM stop (17 s), a start program of monit and its stop program
/// together.
const CONTAINER_TIMEOUT: Duration = Duration::from_secs(600);
/// Scripts of a pod that ask at the same time.
const MAX_CLIENTS: usize = 16;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Start the process, where it was stopped.
    Start,
    /// Stop the process and leave it stopped.
    Stop,
    /// Stop it and start it again.
    Restart,
}

const REQUEST_WORDS: [(Request, &str); 3] = [
    (Request::Start, "start"),
    (Request::Stop, "stop"),
    (Request::Restart, "restart"),
];

/// The socket, and the connections that wait for an answer.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    asking: Vec<UnixStream>,
    waiting: Vec<UnixStream>,
}

// === impl Control ===

impl Control {
    /// Makes the socket. Only root, and the user of the process, may connect.
    pub fn listen(directory: &Path, job: &str, process: &str) -> Result<Self> {
        let path = socket(directory, job, process);
        // Left by an earlier container, whose lock is released.
        drop(fs::remove_file(&path));
        let listener = UnixListener::bind(&path).path_context("listening on", &path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).path_context("protecting", &path)?;
        listener.set_nonblocking(true).path_context("listening on", &path)?;
        Ok(Self {
            listener,
            asking: Vec::new(),
            waiting: Vec::new(),
        })
    }

    /// The descriptors to poll: the listener, and connections that wait for an answer.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // At the limit no more connections are accepted, so the listener must not be polled: poll would return at once,
        // again and again.
        let listener = self.has_room().then(|| self.listener.as_fd());
        listener.into_iter().chain(self.asking.iter().map(AsFd::as_fd))
    }

    /// What was asked for since the last call.
    pub fn requests(&mut self) -> Vec<Request> {
        while self.has_room() {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                self.asking.push(stream);
            }
        }
        let mut requests = Vec::new();
        for mut stream in std::mem::take(&mut self.asking) {
            let mut word = [0; 16];
            match stream.read(&mut word) {
                Ok(count) => {
                    let word = String::from_utf8_lossy(&word[..count]);
                    if let Some((request, _)) = REQUEST_WORDS.iter().find(|(_, known)| *known == word.trim_end()) {
                        requests.push(*request);
                        self.waiting.push(stream);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.asking.push(stream),
                Err(_) => {}
            }
        }
        requests
    }

    fn has_room(&self) -> bool {
        self.asking.len() + self.waiting.len() < MAX_CLIENTS
    }

    /// Answers all who wait.
    pub fn answer(&mut self, text: &str) {
        for mut stream in self.waiting.drain(..) {
            // One line fits into a socket's buffer; a closed connection needs no answer.
            drop(stream.write_all(format!("{text}\n").as_bytes()));
        }
    }
}

/// Sends a request to the container of a process, and waits for its answer.
pub fn ask(directory: &Path, job: &str, process: &str, request: Request) -> Result<()> {
    let path = socket(directory, job, process);
    let word = REQUEST_WORDS
        .iter()
        .find(|(known, _)| *known == request)
        .map_or("", |(_, word)| word);
    let answer = || -> io::Result<String> {
        let mut stream = UnixStream::connect(&path)?;
        stream.set_read_timeout(Some(CONTAINER_TIMEOUT))?;
        stream.write_all(word.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(4096)).read_line(&mut line)?;
        Ok(line)
    };
    let answer =
        answer().map_err(|error| Error::new(format!("the container of {job}/{process} does not respond: {error}")))?;
    match answer.trim_end() {
        "ok" => Ok(()),
        "" => Err(Error::new(format!("the container of {job}/{process} stopped"))),
        text => Err(Error::new(text)),
    }
}

/// The path of a socket has at most 107 bytes, names of jobs and processes may have more.
fn socket(directory: &Path, job: &str, process: &str) -> PathBuf {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in job.bytes().chain([b'/']).chain(process.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    directory.join(format!("{hash:016x}.sock"))
}
