//! Containers of a job's lifecycle scripts, and warnings for scripts that do not run.
//!
//! `pre-start` is an init container. All others run in a sidecar of their job, beside its processes: see `container-run
//! scripts`.

use crate::codes;
use crate::container_run::{Command, PROGRAM, command_of_job};
use crate::containers::environment::{environment, passed_variables};
use crate::containers::{resources, security};
use crate::group::job::Job;
use crate::group::scripts::Scripts;
use crate::group::{Group, Lifecycle};
use crate::object::{compact, object};
use crate::volumes::{Volumes, mount, podinfo};
use boson_document::{Report, Tree};
use boson_manifest::names;

/// Warns of scripts of a job that do not run.
pub fn warn(job: &Job, group: &Group, report: &mut Report) {
    if group.lifecycle == Lifecycle::Service {
        return;
    }
    let has = job.scripts;
    let scripts = [
        (has.post_start, "post-start"),
        (has.pre_stop, "pre-stop"),
        (has.drain, "drain"),
        (has.post_stop, "post-stop"),
        (has.post_deploy, "post-deploy"),
    ];
    for (_, name) in scripts.into_iter().filter(|(given, _)| *given) {
        let text = format!(
            "Script 'bin/{name}' of job '{}' is not run: an errand begins and ends with its own program",
            job.name
        );
        report.warning(codes::SCRIPT, &job.place, text);
    }
}

/// The processes and scripts of a pod that wait for each other when it starts and stops.
#[derive(Clone, Debug)]
pub struct Members {
    /// `<job>/<process>` of all processes.
    processes: Vec<String>,
    /// Jobs with scripts that run when the pod stops.
    scripts: Vec<String>,
}

// === impl Members ===

impl Members {
    /// Of a group's pods.
    pub fn of(group: &Group) -> Self {
        let stopping = group.jobs_with_sidecar().filter(|job| job.scripts.run_at_stop());
        // Every container lists them: without a script that needs them, a group of many processes would take quadratic
        // time.
        let is_needed = group.jobs_with_sidecar().next().is_some();
        Self {
            processes: if is_needed { processes(group) } else { Vec::new() },
            scripts: stopping.map(|job| job.name.clone()).collect(),
        }
    }

    /// The command of a process, which waits for the scripts before it stops.
    pub fn wait_before_stop(&self, command: Command, group: &Group) -> Command {
        let command = command.with("--grace", grace(group).unwrap_or(DEFAULT_GRACE_SECONDS));
        if self.scripts.is_empty() {
            return command;
        }
        command
            .with("--members", self.processes.join(","))
            .with("--scripts", self.scripts.join(","))
    }
}

/// A name as an item of a list with commas.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace(',', "%2C")
}

/// `<job>/<process>` of all processes of a group.
pub fn processes(group: &Group) -> Vec<String> {
    group.jobs.iter().flat_map(processes_of).collect()
}

/// `<job>/<process>` of the processes of a job.
fn processes_of(job: &Job) -> impl Iterator<Item = String> {
    let processes = job.processes.iter();
    processes.map(|process| format!("{}/{}", job.name, escaped(&process.name)))
}

/// Kubernetes' default grace period in seconds.
const DEFAULT_GRACE_SECONDS: i64 = 30;
/// Grace period of a pod with drain scripts, for which BOSH waits without limit.
const DRAIN_GRACE_SECONDS: i64 = 600;
/// Grace period of a pod with scripts after its processes have stopped.
const POST_STOP_GRACE_SECONDS: i64 = 120;

/// `terminationGracePeriodSeconds` of the group's pods; none: Kubernetes' own.
pub fn grace(group: &Group) -> Option<i64> {
    let given = group
        .settings
        .pod
        .get("terminationGracePeriodSeconds")
        .and_then(Tree::as_i64);
    let any = |has: fn(&Scripts) -> bool| group.jobs_with_sidecar().any(|job| has(&job.scripts));
    if given.is_some() {
        given
    } else if any(|scripts| scripts.pre_stop || scripts.drain) {
        Some(DRAIN_GRACE_SECONDS)
    } else {
        any(|scripts| scripts.post_stop).then_some(POST_STOP_GRACE_SECONDS)
    }
}

/// The sidecar of a job's scripts: runs beside the processes, as BOSH's agent does.
pub fn sidecar(group: &Group, volumes: &Volumes, job: &Job) -> Tree {
    let members = Members::of(group);
    let mut command = command_of_job("scripts", job)
        .with("--members", members.processes.join(","))
        .with("--scripts", members.scripts.join(","))
        .with("--grace", grace(group).unwrap_or(DEFAULT_GRACE_SECONDS))
        .with("--persistent-disk-mb", group.disks.persistent.unwrap_or(0));
    if job.quarks.has_condition && job.scripts.post_start {
        command = command.with("--condition", "described");
    }
    let mut mounts = volumes.of_job(group, job);
    if job.scripts.post_deploy {
        command = command.with("--post-deploy", format!("{}/{}", podinfo::DIRECTORY, podinfo::FILE));
        mounts.push(mount(podinfo::VOLUME, podinfo::DIRECTORY, None, true));
    }
    let command = command.with_variables(&passed_variables(job));
    let ready = object! { "exec" => object! { "command" => vec![PROGRAM, "ready", "--job", &job.name] }, "periodSeconds" => 2_i64 };
    compact(object! {
        "name" => names::container(&["bosh-scripts", &job.name]),
        "image" => job.image.as_str(),
        "restartPolicy" => "Always",
        "command" => command.list(),
        "env" => environment(group, job),
        "readinessProbe" => job.scripts.post_start.then_some(ready),
        "resources" => resources::of_sidecar(group),
        "volumeMounts" => mounts,
        "securityContext" => security::of_scripts(job),
    })
}

/// The command of the init container of a pre-start script.
pub fn pre_start(job: &Job) -> Vec<String> {
    let command = command_of_job("script", job).with("--name", "pre-start");
    wait_after_failure(command, job)
        .with_variables(&passed_variables(job))
        .list()
}

/// `<job>/<process>` of all containers that run a pre-start script inline.
fn with_inline_pre_start(group: &Group) -> Vec<String> {
    let jobs = group.jobs.iter().filter(|job| job.runs_pre_start_inline());
    jobs.flat_map(processes_of).collect()
}

/// The command of a process, which waits for the inline pre-start scripts of the pod, and runs that of its job.
pub fn after_pre_starts(command: Command, group: &Group, job: &Job) -> Command {
    let containers = with_inline_pre_start(group);
    if containers.is_empty() {
        return command;
    }
    let command = command.with("--pre-starts", containers.join(","));
    if job.runs_pre_start_inline() {
        wait_after_failure(command, job)
    } else {
        command
    }
}

/// With `debug`, a pre-start script that failed waits for an hour, so that it can be inspected.
fn wait_after_failure(command: Command, job: &Job) -> Command {
    if job.quarks.debug {
        return command.with("--wait-after-failure", 3600);
    }
    command
}
