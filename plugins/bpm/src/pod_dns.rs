//! The DNS server within a pod, at the link-local addresses that BOSH DNS has on a VM. Containers of apps in the pod
//! cannot reach the loopback addresses of the pod, but these; and files `dns/handlers.json` of jobs name servers on the
//! same VM.

use crate::group::Group;
use crate::object::{compact, object};
use crate::request::JobFiles;
use crate::volumes;
use crate::{resources, security};
use boson_document::Tree;
use boson_manifest::dns::{HANDLER_FILE, LINK_LOCAL};

/// The name of the container.
pub const NAME: &str = "pod-dns";
/// Option of the container that writes `/etc/resolv.conf`.
pub const OPTION: &str = "--pod-dns";
/// The permission to add an address to the pod.
const CAPABILITY: &str = "NET_ADMIN";
/// Failed checks until the container restarts: one a second.
const MAX_FAILED_CHECKS: i64 = 30;

/// Whether the job needs the server: it has a file of handlers, or a property with an address of BOSH DNS, as
/// `silk-cni` has one for the containers of apps. `quarks.link_local_dns` decides otherwise.
pub fn is_asked_for(files: &JobFiles, properties: Option<&Tree>, quarks: Option<&Tree>) -> bool {
    let given = quarks.and_then(|quarks| quarks.get("link_local_dns"));
    given.and_then(Tree::as_bool).unwrap_or_else(|| {
        let has_handlers = files.templates.iter().any(|template| template == HANDLER_FILE);
        has_handlers || properties.is_some_and(names_address)
    })
}

fn names_address(properties: &Tree) -> bool {
    match properties {
        Tree::String(text) => LINK_LOCAL.contains(&text.as_str()),
        Tree::Array(items) => items.iter().any(names_address),
        Tree::Object(map) => map.values().any(names_address),
        _ => false,
    }
}

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
