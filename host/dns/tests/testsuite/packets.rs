//! Packets of any kind: no panic, no answer to an answer, no answer longer than allowed.

use super::demo;
use boson_dns::instances::{Endpoint, Slice, Snapshot};
use boson_dns::wire::{Known, MAX_UDP_ANSWER_BYTES, Outcome, Way, answer};
use boson_dns::zone::{AliasFiles, Zone};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinEncodable};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn known<'k>(zone: &'k Zone, pods: &'k Snapshot) -> Known<'k> {
    Known {
        zone,
        pods,
        is_complete: true,
        chance: 7,
    }
}

fn question(name: &str, kind: RecordType, payload: Option<u16>) -> Vec<u8> {
    let mut message = Message::new(4711, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    if let Some(payload) = payload {
        let mut edns = Edns::new();
        edns.set_max_payload(payload);
        message.edns = Some(edns);
    }
    message.to_bytes().unwrap()
}

fn replied(outcome: Outcome) -> Message {
    let Outcome::Reply(bytes) = outcome else {
        panic!("{outcome:?}")
    };
    Message::from_bytes(&bytes).unwrap()
}

/// A group of so many instances, all ready.
fn many(count: u32) -> (Zone, Snapshot) {
    let document = demo::DOCUMENT.replacen("\"instances\": 3", &format!("\"instances\": {count}"), 1);
    let zone = Zone::read(&document, &AliasFiles::new()).unwrap();
    let slice = |nth: u32| Slice {
        service: format!("demo-web-ui-{nth}"),
        endpoints: vec![Endpoint {
            ip: std::net::Ipv4Addr::from(0x0a00_0000 + nth).into(),
            is_running: true,
            is_ending: false,
        }],
    };
    let pods = Snapshot::of(&zone, &(0..count).map(slice).collect::<Vec<_>>());
    (zone, pods)
}

#[test]
fn an_answer_has_boshs_header_and_the_name_as_it_was_asked() {
    let zone = demo::zone();
    let pods = demo::pods(&zone);
    let reply = replied(answer(
        known(&zone, &pods),
        &question("WEB.Service.Internal.", RecordType::A, None),
        Way::Udp,
    ));
    assert_eq!(
        (reply.metadata.id, reply.metadata.message_type),
        (4711, MessageType::Response)
    );
    assert!(reply.metadata.authoritative && reply.metadata.recursion_available && reply.metadata.recursion_desired);
    assert_eq!(reply.answers.len(), 2);
    for record in &reply.answers {
        assert_eq!(
            (record.name.to_ascii(), record.ttl),
            ("WEB.Service.Internal.".to_string(), 0)
        );
    }
}

#[test]
fn all_orders_come() {
    let zone = demo::zone();
    let pods = demo::pods(&zone);
    let packet = question("q-s4.web-ui.default.demo.bosh.", RecordType::A, None);
    let orders: BTreeSet<String> = (0..200)
        .map(|nth: u64| {
            let chance = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let reply = replied(answer(
                Known {
                    chance,
                    ..known(&zone, &pods)
                },
                &packet,
                Way::Udp,
            ));
            reply
                .answers
                .iter()
                .map(|one| one.data.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(orders.len(), 6, "{orders:?}");
}

#[test]
fn answers_over_udp_fit_and_say_where_they_are_cut() {
    let (zone, pods) = many(900);
    for (payload, limit) in [
        (None, 512),
        (Some(100), 512),
        (Some(1000), 1000),
        (Some(65535), usize::from(MAX_UDP_ANSWER_BYTES)),
    ] {
        let packet = question("web.service.internal.", RecordType::A, payload);
        let Outcome::Reply(bytes) = answer(known(&zone, &pods), &packet, Way::Udp) else {
            panic!()
        };
        assert!(bytes.len() <= limit, "{payload:?}: {}", bytes.len());
        let reply = Message::from_bytes(&bytes).unwrap();
        assert!(reply.metadata.truncation, "{payload:?}");
        // Over TCP all of them come.
        let Outcome::Reply(bytes) = answer(known(&zone, &pods), &packet, Way::Tcp) else {
            panic!()
        };
        let reply = Message::from_bytes(&bytes).unwrap();
        assert!(!reply.metadata.truncation && reply.answers.len() == 900);
    }
}

#[test]
fn what_is_no_question_of_ours_is_refused_or_dropped() {
    let zone = demo::zone();
    let pods = demo::pods(&zone);
    let of = |packet: &[u8]| answer(known(&zone, &pods), packet, Way::Udp);
    let code = |packet: &[u8]| replied(of(packet)).metadata.response_code;
    let good = question("web.service.internal.", RecordType::A, None);
    let with = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        packet
    };
    // An answer; a message without a header.
    assert_eq!(of(&with(2, 0x81)), Outcome::Dropped);
    assert_eq!(of(&good[..11]), Outcome::Dropped);
    assert_eq!(of(&[0; 5000]), Outcome::Dropped);
    // Cut off; two questions; another operation; another class; a transfer.
    assert_eq!(code(&good[..good.len() - 3]), ResponseCode::FormErr);
    assert_eq!(code(&with(5, 0)), ResponseCode::FormErr);
    assert_eq!(code(&with(2, 0x28)), ResponseCode::NotImp);
    assert_eq!(code(&with(good.len() - 1, 3)), ResponseCode::Refused);
    assert_eq!(
        code(&question("web.service.internal.", RecordType::AXFR, None)),
        ResponseCode::Refused
    );
    // Bytes that are no letters of a name.
    let strange = Name::from_labels([&b"a.b"[..], b"cell", b"service", b"internal"]).unwrap();
    let mut message = Message::new(1, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(strange, RecordType::A));
    assert_eq!(code(&message.to_bytes().unwrap()), ResponseCode::NXDomain);
}

#[test]
fn before_the_pods_are_listed_no_answer_denies_them() {
    let zone = demo::zone();
    let pods = Snapshot::default();
    let early = Known {
        is_complete: false,
        ..known(&zone, &pods)
    };
    let code = |name: &str, kind| {
        replied(answer(early, &question(name, kind, None), Way::Udp))
            .metadata
            .response_code
    };
    assert_eq!(code("web.service.internal.", RecordType::A), ResponseCode::ServFail);
    assert_eq!(code("10.0.1.10.in-addr.arpa.", RecordType::PTR), ResponseCode::ServFail);
    assert_eq!(code("upcheck.bosh-dns.", RecordType::A), ResponseCode::NoError);
    let asked = answer(early, &question("example.com.", RecordType::A, None), Way::Udp);
    assert!(matches!(asked, Outcome::Forward(_)));
}

#[test]
fn the_names_of_an_address_are_answered() {
    let zone = demo::zone();
    let pods = demo::pods(&zone);
    let reply = replied(answer(
        known(&zone, &pods),
        &question("10.0.1.10.in-addr.arpa.", RecordType::PTR, None),
        Way::Udp,
    ));
    let RData::PTR(name) = &reply.answers[0].data else {
        panic!()
    };
    assert_eq!(name.0.to_ascii(), "web-ui-0.web-ui.default.demo.bosh.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(packet in proptest::collection::vec(any::<u8>(), 0..600)) {
        let zone = demo::zone();
        let pods = demo::pods(&zone);
        if let Outcome::Reply(bytes) = answer(known(&zone, &pods), &packet, Way::Udp) {
            prop_assert!(bytes.len() <= usize::from(MAX_UDP_ANSWER_BYTES));
        }
    }

    #[test]
    fn questions_with_bytes_changed(at in 0usize..60, value in any::<u8>(), more in any::<u8>(), payload in proptest::option::of(any::<u16>())) {
        let (zone, pods) = many(60);
        let mut packet = question("q-s4.web-ui.default.demo.bosh.", RecordType::A, payload);
        let length = packet.len();
        packet[at % length] = value;
        packet[(at * 7) % length] = more;
        if let Outcome::Reply(bytes) = answer(known(&zone, &pods), &packet, Way::Udp) {
            prop_assert!(bytes.len() <= usize::from(MAX_UDP_ANSWER_BYTES));
            // A spoofed sender address cannot be used for amplification.
            prop_assert!(bytes.len() <= 512 || payload.is_some());
        }
    }
}
