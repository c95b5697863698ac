//! Ports for servers that cannot take a listener from their parent.

use anyhow::{Context, Result};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::IntoRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that Linux gives to outgoing connections: one of those may be taken by a client of another test
/// before its server listens, or by the connection that only asks whether the server listens yet. And below the ports
/// of Kubernetes' Services.
const FIRST_PORT: u16 = 10_240;
const PORT_COUNT: u16 = 19_000;

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
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Test programs that run at the same time begin at different ports.
    let start = std::process::id().wrapping_mul(131) % u32::from(PORT_COUNT);
    (0..PORT_COUNT)
        .map(|_| u32::from(CALLS.fetch_add(1, Ordering::Relaxed)) + start)
        .map(|number| FIRST_PORT + (number % u32::from(PORT_COUNT)) as u16)
        .find(|port| claim(*port) && TcpListener::bind((address, *port)).is_ok())
        .context("no port is free")
}

/// Takes a port until this process ends: another test program may come to the same one before a server listens there.
fn claim(port: u16) -> bool {
    let name = SocketAddr::from_abstract_name(format!("boson-tests-{port}"));
    let claimed = name.and_then(|name| UnixDatagram::bind_addr(&name));
    // It stays open.
    claimed.map(IntoRawFd::into_raw_fd).is_ok()
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
