//! `/etc/hosts` and `/etc/resolv.conf` of the containers of a pod.

use crate::codes;
use boson_dns::own_names::{Own, hosts};
use boson_dns::resolv_conf::with_servers;
use boson_dns::upcheck;
use boson_dns::zone::{AliasFiles, Zone};
use boson_document::{Tree, json};
use boson_manifest::dns::{LINK_LOCAL, RESOLVED_KEY, object_name};
use boson_manifest::names::Names;
use boson_pipeline::Diagnostic;
use boson_pipeline::resolved_document::quarks;
use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the cluster's DNS may take to know the Service of the deployment's.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait for the deployment's DNS.
const UPCHECK_TIMEOUT: Duration = Duration::from_secs(60);
const LOOKUP_INTERVAL: Duration = Duration::from_millis(500);
const DNS_PORT: u16 = 53;
/// The pod's own file.
const RESOLV_CONF_PATH: &str = "/etc/resolv.conf";
const HOSTNAME_PATH: &str = "/proc/sys/kernel/hostname";

/// This pod's entry in its resolved document.
struct Instance<'m> {
    id: &'m str,
    address: &'m str,
    is_alone: bool,
}

/// The pod whose names are written.
pub struct Named<'m> {
    pub manifest: &'m Tree,
    /// `spec.index` of its instance.
    pub index: u32,
    pub ip: &'m str,
    /// It has a DNS server of its own.
    pub has_server: bool,
}

/// Writes `etc/hosts` and `etc/resolv.conf` below a directory.
///
/// # Errors
/// The deployment's DNS cannot be found, or the files cannot be written. A warning if its DNS does not answer.
pub fn write(directory: &Path, pod: &Named<'_>) -> Result<Option<Diagnostic>, Diagnostic> {
    let unwritable = |error: std::io::Error| {
        let message = format!("cannot write the names of the pod: {error}");
        Diagnostic::error(boson_commands::codes::OUTPUT_UNWRITABLE, message)
    };
    let etc = directory.join("etc");
    fs::create_dir_all(&etc).map_err(unwritable)?;
    let zone = zone(pod.manifest)?;
    let hosts = hosts_of(pod.manifest, pod.index, pod.ip, zone.as_ref());
    fs::write(etc.join("hosts"), hosts).map_err(unwritable)?;
    let own = fs::read_to_string(RESOLV_CONF_PATH).unwrap_or_default();
    let in_pod = LINK_LOCAL.first().filter(|_| pod.has_server);
    let mut servers: Vec<IpAddr> = in_pod.and_then(|address| address.parse().ok()).into_iter().collect();
    let warning = match &zone {
        None => None,
        Some(zone) => {
            let server = find_server(pod.manifest, zone)?;
            servers.push(server.ip());
            let answered = upcheck::wait(server, UPCHECK_TIMEOUT);
            answered.err().map(|error| {
                let message = format!("the DNS of the deployment does not respond yet at {server}: {error}");
                Diagnostic::warning(codes::POD_DNS, message)
                    .help("see `kubectl get pods -l app.kubernetes.io/component=dns`")
            })
        }
    };
    let text = if servers.is_empty() {
        own
    } else {
        with_servers(&own, &servers)
    };
    fs::write(etc.join("resolv.conf"), text).map_err(unwritable)?;
    Ok(warning)
}

/// The zone, if the deployment has one.
fn zone(manifest: &Tree) -> Result<Option<Zone>, Diagnostic> {
    let Some(document) = manifest.get(RESOLVED_KEY) else {
        return Ok(None);
    };
    let zone = Zone::read(&json::to_text(document), &AliasFiles::new());
    zone.map(Some)
        .map_err(|error| Diagnostic::error(codes::POD_DNS, error.to_string()))
}

fn hosts_of(manifest: &Tree, index: u32, ip: &str, zone: Option<&Zone>) -> String {
    let hostname = fs::read_to_string(HOSTNAME_PATH).unwrap_or_default();
    let group = manifest.items("instance_groups").first();
    let name = group.and_then(|group| group.str("name")).unwrap_or_default();
    let found = group.and_then(|group| instance(group, index));
    let (Some(instance), Ok(ip)) = (found, ip.parse()) else {
        // Without a job there is no instance, and its names are not needed.
        return "127.0.0.1 localhost\n::1 localhost\n".into();
    };
    let names = names_of(manifest, instance.address);
    let group_address = names
        .and_then(|names| names.group_address(name).ok())
        .unwrap_or_default();
    hosts(&Own {
        ip,
        address: instance.address,
        id: instance.id,
        group_address: &group_address,
        is_alone: instance.is_alone,
        hostname: hostname.trim(),
        zone,
    })
}

fn instance(group: &Tree, index: u32) -> Option<Instance<'_>> {
    let instances = quarks(group.items("jobs").first()?)?.items("instances");
    let is_own = |instance: &&Tree| instance.get("index").and_then(Tree::as_i64) == Some(index.into());
    let own = instances.iter().find(is_own)?;
    Some(Instance {
        id: own.str("id")?,
        address: own.str("address")?,
        is_alone: instances.len() == 1,
    })
}

/// Namespace and domain of the cluster are in every address: `<service>.<namespace>.svc.<domain>`.
fn names_of(manifest: &Tree, address: &str) -> Option<Names> {
    let mut parts = address.splitn(4, '.').skip(1);
    let (namespace, _, domain) = (parts.next()?, parts.next()?, parts.next()?);
    Names::new(manifest.str("name")?, namespace, domain).ok()
}

/// The address of the deployment's DNS, from the cluster's DNS.
fn find_server(manifest: &Tree, zone: &Zone) -> Result<SocketAddr, Diagnostic> {
    let document = manifest.get(RESOLVED_KEY);
    let text = |key: &str| document.and_then(|document| document.str(key)).unwrap_or_default();
    let names = Names::new(text("deployment"), &zone.namespace, text("clusterDomain"));
    let names = names.map_err(|error| Diagnostic::error(codes::POD_DNS, error.to_string()))?;
    let address = names.address(&object_name(&names));
    let began = Instant::now();
    loop {
        // The dot at the end avoids the search domains.
        let found = format!("{address}.:{DNS_PORT}")
            .to_socket_addrs()
            .map(|mut all| all.next());
        let why = match found {
            Ok(Some(server)) => return Ok(server),
            Ok(None) => "it has no address".to_string(),
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= LOOKUP_TIMEOUT {
            let message = format!("the cluster's DNS cannot resolve '{address}', the DNS of the deployment: {why}");
            let help = "check that the Service exists and that pods reach the cluster's DNS: names and aliases of BOSH DNS need both";
            return Err(Diagnostic::error(codes::POD_DNS, message).help(help));
        }
        std::thread::sleep(LOOKUP_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_knows_itself_without_dns() {
        let manifest = json::parse(
            r#"{"name": "demo", "instance_groups": [{"name": "web_ui", "jobs": [{"name": "j", "properties": {"quarks": {"instances": [
              {"index": 0, "id": "web_ui-0", "address": "demo-web-ui-0.ns.svc.cluster.local"},
              {"index": 2, "id": "web_ui-2", "address": "demo-web-ui-2.ns.svc.cluster.local"}]}}}]}]}"#,
        )
        .unwrap();
        let text = hosts_of(&manifest, 2, "10.1.0.7", None);
        assert!(text.contains("127.0.0.1 localhost\n"), "{text}");
        let line = "10.1.0.7 demo-web-ui-2.ns.svc.cluster.local demo-web-ui-2.ns.svc demo-web-ui-2.ns demo-web-ui-2 ";
        assert!(text.contains(line), "{text}");
        // The group has another instance: its name is not this one's.
        assert!(!text.contains("demo-web-ui.ns"), "{text}");
        assert_eq!(
            hosts_of(&manifest, 1, "10.1.0.7", None),
            "127.0.0.1 localhost\n::1 localhost\n"
        );
    }
}
