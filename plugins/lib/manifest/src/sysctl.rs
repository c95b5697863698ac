//! Names of kernel parameters (sysctls), and which of them pods can have.

use crate::syntax::consists_of;

/// Those that Kubernetes allows in every pod, since 1.32 at the latest.
const SAFE: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];
/// Parameters below `net.` that a network namespace does not have, or cannot change.
const OF_NODE: [&str; 3] = [
    "net.netfilter.nf_conntrack_expect_max",
    "net.netfilter.nf_conntrack_max",
    "net.nf_conntrack_max",
];
const MAX_NAME_LENGTH: usize = 253;

/// The name with dots between its parts, as Kubernetes compares names: `net/ipv4/conf/eth0.1/rp_filter` is
/// `net.ipv4.conf.eth0/1.rp_filter`.
pub fn with_dots(name: &str) -> String {
    let is_separator = |c: &char| matches!(c, '.' | '/');
    if name.chars().find(is_separator) != Some('/') {
        return name.to_string();
    }
    let swapped = name.chars().map(|c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    swapped.collect()
}

/// Whether Kubernetes accepts the name, with dots or slashes.
pub fn is_name(name: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| !part.is_empty() && consists_of(part, is_end, b"-_");
    name.len() <= MAX_NAME_LENGTH && name.split(['.', '/']).all(is_part)
}

/// Whether each pod has its own value; the nodes have those of all other parameters. `name` has dots.
pub fn is_of_pod(name: &str) -> bool {
    let prefixes = ["kernel.shm", "kernel.msg", "fs.mqueue.", "net."];
    let is_namespaced = name == "kernel.sem" || prefixes.iter().any(|prefix| name.starts_with(prefix));
    is_namespaced && !OF_NODE.contains(&name)
}

/// Whether Kubernetes allows it in every pod. `name` has dots.
pub fn is_safe(name: &str) -> bool {
    SAFE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_decides_what_slashes_mean() {
        for (name, dots) in [
            ("kernel.shmmax", "kernel.shmmax"),
            ("kernel/shmmax", "kernel.shmmax"),
            ("net.ipv4.conf.eth0/1.rp_filter", "net.ipv4.conf.eth0/1.rp_filter"),
            ("net/ipv4/conf/eth0.1/rp_filter", "net.ipv4.conf.eth0/1.rp_filter"),
            ("kernel", "kernel"),
        ] {
            assert_eq!(with_dots(name), dots, "{name}");
        }
    }

    #[test]
    fn names_obey_kubernetes() {
        for (name, is_good) in [
            ("kernel.shm_rmid_forced", true),
            ("net/ipv4/conf/eth0.1/rp_filter", true),
            ("a-b_c.0", true),
            ("", false),
            ("net..ipv4", false),
            ("net.ipv4.", false),
            ("net._a", false),
            ("net.IPv4", false),
            ("net.ipv4 a", false),
            (&"x".repeat(254), false),
        ] {
            assert_eq!(is_name(name), is_good, "{name}");
        }
    }

    #[test]
    fn pods_have_what_is_namespaced() {
        for name in [
            "kernel.shmall",
            "kernel.msgmax",
            "kernel.sem",
            "fs.mqueue.msg_max",
            "net.core.somaxconn",
        ] {
            assert!(is_of_pod(name) && !is_safe(name), "{name}");
        }
        for name in [
            "vm.max_map_count",
            "kernel.sem2",
            "fs.file-max",
            "netx.a",
            "net.netfilter.nf_conntrack_max",
        ] {
            assert!(!is_of_pod(name), "{name}");
        }
        assert!(SAFE.iter().all(|name| is_name(name) && is_of_pod(name)));
    }
}
