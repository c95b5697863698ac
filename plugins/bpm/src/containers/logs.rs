//! The container that shows the log files which the jobs of a pod write themselves.
//!
//! Where scripts run, it is a sidecar and the first init container: so it shows what they log before the processes
//! start, and, because Kubernetes stops sidecars in reverse order, what they log while the pod stops. In other pods
//! only processes log. There it is the last container, because the kubelet takes about a second to start what follows a
//! sidecar; it stops after the processes by itself.

use crate::container_run::{Command, LOGS_CONTAINER, command_in_image};
use crate::containers::lifecycle_scripts::processes;
use crate::containers::{resources, security};
use crate::group::job::Job;
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use crate::volumes;
use boson_document::Tree;

/// As a sidecar, if scripts may log.
pub fn sidecar(group: &Group) -> Option<Tree> {
    (!group.settings.no_logs && has_scripts(group)).then(|| container(group, Some("Always"), &command_in_image("logs")))
}

/// As a container, if only processes log.
pub fn last_container(group: &Group) -> Option<Tree> {
    // It ends when none of these processes runs any more.
    let command = || command_in_image("logs").with("--members", processes(group).join(","));
    (!group.settings.no_logs && !has_scripts(group)).then(|| container(group, None, &command()))
}

/// A pod of an errand ends with its other containers, so it needs a sidecar.
fn has_scripts(group: &Group) -> bool {
    let is_service = group.lifecycle == Lifecycle::Service;
    let before = |job: &Job| job.scripts.pre_start || job.quarks.pre_render;
    !is_service || group.jobs.iter().any(before) || group.jobs_with_sidecar().next().is_some()
}

fn container(group: &Group, restart_policy: Option<&str>, command: &Command) -> Tree {
    compact(object! {
        "name" => LOGS_CONTAINER,
        "image" => group.deployment.operator_image.as_str(),
        "restartPolicy" => restart_policy,
        "command" => command.list(),
        "resources" => resources::of_logs(),
        "volumeMounts" => volumes::of_logs(),
        "securityContext" => security::of_plain(),
    })
}
