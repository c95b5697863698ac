//! The aliases of cf-deployment: its 23 domains, each with its groups, all of which have an answer.
//! `CF_DEPLOYMENT=<manifest as JSON>` takes the manifest itself.

use boson_dns::instances::{Endpoint, Slice, Snapshot};
use boson_dns::resolve::{Answer, Wanted, resolve};
use boson_dns::zone::{AliasFiles, Zone};
use boson_document::{Code, Place, Report, Tree, json};
use boson_manifest::dns::{Codes, collect};
use boson_manifest::instances::Deployment;
use std::net::Ipv4Addr;

/// Domains below `service.cf.internal`, groups, query.
const ALIASES: [(&str, &[&str], &str); 23] = [
    (
        "_.cell",
        &["diego-cell", "windows2019-cell", "isolated-diego-cell"],
        "_",
    ),
    ("_.nats", &["nats"], "_"),
    ("auctioneer", &["scheduler"], "q-s4"),
    ("bbs", &["diego-api"], "q-s4"),
    ("nats", &["nats"], "*"),
    ("doppler", &["doppler"], "*"),
    ("gorouter", &["router"], "*"),
    ("credhub", &["credhub"], "*"),
    ("uaa", &["uaa"], "*"),
    ("log-cache", &["log-cache"], "*"),
    ("cc-uploader", &["api"], "*"),
    ("cloud-controller-ng", &["api"], "*"),
    ("file-server", &["api"], "*"),
    ("policy-server", &["api"], "*"),
    ("routing-api", &["api"], "*"),
    ("locket", &["diego-api"], "*"),
    ("silk-controller", &["diego-api"], "*"),
    ("ssh-proxy", &["scheduler"], "*"),
    ("tps", &["scheduler"], "*"),
    ("loggregator-trafficcontroller", &["log-api"], "*"),
    ("reverse-log-proxy", &["log-api"], "*"),
    ("blobstore", &["singleton-blobstore"], "*"),
    ("sql-db", &["database"], "*"),
];
const GROUPS: [(&str, u32); 12] = [
    ("nats", 2),
    ("database", 1),
    ("diego-api", 2),
    ("uaa", 2),
    ("singleton-blobstore", 1),
    ("api", 2),
    ("scheduler", 2),
    ("router", 2),
    ("doppler", 4),
    ("diego-cell", 2),
    ("log-api", 2),
    ("credhub", 2),
];

fn manifest() -> Tree {
    if let Some(path) = std::env::var_os("CF_DEPLOYMENT") {
        return json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    }
    let group = |(name, instances): &(&str, u32)| {
        let text = format!(
            r#"{{"name": "{name}", "instances": {instances}, "azs": ["z1", "z2"], "networks": [{{"name": "default"}}], "jobs": []}}"#
        );
        json::parse(&text).unwrap()
    };
    let alias = |(domain, groups, query): &(&str, &[&str], &str)| {
        let target = |group: &&str| {
            format!(
                r#"{{"query": "{query}", "instance_group": "{group}", "network": "default", "deployment": "cf", "domain": "bosh"}}"#
            )
        };
        let targets: Vec<String> = groups.iter().map(target).collect();
        format!(
            r#"{{"domain": "{domain}.service.cf.internal", "targets": [{}]}}"#,
            targets.join(", ")
        )
    };
    let aliases: Vec<String> = ALIASES.iter().map(alias).collect();
    let addon = format!(
        r#"{{"name": "bosh-dns-aliases", "jobs": [{{"name": "bosh-dns-aliases", "release": "bosh-dns-aliases", "properties": {{"aliases": [{}]}}}}]}}"#,
        aliases.join(", ")
    );
    let mut groups: Vec<Tree> = GROUPS.iter().map(group).collect();
    groups.push(group(&("log-cache", 2)));
    Tree::object()
        .with("name", "cf")
        .with("instance_groups", groups)
        .with("addons", vec![json::parse(&addon).unwrap()])
}

const CODES: &Codes = &Codes {
    invalid: &Code::new("invalid", "", ""),
    no_effect: &Code::new("no-effect", "", ""),
};

#[test]
fn every_alias_has_an_answer() {
    let manifest = manifest();
    // The deployment may have another name than the manifest gives it.
    for deployment in ["cf", "my-cf"] {
        let deployment = Deployment {
            name: deployment.into(),
            namespace: "ns".into(),
            cluster_domain: "cluster.local".into(),
            ..Deployment::default()
        };
        let mut report = Report::default();
        let collected = collect(&manifest, &deployment, CODES, &Place::default(), &mut report);
        assert!(collected.wanted);
        assert_eq!(report.into_diagnostics(), []);
        let zone = Zone::read(&json::to_text(&collected.zone.document()), &AliasFiles::new()).unwrap();
        assert_eq!(zone.aliases.len(), ALIASES.len());
        let slices = zone.instances.iter().zip(1u32..).map(|(instance, number)| Slice {
            service: instance.service.clone(),
            endpoints: vec![Endpoint {
                ip: Ipv4Addr::from(0x0a00_0000 + number).into(),
                is_running: number % 2 == 0,
                is_ending: false,
            }],
        });
        let pods = Snapshot::of(&zone, &slices.collect::<Vec<_>>());
        for (domain, _) in zone.aliases.iter() {
            let names: Vec<String> = match domain.strip_prefix("_.") {
                None => vec![domain.to_string()],
                Some("cell.service.cf.internal") => vec!["diego-cell-0.cell.service.cf.internal".into()],
                Some(rest) => vec![format!("nats-0.{rest}"), format!("nats-1.{rest}")],
            };
            for name in names {
                let answer = resolve(&zone, &pods, &name, Wanted::V4);
                assert!(
                    matches!(&answer, Answer::Addresses(all) if !all.is_empty()),
                    "{name}: {answer:?}"
                );
            }
        }
    }
}
