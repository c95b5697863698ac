//! The sidecar that answers on monit's port, in the pods of groups with a job that uses it: see `container-run
//! monit-http`.

use crate::container_run::{self, HOME, VOLUME};
use crate::containers::{resources, security};
use crate::group::Group;
use crate::group::job::Job;
use crate::object::{compact, object};
use crate::process::clean;
use crate::volumes::{mount, paths};
use boson_document::Tree;
use boson_manifest::container_run::VCAP_ID;

/// The name of the container.
pub const NAME: &str = "monit-http";
/// On a VM a firewall closes the port. The program that opens it for a process is here, so a process that mounts this
/// directory uses the port.
const HELPERS: &str = "/var/vcap/bosh/etc";

/// Whether a group's pods have the sidecar.
pub fn is_needed(group: &Group) -> bool {
    group.jobs.iter().any(uses_port)
}

/// Whether the job uses the port, from its property `quarks.monit_http` or otherwise its volumes.
fn uses_port(job: &Job) -> bool {
    let mut volumes = job.processes.iter().flat_map(paths);
    let by_volume = || volumes.any(|(volume, _)| clean(&volume.path) == HELPERS);
    job.quarks.monit_http.unwrap_or_else(by_volume)
}

pub fn sidecar(group: &Group) -> Tree {
    compact(object! {
        "name" => NAME,
        "image" => group.deployment.operator_image.as_str(),
        "restartPolicy" => "Always",
        "command" => container_run::command(NAME).list(),
        "resources" => resources::of_logs(),
        // Sockets can be used through a read-only mount.
        "volumeMounts" => vec![mount(VOLUME, HOME, None, true)],
        "securityContext" => security(group),
    })
}

/// Only its own user and root can connect to the socket of a process's container.
fn security(group: &Group) -> Tree {
    let processes = group.all_processes();
    let mut users = processes.map(|(job, process)| security::of_process(job, process).get("runAsUser").cloned());
    let is_vcap = users.all(|user| user.is_none_or(|user| user == Tree::from(VCAP_ID)));
    security::of_vcap_or_root(is_vcap)
}
