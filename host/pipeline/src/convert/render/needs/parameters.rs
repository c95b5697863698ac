//! Parameters of the kernel that commands set, as files or with `sysctl`.

use super::{Found, Need, is_literal};
use boson_manifest::sysctl;

/// Where the kernel has its parameters as files.
const PARAMETERS_FOLDER: &str = "/proc/sys/";

/// A file that is a parameter of the kernel.
pub(super) fn of_file(file: &str) -> Option<Found<'_>> {
    let is_of_node = file.starts_with("/sys/") && !file.starts_with("/sys/fs/");
    let need = if is_of_node {
        Need::NodeParameters
    } else {
        need(file.strip_prefix(PARAMETERS_FOLDER)?)
    };
    Some(Found { need, written: file })
}

/// Of `sysctl`: what it sets, not what it reads.
pub(super) fn of_sysctl(arguments: &[String]) -> Vec<Found<'_>> {
    let names = arguments.iter().filter_map(|argument| argument.split_once('='));
    let names = names.filter(|(name, _)| !name.starts_with('-') && is_literal(name));
    let mut found: Vec<Found<'_>> = names
        .map(|(written, _)| Found {
            need: need(written),
            written,
        })
        .collect();
    let reads_files = |argument: &String| {
        argument == "--system"
            || argument.starts_with("--load")
            || (!argument.starts_with("--") && argument.starts_with('-') && argument.contains(['p', 'f']))
    };
    if arguments.iter().any(reads_files) {
        found.push(Found {
            need: Need::NodeParameters,
            written: "",
        });
    }
    found
}

/// Whether the parameter, with dots or slashes, is one of the pod or of the node. Of those that Kubernetes accepts for
/// pods, some exist only on the node.
fn need(name: &str) -> Need {
    let name = shown(name);
    let is_in = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let is_of_node = (name.starts_with("net.core.") && name != "net.core.somaxconn")
        || is_in(&["net.ipv4.tcp_mem", "net.ipv4.udp_mem", "net.ipv4.neigh.default.gc_"]);
    if sysctl::is_of_pod(&name) && !is_of_node {
        Need::PodParameters
    } else {
        Need::NodeParameters
    }
}

/// The name of a parameter with dots, from that or from its path.
pub(super) fn shown(written: &str) -> String {
    match written.strip_prefix(PARAMETERS_FOLDER) {
        None if written.starts_with('/') => written.to_string(),
        path => sysctl::with_dots(path.unwrap_or(written)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_some_parameters_and_the_node_the_others() {
        for name in [
            "net.ipv4.tcp_fin_timeout",
            "net.core.somaxconn",
            "kernel.shmmax",
            "kernel.sem",
            "fs/mqueue/msg_max",
        ] {
            assert_eq!(need(name), Need::PodParameters, "{name}");
        }
        for name in [
            "net.core.rmem_max",
            "net/netfilter/nf_conntrack_max",
            "net.ipv4.tcp_mem",
            "net.ipv4.neigh.default.gc_thresh3",
            "kernel.core_pattern",
            "fs.inotify.max_user_watches",
            "vm.swappiness",
        ] {
            assert_eq!(need(name), Need::NodeParameters, "{name}");
        }
    }

    #[test]
    fn parameters_are_shown_with_dots() {
        assert_eq!(shown("/proc/sys/net/core/somaxconn"), "net.core.somaxconn");
        assert_eq!(shown("net/core/somaxconn"), "net.core.somaxconn");
        assert_eq!(shown("/sys/block/sda"), "/sys/block/sda");
    }
}
