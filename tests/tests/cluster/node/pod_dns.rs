//! The DNS server in a pod: it answers at the addresses of BOSH DNS, also to processes without privileges, and asks the
//! server that a file of a job names for its domain.

use crate::world::World;
use anyhow::Result;
use boson_tests::cluster::image::Image;
use boson_tests::root;

const IMAGE: &str = "boson.test/pod-dns:busybox-1-1";
const POD: &str = "cell-cell-v1-0";
const ADDRESSES: [&str; 2] = ["169.254.0.2", "169.254.0.53"];

#[test]
fn a_pod_with_handlers_has_a_server_at_the_addresses_of_bosh_dns() {
    let Some(env) = Environment::set().unwrap() else { return };
    let first = env.inside("grep -m 1 nameserver /etc/resolv.conf").unwrap();
    assert_eq!(first.trim(), "nameserver 169.254.0.2");
    let own = format!("cell-cell-0.{}.svc.cluster.local", env.world.namespace);
    let kubernetes = "kubernetes.default.svc.cluster.local";
    for server in ADDRESSES {
        // By the job's server, by the deployment's servers, and by the cluster's.
        for (name, answer) in [
            ("web.apps.internal", "10.255.0.7"),
            ("q-s4.cell.default.cell.bosh", "Name:"),
            (own.as_str(), "Name:"),
            (kubernetes, "Name:"),
        ] {
            let ask = format!("nslookup -type=a {name} {server} || true");
            env.world
                .until(&format!("{name} at {server}"), || {
                    Ok(env.inside(&ask)?.contains(answer))
                })
                .unwrap();
        }
    }
    // The system's resolver, with the file that all containers have.
    let found = env.inside("nslookup -type=a web.apps.internal || true").unwrap();
    assert!(found.contains("10.255.0.7"), "{found}");
}

/// A namespace with the release of `tests/fixtures/releases/pod-dns`.
struct Environment {
    world: World,
}

// === impl Environment ===

impl Environment {
    fn set() -> Result<Option<Self>> {
        let Some(world) = World::on_node("pod-dns")? else {
            return Ok(None);
        };
        let release = root().join("tests/fixtures/releases/pod-dns");
        world.cluster.load_image(&Image::release(IMAGE, &release)?)?;
        world.convert(&release.join("manifest.yml"), &release, &[], &[])?;
        world.until_is(&format!("pod/{POD}"), "Ready")?;
        Ok(Some(Self { world }))
    }

    /// Runs a shell script in the container of a process.
    fn inside(&self, script: &str) -> Result<String> {
        self.world.inside(POD, "client-client", script)
    }
}
