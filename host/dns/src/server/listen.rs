//! Sockets: questions in, answers out.

use super::framing::{read, write};
use super::{Forwarder, State};
use crate::wire::{MAX_QUESTION_BYTES, Outcome, Way};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::AbortHandle;

const MAX_CONNECTIONS: usize = 128;
/// How long a connection may be idle, and how long it may take an answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause where the system has no sockets or buffers left.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Answers packets until it is dropped.
pub async fn serve_udp(socket: Arc<UdpSocket>, state: Arc<State>, forwarder: Arc<Forwarder>) {
    let mut buffer = vec![0; MAX_QUESTION_BYTES + 1];
    loop {
        let (length, from) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                // An ICMP error about an earlier answer, or no buffers: both are temporary.
                tracing::debug!(%error, "cannot receive");
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            }
        };
        match state.answer(&buffer[..length], Way::Udp) {
            Outcome::Dropped => {}
            Outcome::Reply(bytes) => send(&socket, &bytes, from).await,
            Outcome::Forward(asked) => {
                let Some(permit) = forwarder.try_acquire() else {
                    send(&socket, &asked.failed, from).await;
                    continue;
                };
                let (socket, state, forwarder) = (socket.clone(), state.clone(), forwarder.clone());
                let packet = buffer[..length].to_vec();
                tokio::spawn(async move {
                    let bytes = forwarder.ask(&state, &packet, asked, Way::Udp).await;
                    send(&socket, &bytes, from).await;
                    drop(permit);
                });
            }
        }
    }
}

async fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
    if let Err(error) = socket.send_to(bytes, to).await {
        tracing::debug!(%error, "cannot send");
    }
}

/// Answers connections until it is dropped.
pub async fn serve_tcp(listener: TcpListener, state: Arc<State>, forwarder: Arc<Forwarder>) {
    let mut clients: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        };
        clients.retain(|client| !client.is_finished());
        if clients.len() >= MAX_CONNECTIONS {
            // Drop the oldest: if the newest were refused, idle connections could lock out all other clients.
            clients.pop_front().into_iter().for_each(|client| client.abort());
        }
        let (state, forwarder) = (state.clone(), forwarder.clone());
        let client = tokio::spawn(async move {
            if let Err(error) = serve_one(stream, &state, &forwarder).await {
                tracing::debug!(%error, "a client disconnected");
            }
        });
        clients.push_back(client.abort_handle());
    }
}

/// One question after the other, until the client is silent for too long.
async fn serve_one(mut stream: TcpStream, state: &State, forwarder: &Forwarder) -> std::io::Result<()> {
    loop {
        let Some(packet) = within(read(&mut stream)).await? else {
            return Ok(());
        };
        let bytes = match state.answer(&packet, Way::Tcp) {
            Outcome::Dropped => return Ok(()),
            Outcome::Reply(bytes) => bytes,
            Outcome::Forward(asked) => match forwarder.try_acquire() {
                Some(_permit) => forwarder.ask(state, &packet, asked, Way::Tcp).await,
                None => asked.failed,
            },
        };
        within(write(&mut stream, &bytes)).await?;
    }
}

async fn within<T>(work: impl Future<Output = std::io::Result<T>>) -> std::io::Result<T> {
    let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
    tokio::time::timeout(IDLE_TIMEOUT, work).await.map_err(late)?
}
