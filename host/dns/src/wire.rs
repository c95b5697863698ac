//! DNS messages: decodes a question for [`resolve`], and encodes its answer within the size limit.
//!
//! # Guarantees
//! Any bytes are accepted as input. An answer over UDP is no longer than the question allows (512 bytes without EDNS,
//! never over [`MAX_UDP_ANSWER_BYTES`]), which prevents amplification attacks. A longer answer is marked as truncated,
//! and the client asks again over TCP.

use crate::instances::Snapshot;
use crate::resolve::{Answer, Wanted, resolve};
use crate::zone::{Authority, Upstream, Zone, normal};
use hickory_proto::op::{Edns, Message, MessageType, Metadata, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, PTR};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinEncodable, BinEncoder};
use std::net::IpAddr;

/// Largest answer over UDP: what passes every network without being split.
pub const MAX_UDP_ANSWER_BYTES: u16 = 1_232;
/// Largest answer over UDP without EDNS.
const MAX_PLAIN_UDP_ANSWER_BYTES: u16 = 512;
pub const MAX_QUESTION_BYTES: usize = 4_096;
/// Maximum number of addresses in an answer: as many as fit into a message over TCP.
const MAX_RECORDS: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Udp,
    Tcp,
}

/// What to do with a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Reply(Vec<u8>),
    Forward(Forward),
    /// No reply, because the packet is not a question.
    Dropped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    pub upstream: Upstream,
    /// How long an answer may be.
    pub limit: usize,
    /// The reply if no server answers.
    pub failed: Vec<u8>,
    /// The reply if the answer is too long.
    pub cut: Vec<u8>,
}

/// The data that answers are made from.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    pub zone: &'k Zone,
    pub pods: &'k Snapshot,
    /// The pods have been listed at least once: before that, an instance without addresses may still have pods.
    pub is_complete: bool,
    /// Different for each answer.
    pub chance: u64,
}

pub fn answer(known: Known<'_>, packet: &[u8], way: Way) -> Outcome {
    if packet.len() > MAX_QUESTION_BYTES || packet.len() < HEADER_BYTES {
        return Outcome::Dropped;
    }
    let Ok(message) = Message::from_bytes(packet) else {
        return format_error(packet);
    };
    if message.metadata.message_type != MessageType::Query {
        // Answering an answer could cause an endless loop.
        return Outcome::Dropped;
    }
    let reply = Reply::to(&message, way);
    if message.metadata.op_code != OpCode::Query {
        return reply.code(ResponseCode::NotImp);
    }
    let [query] = message.queries.as_slice() else {
        return reply.code(ResponseCode::FormErr);
    };
    if message.edns.as_ref().is_some_and(|edns| edns.version() > 0) {
        return reply.code(ResponseCode::BADVERS);
    }
    if query.query_class != DNSClass::IN || matches!(query.query_type, RecordType::AXFR | RecordType::IXFR) {
        return reply.code(ResponseCode::Refused);
    }
    let name = text(query.name());
    let wanted = match query.query_type {
        RecordType::A => Wanted::V4,
        RecordType::AAAA => Wanted::V6,
        RecordType::ANY => Wanted::Both,
        RecordType::PTR => Wanted::Names,
        _ => Wanted::Other,
    };
    if !known.is_complete && needs_pods(known.zone, &name) {
        return reply.code(ResponseCode::ServFail);
    }
    match resolve(known.zone, known.pods, &name, wanted) {
        Answer::Addresses(mut all) => {
            shuffle(&mut all, known.chance);
            all.truncate(MAX_RECORDS);
            reply.records(query, all.into_iter().map(data))
        }
        Answer::Names(names) => {
            let record = |name: String| Some(RData::PTR(PTR(Name::from_ascii(format!("{name}.")).ok()?)));
            reply.records(query, names.into_iter().filter_map(record))
        }
        Answer::NoSuchName => reply.code(ResponseCode::NXDomain),
        Answer::Malformed => reply.code(ResponseCode::FormErr),
        Answer::Refused => reply.code(ResponseCode::Refused),
        Answer::Ask(upstream) => reply.forward(upstream),
    }
}

/// A record in the answer of a server over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenRecord {
    pub ip: IpAddr,
    pub ttl: u32,
}

/// The name of a question with a dot at its end, and the number of its type.
pub fn question_of(packet: &[u8]) -> Option<(String, u16)> {
    let message = Message::from_bytes(packet).ok()?;
    let query = message.queries.first()?;
    Some((query.name().to_ascii(), query.query_type.into()))
}

/// The reply to a question with the records of a server over HTTP, which has the last word on the name.
pub fn reply_with_records(packet: &[u8], way: Way, records: Vec<GivenRecord>) -> Option<Vec<u8>> {
    let message = Message::from_bytes(packet).ok()?;
    let query = message.queries.first()?;
    let mut reply = Reply::to(&message, way);
    reply.message.metadata.authoritative = true;
    let records = records.into_iter().take(MAX_RECORDS);
    let record = |one: GivenRecord| Record::from_rdata(query.name().clone(), one.ttl, data(one.ip));
    reply.message.answers = records.map(record).collect();
    reply.bytes()
}

pub(crate) const HEADER_BYTES: usize = 12;

/// The reply to a packet that cannot be parsed beyond its header.
fn format_error(packet: &[u8]) -> Outcome {
    // Flags below 0x80 are those of a question.
    let [first, second, 0..0x80, ..] = packet else {
        return Outcome::Dropped;
    };
    let id = u16::from_be_bytes([*first, *second]);
    let message = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
    message.to_bytes().map_or(Outcome::Dropped, Outcome::Reply)
}

fn needs_pods(zone: &Zone, name: &str) -> bool {
    let name = normal(name);
    matches!(zone.authority(&name), Some(Authority::Root | Authority::Alias)) || name.ends_with(".arpa")
}

/// A name as text. Labels may hold any bytes; those with a dot, or with characters that names cannot have, match no
/// name of the zone.
fn text(name: &Name) -> String {
    let plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'.' && *byte != b'\\';
    let label = |label: &[u8]| {
        if label.iter().all(plain) {
            String::from_utf8_lossy(label).into_owned()
        } else {
            "\u{fffd}".to_string()
        }
    };
    name.iter().map(label).collect::<Vec<_>>().join(".")
}

fn data(ip: IpAddr) -> RData {
    match ip {
        IpAddr::V4(ip) => RData::A(A(ip)),
        IpAddr::V6(ip) => RData::AAAA(AAAA(ip)),
    }
}

/// Clients use the first address, so each answer begins with another one.
fn shuffle(all: &mut [IpAddr], chance: u64) {
    let mut state = chance | 1;
    for last in (1..all.len()).rev() {
        // xorshift64: nothing depends on its quality.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = (state % (last as u64 + 1)) as usize;
        all.swap(last, other);
    }
}

/// An answer that is being encoded.
struct Reply {
    message: Message,
    limit: u16,
}

// === impl Reply ===

impl Reply {
    fn to(question: &Message, way: Way) -> Self {
        let mut message = Message::response(question.metadata.id, question.metadata.op_code);
        message.metadata = Metadata::response_from_request(&question.metadata);
        message.metadata.recursion_available = true;
        message.queries = question.queries.iter().take(1).cloned().collect();
        let edns = question.edns.as_ref();
        let asked = edns.map_or(MAX_PLAIN_UDP_ANSWER_BYTES, Edns::max_payload);
        if edns.is_some() {
            let mut edns = Edns::new();
            edns.set_max_payload(MAX_UDP_ANSWER_BYTES);
            message.edns = Some(edns);
        }
        let limit = match way {
            Way::Udp => asked.clamp(MAX_PLAIN_UDP_ANSWER_BYTES, MAX_UDP_ANSWER_BYTES),
            Way::Tcp => u16::MAX,
        };
        Self { message, limit }
    }

    fn code(mut self, code: ResponseCode) -> Outcome {
        self.message.metadata.response_code = code;
        self.message.metadata.authoritative = matches!(code, ResponseCode::NXDomain);
        self.outcome()
    }

    fn records(mut self, query: &Query, all: impl Iterator<Item = RData>) -> Outcome {
        self.message.metadata.authoritative = true;
        // The name as it was asked for, in its case.
        let record = |data| Record::from_rdata(query.name().clone(), 0, data);
        self.message.answers = all.map(record).collect();
        self.outcome()
    }

    fn forward(mut self, upstream: Upstream) -> Outcome {
        self.message.metadata.truncation = true;
        let cut = self.bytes();
        self.message.metadata.truncation = false;
        self.message.metadata.response_code = ResponseCode::ServFail;
        match (cut, self.bytes()) {
            (Some(cut), Some(failed)) => Outcome::Forward(Forward {
                upstream,
                limit: self.limit.into(),
                failed,
                cut,
            }),
            _ => Outcome::Dropped,
        }
    }

    fn outcome(self) -> Outcome {
        self.bytes().map_or(Outcome::Dropped, Outcome::Reply)
    }

    /// Records that do not fit are left out, and the answer is marked as truncated.
    fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(512);
        let mut encoder = BinEncoder::new(&mut bytes);
        encoder.set_max_size(self.limit);
        self.message.emit(&mut encoder).ok()?;
        Some(bytes)
    }
}
