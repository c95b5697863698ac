//! Lifecycle scripts of a job: which there are, what runs them, and warnings for those that do not run.
//!
//! `pre-start` is an init container. All others run in a sidecar of their job, beside its processes: see `container-run scripts`.

use crate::codes;
use crate::container::{environment, passed};
use crate::group::{Group, Lifecycle};
use crate::job::Job;
use crate::object::{compact, object};
use crate::volumes::{Volumes, mount};
use crate::wrapper::{self, Command, PROGRAM, Wrapped};
use crate::{resources, security};
use boson_document::{Report, Tree, json};
use boson_manifest::{labels, names};

/// The scripts that a job has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripts {
    /// Before the processes start.
    pub pre_start: bool,
    /// After they started.
    pub post_start: bool,
    /// Before anything stops.
    pub pre_stop: bool,
    /// Before the processes stop.
    pub drain: bool,
    /// After they stopped.
    pub post_stop: bool,
    /// After all of the deployment is up.
    pub post_deploy: bool,
}

// === impl Scripts ===

impl Scripts {
    /// By the destinations of a job's templates.
    pub fn read(templates: &[String]) -> Self {
        let has = |name: &str| templates.iter().any(|template| template == name);
        Self {
            pre_start: has("bin/pre-start"),
            post_start: has("bin/post-start"),
            pre_stop: has("bin/pre-stop"),
            drain: has("bin/drain"),
            post_stop: has("bin/post-stop"),
            post_deploy: has("bin/post-deploy"),
        }
    }

    /// Whether a script runs while the processes run.
    fn beside_processes(self) -> bool {
        self.post_start || self.post_deploy || self.stopping()
    }

    /// Whether a script runs when the pod stops.
    fn stopping(self) -> bool {
        self.pre_stop || self.drain || self.post_stop
    }

    /// Warns of scripts that do not run.
    pub fn warn(self, job: &Job, group: &Group, report: &mut Report) {
        if group.lifecycle == Lifecycle::Service {
            return;
        }
        let scripts = [
            (self.post_start, "post-start"),
            (self.pre_stop, "pre-stop"),
            (self.drain, "drain"),
            (self.post_stop, "post-stop"),
            (self.post_deploy, "post-deploy"),
        ];
        for (_, name) in scripts.into_iter().filter(|(has, _)| *has) {
            let text = format!(
                "Script 'bin/{name}' of job '{}' is not run: an errand begins and ends with its own program",
                job.name
            );
            report.warning(codes::SCRIPT, &job.place, text);
        }
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
        let of_job = |job: &Job| -> Vec<String> {
            let processes = job.processes.iter();
            processes
                .map(|process| format!("{}/{}", job.name, process.name))
                .collect()
        };
        let stopping = jobs_with_sidecar(group).filter(|job| job.scripts.stopping());
        // Every container lists them: without a script that needs them, a group of many processes would take quadratic time.
        let is_needed = jobs_with_sidecar(group).next().is_some();
        let jobs = group.jobs.iter().filter(|_| is_needed);
        Self {
            processes: jobs.flat_map(of_job).collect(),
            scripts: stopping.map(|job| job.name.clone()).collect(),
        }
    }

    /// The command of a process, which waits for the scripts before it stops.
    pub fn stopping(&self, command: Command, group: &Group) -> Command {
        let command = command.with("--grace", grace(group).unwrap_or(DEFAULT_GRACE));
        if self.scripts.is_empty() {
            return command;
        }
        command
            .with("--members", self.processes.join(","))
            .with("--scripts", self.scripts.join(","))
    }
}

/// Jobs that have a container for their scripts.
pub fn jobs_with_sidecar(group: &Group) -> impl Iterator<Item = &Job> {
    let service = group.lifecycle == Lifecycle::Service;
    group
        .jobs
        .iter()
        .filter(move |job| service && job.scripts.beside_processes())
}

/// Kubernetes' default grace period in seconds.
const DEFAULT_GRACE: i64 = 30;
/// Grace period of a pod with drain scripts, for which BOSH waits without limit.
const GRACE_WITH_DRAIN: i64 = 600;
/// Grace period of a pod with scripts after its processes have stopped.
const GRACE_WITH_POST_STOP: i64 = 120;

/// `terminationGracePeriodSeconds` of the group's pods; none: Kubernetes' own.
pub fn grace(group: &Group) -> Option<i64> {
    let given = group
        .settings
        .pod
        .get("terminationGracePeriodSeconds")
        .and_then(Tree::as_i64);
    let any = |has: fn(&Scripts) -> bool| jobs_with_sidecar(group).any(|job| has(&job.scripts));
    if given.is_some() {
        given
    } else if any(|scripts| scripts.pre_stop || scripts.drain) {
        Some(GRACE_WITH_DRAIN)
    } else {
        any(|scripts| scripts.post_stop).then_some(GRACE_WITH_POST_STOP)
    }
}

/// Where the pod's own annotations are, for the scripts that wait for one.
pub const PODINFO: &str = "/etc/podinfo";
/// The volume of it.
pub const PODINFO_VOLUME: &str = "podinfo";
/// File and annotation: the operator writes it when the whole deployment is ready.
const POST_DEPLOY: (&str, &str) = ("post-deploy", labels::POST_DEPLOY);

/// The volume with the pod's annotations, where a script waits for one.
pub fn podinfo(group: &Group) -> Option<Tree> {
    jobs_with_sidecar(group).find(|job| job.scripts.post_deploy)?;
    let (file, annotation) = POST_DEPLOY;
    let field = object! { "fieldPath" => format!("metadata.annotations['{annotation}']") };
    let item = object! { "path" => file, "fieldRef" => field };
    Some(object! { "name" => PODINFO_VOLUME, "downwardAPI" => object! { "items" => vec![item] } })
}

/// The sidecar of a job's scripts: runs beside the processes, as BOSH's agent does.
pub fn sidecar(group: &Group, volumes: &Volumes, job: &Job) -> Tree {
    let members = Members::of(group);
    let mut command = wrapper::command("scripts", Wrapped::job(job))
        .with("--members", members.processes.join(","))
        .with("--scripts", members.scripts.join(","))
        .with("--grace", grace(group).unwrap_or(DEFAULT_GRACE))
        .with("--persistent-disk-mb", group.disks.persistent.unwrap_or(0));
    if let Some(condition) = job.quarks.condition.as_ref().filter(|_| job.scripts.post_start) {
        command = command.with("--condition", json::to_text(condition));
    }
    let mut mounts = volumes.of_job(group, job);
    if job.scripts.post_deploy {
        command = command.with("--post-deploy", format!("{PODINFO}/{}", POST_DEPLOY.0));
        mounts.push(mount(PODINFO_VOLUME, PODINFO, None, true));
    }
    let command = command.passing(&passed(job));
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
        "securityContext" => security::of_root(Some(job)),
    })
}

/// The sidecar that shows the log files of the pod's jobs.
pub fn logs(group: &Group) -> Tree {
    compact(object! {
        "name" => "logs",
        "image" => group.deployment.operator_image.as_str(),
        "restartPolicy" => "Always",
        "command" => wrapper::command("logs", Wrapped::pod()).list(),
        "resources" => resources::of_logs(),
        "volumeMounts" => crate::volumes::of_logs(),
        "securityContext" => security::of_plain(),
    })
}

/// The command of the init container of a pre-start script. `debug`: a failed script waits for an hour, so that it can be inspected.
pub fn pre_start(job: &Job) -> Vec<String> {
    let mut command = wrapper::command("script", Wrapped::job(job)).with("--name", "pre-start");
    if job.quarks.debug {
        command = command.with("--wait-after-failure", 3600);
    }
    command.passing(&passed(job)).list()
}
