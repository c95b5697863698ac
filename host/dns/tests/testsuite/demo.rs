//! The deployment of the test vectors.

use boson_dns::instances::{Endpoint, Slice, Snapshot};
use boson_dns::zone::{AliasFiles, Zone};
use std::net::IpAddr;

/// Its zone document. `link`: nothing of ours has numbers of a director, so `g1` is the group web_ui, and `m3` its
/// third instance.
pub const DOCUMENT: &str = r#"{"version": 1, "deployment": "demo", "namespace": "ns", "clusterDomain": "cluster.local", "spread": "total", "root": "bosh",
  "deployments": ["demo"], "networks": ["default"], "azs": ["z1", "z2"],
  "groups": [{"name": "web-ui", "azs": ["z1", "z2"], "instances": 3}, {"name": "db", "azs": ["z1"], "instances": 1},
    {"name": "cell", "azs": ["z1", "z2"], "instances": 2}, {"name": "batch", "azs": ["z1", "z2"], "instances": 2}],
  "aliases": {"web.service.internal": ["*.web-ui.default.demo.bosh"], "db.service.internal": ["*.db.default.demo.bosh"],
    "_.cell.service.internal": ["_.cell.default.demo.bosh"],
    "both.service.internal": ["*.web-ui.default.demo.bosh", "*.cell.default.demo.bosh"],
    "ball.service.internal": ["q-s4.batch.default.demo.bosh"], "chain.service.internal": ["web.service.internal"],
    "ip.service.internal": ["10.9.9.9"]}}"#;

/// Instance, address, ready.
const PODS: [(&str, u8, bool); 8] = [
    ("demo-web-ui-0", 10, true),
    ("demo-web-ui-1", 11, true),
    ("demo-web-ui-2", 12, false),
    ("demo-db-0", 20, false),
    ("demo-cell-0", 30, true),
    ("demo-cell-1", 31, false),
    ("demo-batch-0", 40, false),
    ("demo-batch-1", 41, false),
];

pub fn ip(last: u8) -> IpAddr {
    [10, 1, 0, last].into()
}

pub fn zone() -> Zone {
    let mut zone = Zone::read(DOCUMENT, &AliasFiles::new()).unwrap();
    // The vectors have the instances of a director, which are not laid out as ours.
    (zone.instances[1].az, zone.instances[2].az) = (2, 1);
    zone
}

pub fn slice(service: &str, last: u8, is_running: bool, is_ending: bool) -> Slice {
    let endpoint = Endpoint {
        ip: ip(last),
        is_running,
        is_ending,
    };
    Slice {
        service: service.into(),
        endpoints: vec![endpoint],
    }
}

pub fn slices() -> Vec<Slice> {
    let pods = PODS.into_iter();
    pods.map(|(service, last, ready)| slice(service, last, ready, false))
        .collect()
}

pub fn pods(zone: &Zone) -> Snapshot {
    Snapshot::of(zone, &slices())
}
