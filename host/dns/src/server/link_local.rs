//! Adds addresses to the loopback interface of a pod, as `ip addr add` does: containers of apps in the pod reach them,
//! and nothing outside of the pod.

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::net::Ipv4Addr;

/// The loopback interface is the first of every network namespace.
const LOOPBACK_INDEX: u32 = 1;
/// Type of a message: add an address.
const RTM_NEWADDR: u16 = 20;
const NLMSG_ERROR: u16 = 2;
/// A request that the kernel acknowledges, and that creates the address.
const REQUEST_FLAGS: u16 = 0x0001 | 0x0004 | 0x0400;
/// Types of attributes: the address, for the interface and for its peer.
const ADDRESS_ATTRIBUTES: [u16; 2] = [1, 2];
const HEADER_BYTES: usize = 16;
/// More than the kernel's reply, which repeats the request.
const MAX_REPLY_BYTES: usize = 512;

/// Adds the address, unless it is there: the network of a pod outlives its containers.
///
/// # Errors
/// The container lacks the capability `NET_ADMIN`.
pub(super) fn add(address: Ipv4Addr) -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(
        &socket,
        &request(address),
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut reply = [0; MAX_REPLY_BYTES];
    let (_, length) = recv(&socket, &mut reply[..], RecvFlags::empty())?;
    match code(&reply[..length.min(MAX_REPLY_BYTES)]) {
        Some(0) => Ok(()),
        Some(code) if -code == Errno::EXIST.raw_os_error() => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn request(address: Ipv4Addr) -> Vec<u8> {
    // Family IPv4, all 32 bits, no flags, valid everywhere.
    let mut body = vec![2, 32, 0, 0];
    body.extend(LOOPBACK_INDEX.to_ne_bytes());
    for attribute in ADDRESS_ATTRIBUTES {
        body.extend(8_u16.to_ne_bytes());
        body.extend(attribute.to_ne_bytes());
        body.extend(address.octets());
    }
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(RTM_NEWADDR.to_ne_bytes());
    message.extend(REQUEST_FLAGS.to_ne_bytes());
    // Number of the request, and of the sender: the kernel replies to the socket.
    message.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    message.extend(body);
    message
}

/// The code of the kernel's reply: 0, or a negative error.
fn code(reply: &[u8]) -> Option<i32> {
    let kind = reply.get(4..6)?.try_into().ok()?;
    let code = reply.get(HEADER_BYTES..HEADER_BYTES + 4)?.try_into().ok()?;
    (u16::from_ne_bytes(kind) == NLMSG_ERROR).then(|| i32::from_ne_bytes(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_form_of_the_kernel() {
        let message = request(Ipv4Addr::new(169, 254, 0, 2));
        assert_eq!(message.len(), 40);
        assert_eq!(message[..4], 40_u32.to_ne_bytes());
        assert_eq!(message[16..20], [2, 32, 0, 0]);
        assert_eq!(message[28..32], [169, 254, 0, 2]);
        assert_eq!(message[36..], [169, 254, 0, 2]);
    }

    #[test]
    fn only_replies_have_a_code() {
        let mut reply = vec![0; 36];
        reply[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        reply[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(code(&reply), Some(-1));
        reply[4..6].copy_from_slice(&RTM_NEWADDR.to_ne_bytes());
        assert_eq!((code(&reply), code(&reply[..18])), (None, None));
    }

    /// Tests have no permission to change the machine's network, and in a container none to open such a socket.
    #[test]
    fn an_address_that_is_there_is_no_error() {
        if let Err(error) = add(Ipv4Addr::LOCALHOST) {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        }
    }
}
