//! The vectors: what BOSH's server answers, and this one.

use super::demo;
use super::demo::{ip, pods, slice, slices, zone};
use boson_dns::instances::Snapshot;
use boson_dns::resolve::{Answer, Wanted, resolve};
use boson_dns::zone::{AliasFiles, Zone};

/// An answer as the vectors spell it.
fn spelled(answer: Answer) -> String {
    match answer {
        Answer::Addresses(all) if all.is_empty() => "empty".into(),
        Answer::Addresses(mut all) => {
            all.sort();
            let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
            texts.join(" ").replace("10.1.0.", ".")
        }
        Answer::Names(names) => names.join(" "),
        Answer::NoSuchName => "NXDOMAIN".into(),
        Answer::Malformed => "FORMERR".into(),
        Answer::Refused => "REFUSED".into(),
        Answer::Ask(upstream) => format!("ask {upstream:?}"),
    }
}

#[test]
fn all_vectors() {
    let zone = zone();
    let pods = pods(&zone);
    for (number, query, wanted) in [
        (1, "q-s0.web-ui.P", ".10 .11"),
        (2, "q-s4.web-ui.P", ".10 .11 .12"),
        (3, "q-s3.batch.P", "empty"),
        (4, "q-s0.batch.P", ".40 .41"),
        (5, "q-s1.web-ui.P", ".12"),
        (6, "q-a2s0.web-ui.P", ".11"),
        (7, "q-a1s3.web-ui.P", ".10"),
        (8, "q-a1a2s0y1.web-ui.P", ".10 .11"),
        (9, "q-a3s0.web-ui.P", "NXDOMAIN"),
        (10, "q-i2s0.web-ui.P", ".12"),
        (11, "q-n1s0.q-g1.bosh", ".10 .11"),
        (12, "q-m3n1s0.q-g1.bosh", ".12"),
        (13, "web-ui-0.web-ui.P", ".10"),
        (14, "db.S", ".20"),
        (15, "WEB.Service.Internal", ".10 .11"),
        (16, "cell-1.cell.S", ".31"),
        (17, "nope.cell.S", "NXDOMAIN"),
        (17, "cell.S", "NXDOMAIN"),
        (18, "both.S", ".10 .11 .30"),
        (19, "ball.S", ".40 .41"),
        (20, "chain.S", ".10 .11"),
        (20, "ip.S", "10.9.9.9"),
        (22, "q-zz.web-ui.P", "FORMERR"),
        (22, "x.bosh", "FORMERR"),
        (23, "0.web-ui.P", "NXDOMAIN"),
        (23, "q-s0.web_ui.P", "NXDOMAIN"),
        (24, "upcheck.bosh-dns", "127.0.0.1"),
    ] {
        let name = match query.split_at(query.len() - 2) {
            (rest, ".P") => format!("{rest}.default.demo.bosh"),
            (rest, ".S") => format!("{rest}.service.internal"),
            _ => query.to_string(),
        };
        for name in [name.clone(), format!("{name}.")] {
            assert_eq!(
                spelled(resolve(&zone, &pods, &name, Wanted::V4)),
                wanted,
                "{number}: {name}"
            );
        }
    }
    let of = |name: &str, wanted| spelled(resolve(&zone, &pods, name, wanted));
    assert_eq!(of("web.service.internal", Wanted::V6), "empty", "21");
    assert_eq!(of("web.service.internal", Wanted::Other), "empty", "21");
    assert_eq!(of("upcheck.bosh-dns.", Wanted::V6), "::1", "24");
    let name = "web-ui-0.web-ui.default.demo.bosh";
    assert_eq!(of("10.0.1.10.in-addr.arpa", Wanted::Names), name, "25");
}

#[test]
fn what_the_vectors_leave_out() {
    let mut zone = zone();
    zone.no_recursion = false;
    let pods = pods(&zone);
    let of = |name: &str| spelled(resolve(&zone, &pods, name, Wanted::V4));
    // A group whose only pod is not there: the name exists.
    assert_eq!(
        spelled(resolve(&zone, &Snapshot::default(), "db.service.internal", Wanted::V4)),
        "empty"
    );
    // `_` may stand for a query.
    assert_eq!(of("q-s4.cell.service.internal"), ".30 .31");
    // Patterns.
    assert_eq!(of("q-s4.*.default.demo.bosh").split(' ').count(), 8);
    assert_eq!(of("q-s4.*l.*.de*.bosh"), ".30 .31");
    assert_eq!(of("q-s0.web-ui.other.demo.bosh"), "NXDOMAIN");
    assert_eq!(of("q-s0.web-ui.default.other.bosh"), "NXDOMAIN");
    // A short name without a group is any instance.
    assert_eq!(of("q-s4.x.bosh").split(' ').count(), 8);
    assert_eq!(of("q-s4.q-g99.bosh"), "NXDOMAIN");
    assert_eq!(of("q-s4.q-g0.bosh"), "NXDOMAIN");
    // In a name below an alias, the first label is an instance.
    assert_eq!(of("web-ui-0.db.service.internal"), ".10");
    assert_eq!(of("cell-0.bosh-agent-id"), ".30");
    // Health: the first counts.
    assert_eq!(of("q-s1s4.web-ui.default.demo.bosh"), ".12");
    // Names outside the zone.
    assert_eq!(of("example.com"), "ask Servers([])");
    assert_eq!(of("other.service.internal"), "ask Servers([])");
    let names = |name: &str| spelled(resolve(&zone, &pods, name, Wanted::Names));
    assert_eq!(names("9.9.9.9.in-addr.arpa"), "ask Servers([])");
    assert_eq!(names("web.service.internal"), "empty");
    assert_eq!(names("nope.cell.service.internal"), "NXDOMAIN");
}

#[test]
fn names_of_services_are_targets_too() {
    let files = AliasFiles::from([(
        "adapter".into(),
        [
            (
                "link.s".to_string(),
                vec!["demo-web-ui.ns.svc.cluster.local".to_string()],
            ),
            (
                "one.s".to_string(),
                vec!["demo-cell-1.ns.svc.cluster.local".to_string()],
            ),
            // As a template builds it with `spec.dns_domain_name`.
            (
                "made.s".to_string(),
                vec!["q-s4.batch.default.demo.svc.cluster.local".to_string()],
            ),
            // Known already: the first definition wins.
            ("db.service.internal".to_string(), vec!["10.0.0.1".to_string()]),
        ]
        .into(),
    )]);
    let zone = Zone::read(demo::DOCUMENT, &files).unwrap();
    let pods = pods(&zone);
    let of = |name: &str| spelled(resolve(&zone, &pods, name, Wanted::V4));
    assert_eq!(of("made.s"), ".40 .41");
    assert_eq!(
        (of("link.s"), of("one.s"), of("db.service.internal")),
        (".10 .11".into(), ".31".into(), ".20".into())
    );
}

#[test]
fn a_pod_that_is_being_deleted_counts_only_where_there_is_no_other() {
    let zone = zone();
    let of = |slices: &[_], name: &str| {
        spelled(resolve(
            &zone,
            &Snapshot::of(&zone, slices),
            &format!("{name}.default.demo.bosh"),
            Wanted::V4,
        ))
    };
    // The pod of another version takes over.
    let mut replaced = slices();
    replaced.push(slice("demo-db-0", 99, true, true));
    assert_eq!(of(&replaced, "q-s4.db"), ".20");
    // The last pod of an instance is still in answers for all instances, and in answers without a healthy one.
    let ending = [
        slice("demo-web-ui-0", 10, true, true),
        slice("demo-web-ui-1", 11, true, false),
        slice("demo-db-0", 20, true, true),
    ];
    assert_eq!(of(&ending, "q-s0.web-ui"), ".11");
    assert_eq!(of(&ending, "q-s4.web-ui"), ".10 .11");
    assert_eq!(of(&ending, "q-s0.db"), ".20");
    // Slices of other Services are ignored.
    let foreign = [slice("demo-web-ui", 10, true, false), slice("other", 11, true, false)];
    assert_eq!(of(&foreign, "q-s4.web-ui"), "empty");
    assert_eq!(ip(1).to_string(), "10.1.0.1");
}

#[test]
fn what_the_manifest_says_of_the_server_counts() {
    let document = demo::DOCUMENT.replacen(
        "\"aliases\"",
        r#""server": {"recursors": ["8.8.8.8", "[::1]:5300"], "excluded": ["8.8.4.4"], "noRecursion": true, "upcheck": ["up.x."],
           "handlers": [{"domain": "apps.internal", "recursors": ["127.0.0.1:8053"]}, {"domain": "no.internal", "denied": "NXDOMAIN"},
             {"domain": "deep.no.internal", "denied": "REFUSED"}, {"domain": "web.service.internal", "denied": "NXDOMAIN"}]}, "aliases""#,
        1,
    );
    let zone = Zone::read(&document, &AliasFiles::new()).unwrap();
    let pods = pods(&zone);
    let of = |name: &str| spelled(resolve(&zone, &pods, name, Wanted::V4));
    assert_eq!(of("a.apps.internal"), "ask Servers([127.0.0.1:8053])");
    assert_eq!(
        (of("a.no.internal"), of("a.deep.no.internal")),
        ("NXDOMAIN".into(), "REFUSED".into())
    );
    assert_eq!((of("example.com"), of("up.x")), ("REFUSED".into(), "127.0.0.1".into()));
    // An alias replaces a handler of the same domain.
    assert_eq!(of("web.service.internal"), ".10 .11");
    assert_eq!(
        zone.recursors,
        ["8.8.8.8:53".parse().unwrap(), "[::1]:5300".parse().unwrap()]
    );
}

#[test]
fn documents_that_cannot_be_served_are_refused() {
    let read = |from: &str, to: &str| {
        let text = demo::DOCUMENT.replacen(from, to, 1);
        Zone::read(&text, &AliasFiles::new())
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(read("\"version\": 1", "\"version\": 2").contains("version 2"));
    assert!(read("\"instances\": 3", "\"instances\": 30000").contains("more than"));
    assert!(read("web.service.internal\"]", "chain.service.internal\"]").contains("chain.service.internal"));
    assert!(read("{", "").contains("cannot be read"));
}
