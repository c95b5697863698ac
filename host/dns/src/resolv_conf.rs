//! The `/etc/resolv.conf` of a pod: the server in the pod, if it has one, then the deployment's DNS, then the
//! cluster's.

use std::fmt::Write as _;
use std::net::IpAddr;

/// Most servers that resolvers use.
const MAX_SERVERS: usize = 3;

/// The content: the pod's own file with these servers at the front.
///
/// Names of BOSH have dots, and none of them is meant relative to the cluster's domains: with the `ndots:5` that
/// Kubernetes sets, each of them would be asked for below three or four other domains first. Names of Services without
/// dots are still searched for.
pub fn with_servers(own: &str, first: &[IpAddr]) -> String {
    let mut servers: Vec<String> = first.iter().map(IpAddr::to_string).collect();
    let (mut other, mut options) = (String::new(), Vec::new());
    for line in own.lines().map(str::trim) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => servers.extend(words.next().map(String::from)),
            Some("options") => options.extend(words.filter(|word| !is_ours(word)).map(String::from)),
            // Writing to a text never fails.
            Some("search" | "domain" | "sortlist") => drop(writeln!(other, "{line}")),
            _ => {}
        }
    }
    let mut text = String::from("# DNS servers that know BOSH's names and aliases, then the cluster's.\n");
    let mut seen = std::collections::HashSet::new();
    servers.retain(|one| seen.insert(one.clone()));
    for server in servers.into_iter().take(MAX_SERVERS) {
        let _ = writeln!(text, "nameserver {server}");
    }
    options.extend(OWN_OPTIONS.map(String::from));
    let _ = writeln!(text, "{other}options {}", options.join(" "));
    text
}

/// Resolvers try the next server after two seconds instead of five.
const OWN_OPTIONS: [&str; 3] = ["ndots:1", "timeout:2", "attempts:3"];

fn is_ours(option: &str) -> bool {
    let name = |option: &str| option.split(':').next().unwrap_or_default().to_string();
    OWN_OPTIONS.iter().any(|own| name(own) == name(option))
}

pub fn servers(text: &str) -> Vec<IpAddr> {
    let server = |line: &str| line.trim().strip_prefix("nameserver")?.trim().parse().ok();
    text.lines().filter_map(server).take(MAX_SERVERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deployments_server_comes_first() {
        let own = "search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5 edns0\n";
        let wanted = "# DNS servers that know BOSH's names and aliases, then the cluster's.\nnameserver 10.0.0.7\nnameserver 10.96.0.10\n\
                      search ns.svc.cluster.local svc.cluster.local cluster.local\noptions edns0 ndots:1 timeout:2 attempts:3\n";
        assert_eq!(with_servers(own, &[[10, 0, 0, 7].into()]), wanted);
        // Read again, as after a restart of the container.
        assert_eq!(with_servers(wanted, &[[10, 0, 0, 7].into()]), wanted);
        assert_eq!(
            servers(wanted),
            [IpAddr::from([10, 0, 0, 7]), IpAddr::from([10, 96, 0, 10])]
        );
        let all = with_servers(own, &[[169, 254, 0, 2].into(), [10, 0, 0, 7].into()]);
        assert_eq!(servers(&all).first(), Some(&IpAddr::from([169, 254, 0, 2])));
        assert!(servers("nameserver\nnameserver x\n# nameserver 1.1.1.1\n").is_empty());
    }
}
