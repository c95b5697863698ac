//! The DNS server in a pod: it answers at the addresses of BOSH DNS, also to processes without privileges, and asks the
//! server that a file of a job names for its domain.

use crate::world::World;

const POD: &str = "cell-cell-v1-0";
const ADDRESSES: [&str; 2] = ["169.254.0.2", "169.254.0.53"];

#[test]
fn a_pod_with_handlers_has_a_server_at_the_addresses_of_bosh_dns() {
    let Some(world) = World::on_node("pod-dns").unwrap() else {
        return;
    };
    world.convert_release("pod-dns", Ok, &[]).unwrap();
    world.wait_for_condition(&format!("pod/{POD}"), "Ready").unwrap();
    let inside = |script: &str| world.inside(POD, "client-client", script);
    let first = inside("grep -m 1 nameserver /etc/resolv.conf").unwrap();
    assert_eq!(first.trim(), "nameserver 169.254.0.2");
    let own = format!("cell-cell-0.{}.svc.cluster.local", world.namespace);
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
            world
                .wait_until(&format!("{name} at {server}"), || Ok(inside(&ask)?.contains(answer)))
                .unwrap();
        }
    }
    // The system's resolver, with the file that all containers have.
    let ask = "nslookup -type=a web.apps.internal || true";
    world
        .wait_until("an answer of the system's resolver", || {
            Ok(inside(ask)?.contains("10.255.0.7"))
        })
        .unwrap();
}
