//! One question to a server, with an answer that system resolvers do not give: whether a name exists without addresses,
//! or does not exist.

use crate::wire::HEADER_BYTES;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

const QUESTION_TIMEOUT: Duration = Duration::from_millis(1500);
const RECURSION_DESIRED_FLAG: u16 = 0x0100;
/// Code of an answer: no such name.
const NXDOMAIN_CODE: u8 = 3;
pub(crate) const ADDRESS_TYPES: [u16; 2] = [1, 28];

/// The answer of a server to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Addresses,
    /// It exists, and has none.
    Nothing,
    NoSuchName,
}

/// Asks for the addresses of a name, of both families.
///
/// # Errors
/// The server does not answer, or cannot. The name is not one of DNS.
pub fn ask(server: SocketAddr, name: &str) -> io::Result<Found> {
    let mut found = Found::NoSuchName;
    for kind in ADDRESS_TYPES {
        match ask_for(server, name, kind, QUESTION_TIMEOUT)? {
            Found::Addresses => return Ok(Found::Addresses),
            // A name exists for all types or for none; a server that does not know the second type answers as it can.
            Found::Nothing => found = Found::Nothing,
            Found::NoSuchName => {}
        }
    }
    Ok(found)
}

/// Any port of this machine from which the server can be asked.
pub(crate) fn any_port(server: SocketAddr) -> SocketAddr {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    (any, 0).into()
}

pub(crate) fn ask_for(server: SocketAddr, name: &str, kind: u16, timeout: Duration) -> io::Result<Found> {
    let socket = UdpSocket::bind(any_port(server))?;
    socket.set_read_timeout(Some(timeout))?;
    // It gets answers of this server only.
    socket.connect(server)?;
    // The port of the socket is new for each question, and only this server's packets arrive there.
    let id = socket.local_addr()?.port() ^ kind;
    let question = question(id, name, kind).ok_or(io::ErrorKind::InvalidInput)?;
    socket.send(&question)?;
    let mut answer = [0; 1500];
    let length = socket.recv(&mut answer)?;
    read(&answer[..length], id).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn question(id: u16, name: &str, kind: u16) -> Option<Vec<u8>> {
    let mut packet = Vec::with_capacity(HEADER_BYTES + name.len() + 6);
    for number in [id, RECURSION_DESIRED_FLAG, 1, 0, 0, 0] {
        packet.extend(number.to_be_bytes());
    }
    for label in name.trim_end_matches('.').split('.') {
        let length = u8::try_from(label.len())
            .ok()
            .filter(|length| (1..64).contains(length))?;
        packet.push(length);
        packet.extend(label.bytes());
    }
    packet.push(0);
    packet.extend(kind.to_be_bytes());
    packet.extend(1_u16.to_be_bytes());
    (packet.len() <= HEADER_BYTES + 255 + 4).then_some(packet)
}

/// The server's answer to the question with this number; none: it has failed.
fn read(packet: &[u8], id: u16) -> Option<Found> {
    let number = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let is_answer = number(0)? == id && packet.get(2)? & 0x80 != 0;
    let code = packet.get(3)? & 0x0f;
    let count = number(6)?;
    match code {
        _ if !is_answer => None,
        0 if count > 0 => Some(Found::Addresses),
        0 => Some(Found::Nothing),
        NXDOMAIN_CODE => Some(Found::NoSuchName),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_the_name_in_labels() {
        let packet = question(0x1234, "a.bc.", 1).unwrap();
        assert_eq!(
            packet,
            b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x02bc\x00\x00\x01\x00\x01"
        );
        assert!(question(1, "a..b", 1).is_none());
        assert!(question(1, &"x".repeat(64), 1).is_none());
    }

    #[test]
    fn answers_are_told_apart() {
        let answer = |flags: u16, count: u16| {
            let numbers = [7, flags, 1, count, 0, 0];
            numbers.into_iter().flat_map(u16::to_be_bytes).collect::<Vec<u8>>()
        };
        for (flags, count, found) in [
            (0x8180, 2, Some(Found::Addresses)),
            (0x8180, 0, Some(Found::Nothing)),
            (0x8183, 0, Some(Found::NoSuchName)),
            (0x8182, 0, None),
            (0x0100, 1, None),
        ] {
            assert_eq!(read(&answer(flags, count), 7), found, "{flags:x} {count}");
        }
        assert_eq!(read(&answer(0x8180, 1), 8), None);
        assert_eq!(read(b"\x00\x07\x81", 7), None);
    }
}
