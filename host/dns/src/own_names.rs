//! The `/etc/hosts` of a pod: all names of its instance resolve to the pod's own address, so that a process can listen
//! there.

use crate::resolve::expand_alias;
use crate::zone::Zone;
use boson_manifest::dns::fits;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;

/// Most names on one line: resolvers read lines of bounded length.
const MAX_NAMES_PER_LINE: usize = 8;
const MAX_NAMES: usize = 500;
/// What queries of links and aliases begin with, for a group with one instance.
const OWN_QUERIES: [&str; 3] = ["q-s0", "q-s3", "q-s4"];

/// The instance that a pod is.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    pub ip: IpAddr,
    /// `spec.address`: full name of its Service.
    pub address: &'a str,
    /// `spec.id`.
    pub id: &'a str,
    /// Full name of its group's Service.
    pub group_address: &'a str,
    /// The group has no other instance.
    pub is_alone: bool,
    pub hostname: &'a str,
    /// Names of BOSH DNS, where the deployment has any.
    pub zone: Option<&'a Zone>,
}

/// The content of the file.
pub fn hosts(own: &Own<'_>) -> String {
    let mut text = String::from("# Names of this instance: its own address, so that its processes can listen there.\n");
    text.push_str("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
    for some in names(own).chunks(MAX_NAMES_PER_LINE) {
        // Writing to a text never fails.
        let _ = writeln!(text, "{} {}", own.ip, some.join(" "));
    }
    text
}

fn names(own: &Own<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut service = |address: &str| {
        let short = address.split('.').next().unwrap_or_default();
        let with_namespace: Vec<&str> = address.split('.').take(2).collect();
        let with_service: Vec<&str> = address.split('.').take(3).collect();
        all.extend([address, &with_service.join("."), &with_namespace.join("."), short].map(String::from));
    };
    service(own.address);
    if own.is_alone {
        service(own.group_address);
    }
    all.push(own.hostname.to_string());
    if let Some(zone) = own.zone {
        add_names_of_zone(own, zone, &mut all);
    }
    let mut seen = HashSet::new();
    all.retain(|name| is_host(name) && seen.insert(name.clone()));
    all.truncate(MAX_NAMES);
    all
}

fn add_names_of_zone(own: &Own<'_>, zone: &Zone, all: &mut Vec<String>) {
    let id = own.id.to_lowercase();
    let Some(instance) = zone.by_id.get(&id).and_then(|some| some.first()) else {
        return;
    };
    let instance = &zone.instances[*instance];
    let Some(group) = zone.groups.get(instance.group) else {
        return;
    };
    for deployment in &zone.deployments {
        for network in &zone.networks {
            let below = format!("{group}.{network}.{deployment}.{}", zone.root);
            all.push(format!("{id}.{below}"));
            if own.is_alone {
                all.extend(OWN_QUERIES.map(|query| format!("{query}.{below}")));
            }
        }
    }
    for (domain, _) in zone.aliases.iter() {
        let name = match domain.strip_prefix("_.") {
            Some(rest) => format!("{id}.{rest}"),
            None => domain.to_string(),
        };
        if leads_only_here(own, zone, &name, group, &id) {
            all.push(name);
        }
    }
}

/// Do all targets of an alias lead to this instance, and to no other?
fn leads_only_here(own: &Own<'_>, zone: &Zone, name: &str, group: &str, id: &str) -> bool {
    let targets = expand_alias(zone, name).unwrap_or_default();
    let here = |target: &String| {
        let mut labels = target.split('.');
        let mut next = || labels.next().unwrap_or_default();
        let (first, of, network, deployment) = (next(), next(), next(), next());
        let any = |pattern: &str, known: &[String]| known.iter().any(|label| fits(pattern, label));
        let of_group = of == group && any(network, &zone.networks) && any(deployment, &zone.deployments);
        let named = first == id;
        // A pattern may match groups that this document does not have.
        let all = (first == "*" || first.starts_with("q-")) && own.is_alone;
        target == own.address || (of_group && (named || all)) || (target == own.group_address && own.is_alone)
    };
    // `_` expands to every group; with the id of an instance, only its own group has members.
    let wildcard = zone.aliases.get(name).is_none();
    if wildcard {
        targets.iter().any(here)
    } else {
        !targets.is_empty() && targets.iter().all(here)
    }
}

/// What `/etc/hosts` can hold. Resolvers accept `_`, although the standards do not.
fn is_host(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !name.is_empty() && name.len() <= 253 && name.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::AliasFiles;

    const PART: &str = r#"{"version": 1, "deployment": "demo", "namespace": "ns", "clusterDomain": "cluster.local", "root": "bosh",
      "deployments": ["demo"], "networks": ["default"], "groups": [{"name": "db", "instances": COUNT}],
      "aliases": {"db.s": ["*.db.default.demo.bosh"], "_.db.s": ["_.db.default.demo.bosh"], "all.s": ["q-s4.*.default.demo.bosh"],
        "both.s": ["*.db.default.demo.bosh", "*.web.default.demo.bosh"], "other.s": ["*.db.default.elsewhere.bosh"], "ip.s": ["10.0.0.1"]}}"#;

    fn text(count: u32) -> String {
        let zone = Zone::read(&PART.replace("COUNT", &count.to_string()), &AliasFiles::new()).unwrap();
        hosts(&Own {
            ip: [10, 1, 0, 7].into(),
            address: "demo-db-0.ns.svc.cluster.local",
            id: "db-0",
            group_address: "demo-db.ns.svc.cluster.local",
            is_alone: count == 1,
            hostname: "demo-db-v1-0",
            zone: Some(&zone),
        })
    }

    fn names(count: u32) -> Vec<String> {
        let text = text(count);
        let lines = text.lines().filter_map(|line| line.strip_prefix("10.1.0.7 "));
        lines
            .flat_map(|line| line.split(' ').map(String::from).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn the_only_instance_has_the_names_of_its_group_and_another_only_its_own() {
        let own = |all: &[String], name: &str| all.iter().any(|one| one == name);
        let (alone, of_two) = (names(1), names(2));
        for name in [
            "demo-db-0.ns.svc.cluster.local",
            "demo-db-0.ns.svc",
            "demo-db-0",
            "demo-db-v1-0",
            "db-0.db.default.demo.bosh",
            "db-0.db.s",
        ] {
            assert!(own(&alone, name) && own(&of_two, name), "{name}: {alone:?} {of_two:?}");
        }
        for name in [
            "demo-db.ns.svc.cluster.local",
            "demo-db",
            "q-s0.db.default.demo.bosh",
            "db.s",
        ] {
            assert!(own(&alone, name) && !own(&of_two, name), "{name}: {alone:?} {of_two:?}");
        }
        // These names also, or only, resolve to other addresses.
        for name in ["both.s", "all.s", "other.s", "ip.s"] {
            assert!(!own(&alone, name), "{name}: {alone:?}");
        }
    }

    #[test]
    fn lines_are_short() {
        assert!(
            text(1)
                .lines()
                .all(|line| line.split(' ').count() <= MAX_NAMES_PER_LINE + 1 || line.starts_with('#'))
        );
        assert!(text(1).contains("\n127.0.0.1 localhost\n"));
    }
}
