//! Ports for servers that cannot take a listener from their parent.

use anyhow::{Context, Result};
use parking_lot::Mutex;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::fd::IntoRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Below the ports that Linux gives to outgoing connections: one of those may be taken by a client of another test
/// before its server listens, or by the connection that only asks whether the server listens yet. And below the ports
/// of Kubernetes' Services.
const FIRST_PORT: u16 = 10_240;
const BLOCK_COUNT: u16 = 190;
/// Ports that a test program takes at once: each block costs it a file descriptor.
const BLOCK_PORTS: u16 = 100;

/// Those that this process has taken, but not given away yet.
static TAKEN: Mutex<Range<u16>> = Mutex::new(0..0);

/// A port of 127.0.0.1 on which nothing listens. Each call, in whatever process, gets another one.
///
/// # Errors
/// No port is available.
pub fn free_port() -> Result<u16> {
    free_port_at(Ipv4Addr::LOCALHOST)
}

/// Like [`free_port`], of another address.
///
/// # Errors
/// No port is available.
pub fn free_port_at(address: Ipv4Addr) -> Result<u16> {
    let mut taken = TAKEN.lock();
    loop {
        if taken.is_empty() {
            *taken = take_block().context("no port is free")?;
        }
        if let Some(port) = taken.find(|port| TcpListener::bind((address, *port)).is_ok()) {
            return Ok(port);
        }
    }
}

/// Takes ports until this process ends: another test program may come to the same ones before a server listens there.
fn take_block() -> Option<Range<u16>> {
    // Test programs that run at the same time begin at different blocks.
    let start = (std::process::id() % u32::from(BLOCK_COUNT)) as u16;
    let mut blocks = (0..BLOCK_COUNT).map(|number| FIRST_PORT + (start + number) % BLOCK_COUNT * BLOCK_PORTS);
    let first = blocks.find(|first| {
        let name = SocketAddr::from_abstract_name(format!("boson-tests-{first}"));
        let claim = name.and_then(|name| UnixDatagram::bind_addr(&name));
        // It stays open.
        claim.map(IntoRawFd::into_raw_fd).is_ok()
    })?;
    Some(first..first + BLOCK_PORTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_port_of_outgoing_connections_and_is_given_once() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let lowest: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
        let mut ports: Vec<u16> = (0..200).map(|_| free_port().unwrap()).collect();
        assert!(ports.iter().all(|port| *port < lowest), "{ports:?} {lowest}");
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 200);
    }
}
