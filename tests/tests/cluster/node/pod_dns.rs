//! The DNS server in a pod: it answers at the addresses of BOSH DNS, also to processes without privileges, and asks the
//! server that a file of a job names for its domain.

use anyhow::{Result, ensure};
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, with_node};
use boson_tests::{WAIT_TIMEOUT, host, root, try_wait_for};

const IMAGE: &str = "boson.test/pod-dns:busybox-1-1";
const POD: &str = "cell-cell-v1-0";
const ADDRESSES: [&str; 2] = ["169.254.0.2", "169.254.0.53"];

#[test]
fn a_pod_with_handlers_has_a_server_at_the_addresses_of_bosh_dns() {
    let Some(env) = Environment::set().unwrap() else { return };
    env.deploy().unwrap();
    let first = env.inside("grep -m 1 nameserver /etc/resolv.conf").unwrap();
    assert_eq!(first.trim(), "nameserver 169.254.0.2");
    let own = format!("cell-cell-0.{}.svc.cluster.local", env.namespace);
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
            env.until(&format!("{name} at {server}"), || {
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
    cluster: &'static Cluster,
    namespace: String,
}

// === impl Environment ===

impl Environment {
    fn set() -> Result<Option<Self>> {
        let Some(cluster) = with_node()? else { return Ok(None) };
        let release = root().join("tests/fixtures/releases/pod-dns");
        cluster.load_image(&Image::release(IMAGE, &release)?)?;
        let namespace = cluster.namespace("pod-dns")?;
        Ok(Some(Self { cluster, namespace }))
    }

    /// With plain objects: pods need no operator.
    fn deploy(&self) -> Result<()> {
        let image = self.cluster.operator_image()?;
        let scratch = tempfile::tempdir()?;
        let release = root().join("tests/fixtures/releases/pod-dns");
        let manifest = release.join("manifest.yml");
        let [release, manifest] = [&release, &manifest].map(|path| path.display().to_string());
        let place = ["--namespace", &self.namespace, "--operator-image", image];
        let arguments = [&["convert", &manifest, "--release", &release][..], &place].concat();
        let converted = host(scratch.path(), arguments)?;
        ensure!(converted.code == 0, "{}", converted.stderr);
        let apply = ["--namespace", &self.namespace, "apply", "--server-side", "--filename=-"];
        let applied = self.cluster.try_kubectl(apply, &converted.stdout)?;
        ensure!(applied.success, "{}", applied.stderr);
        self.until("a ready pod", || {
            let wait = ["wait", &format!("pod/{POD}"), "--for=condition=Ready", "--timeout=5s"];
            Ok(self.kubectl(&wait).is_ok())
        })
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let namespace = ["--namespace", &self.namespace];
        self.cluster.kubectl(namespace.iter().chain(arguments))
    }

    fn until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let logs = ["logs", POD, "--all-containers", "--prefix", "--tail=20"];
        try_wait_for(what, WAIT_TIMEOUT, holds, || {
            let pods = self.kubectl(&["describe", "pods"]).unwrap_or_default();
            format!("{pods}\n{}", self.kubectl(&logs).unwrap_or_default())
        })
    }

    /// Runs a shell script in the container of a process.
    fn inside(&self, script: &str) -> Result<String> {
        self.kubectl(&["exec", POD, "--container", "client-client", "--", "sh", "-c", script])
    }
}
