//! The DNS server within a pod, at the link-local addresses that BOSH DNS has on a VM. Containers of apps in the pod
//! cannot reach the loopback addresses of the pod, but these; and files `dns/handlers.json` of jobs name servers on the
//! same VM.

use crate::containers::{resources, security};
use crate::group::Group;
use crate::object::{compact, object};
use crate::volumes;
use boson_document::Tree;
use boson_manifest::dns::LINK_LOCAL;

/// The name of the container.
pub const NAME: &str = "pod-dns";
/// Option of the container that writes `/etc/resolv.conf`.
pub const OPTION: &str = "--pod-dns";
/// The permission to add an address to the pod.
const CAPABILITY: &str = "NET_ADMIN";
/// Failed checks until the container restarts: one a second.
const MAX_FAILED_CHECKS: i64 = 30;

/// Whether a group's pods have the server.
pub fn is_needed(group: &Group) -> bool {
    group.jobs.iter().any(|job| job.needs_pod_dns)
}

pub fn sidecar(group: &Group) -> Tree {
    let check = vec![
        "host".to_string(),
        "dns".into(),
        "check".into(),
        format!("{}:53", LINK_LOCAL[0]),
    ];
    let probe = object! {
        "exec" => object! { "command" => check }, "periodSeconds" => 1_i64, "failureThreshold" => MAX_FAILED_CHECKS,
    };
    compact(object! {
        "name" => NAME,
        "image" => group.deployment.operator_image.as_str(),
        "restartPolicy" => "Always",
        "command" => vec!["host", "dns", "pod"],
        "startupProbe" => probe,
        "resources" => resources::of_logs(),
        "volumeMounts" => volumes::of_pod_dns(),
        "securityContext" => security::of_root().with("capabilities", object! { "add" => vec![CAPABILITY] }),
    })
}
