//! Users and privileges of containers.

use crate::codes;
use crate::group::Group;
use crate::group::job::Job;
use crate::object::{compact, object};
use crate::process::Process;
use boson_document::{Map, Report, Tree};
use boson_manifest::container_run::VCAP_ID;
use indexmap::IndexSet;
use std::slice;

/// `securityContext` of a pod with these kernel parameters.
pub fn of_pod(sysctls: Vec<Tree>) -> Tree {
    compact(object! {
        "runAsUser" => VCAP_ID,
        "runAsGroup" => VCAP_ID,
        "fsGroup" => VCAP_ID,
        "seccompProfile" => object! { "type" => "RuntimeDefault" },
        "sysctls" => sysctls,
    })
}

/// What bpm.yml and the job property `quarks` request for a container.
struct Requested {
    privileged: bool,
    capabilities: IndexSet<String>,
}

// === impl Requested ===

impl Requested {
    /// By these processes of a job.
    fn by(job: &Job, processes: &[Process]) -> Self {
        let privileged = processes.iter().any(|process| process.privileged);
        // A privileged container has all of them.
        let of_processes = processes.iter().filter(|_| !privileged);
        let capabilities = of_processes.flat_map(|process| &process.capabilities);
        Self {
            privileged,
            capabilities: capabilities.chain(&job.quarks.capabilities).cloned().collect(),
        }
    }

    /// Members of the context of a container that starts as root, except for its user and capabilities.
    fn context(&self) -> Map {
        if self.privileged {
            let seccomp = object! { "type" => "Unconfined" };
            return Map::from([("privileged".into(), true.into()), ("seccompProfile".into(), seccomp)]);
        }
        Map::from([("allowPrivilegeEscalation".into(), false.into())])
    }

    /// Capabilities besides the runtime's defaults, which root keeps: without them it could not access files of vcap.
    fn added(self) -> Tree {
        let names: Vec<String> = self.capabilities.into_iter().collect();
        compact(object! { "add" => names })
    }
}

/// Warns of privileges of processes that a job without root does not get: Kubernetes gives them to root only, and
/// starts no container that must be root and must not.
pub fn warn(job: &Job, report: &mut Report) {
    if !needs_no_root(job) {
        return;
    }
    for process in &job.processes {
        let Requested {
            privileged,
            capabilities,
        } = Requested::by(job, slice::from_ref(process));
        let what = if privileged {
            "'unsafe.privileged'"
        } else if capabilities.is_empty() {
            continue;
        } else {
            "'capabilities'"
        };
        let text = format!(
            "{what} of process '{}' has no effect: job '{}' has runAsNonRoot, and Kubernetes gives privileges to root only",
            process.name, job.name
        );
        let help = "remove runAsNonRoot from `quarks.run.security_context`: then the process starts as root, and the \
                    process wrapper changes to vcap";
        report.warning(codes::DROPPED, &process.place, text).help(help);
    }
}

/// `securityContext` of a process. A process with capabilities, which Kubernetes gives to root only, or with a hook or
/// an inline pre-start script, which run as root, starts as root: container-run then changes to vcap. Processes that
/// monit runs stay root. A job that needs no root has none of this.
pub fn of_process(job: &Job, process: &Process) -> Tree {
    if job.is_errand {
        return of_scripts(job);
    }
    let requested = Requested::by(job, slice::from_ref(process));
    let runs_hook = process.pre_start.is_some() || job.runs_pre_start_inline();
    let has_privileges = requested.privileged || !requested.capabilities.is_empty();
    let is_root = has_privileges || runs_hook || process.monit.is_some();
    let mut context = if is_root && !needs_no_root(job) {
        let mut context = requested.context();
        run_as_root(&mut context);
        context.insert("capabilities".into(), requested.added());
        context
    } else {
        unprivileged(job)
    };
    context.extend(job.quarks.security_context.clone());
    consistent(context)
}

/// `securityContext` of a container for a job's scripts, which run as root, unless the job needs no root. On a VM they
/// may do everything: here, what one of the job's processes may do.
pub fn of_scripts(job: &Job) -> Tree {
    let given = job.quarks.security_context.clone();
    if needs_no_root(job) {
        let mut context = unprivileged(job);
        context.extend(given);
        return consistent(context);
    }
    let requested = Requested::by(job, &job.processes);
    let mut context = requested.context();
    context.insert("capabilities".into(), requested.added());
    context.extend(given);
    context.shift_remove("runAsNonRoot");
    run_as_root(&mut context);
    consistent(context)
}

/// `securityContext` of a container that runs a program of the operator as root.
pub fn of_root() -> Tree {
    let mut context = Map::from([("allowPrivilegeEscalation".into(), false.into())]);
    run_as_root(&mut context);
    context.into()
}

/// `securityContext` of a container that copies files of a release's image. The image decides who can read them: root
/// can, and so can vcap if all jobs of the release need no root.
pub fn of_copier(group: &Group, release: &str) -> Tree {
    let mut jobs = group.jobs.iter().filter(|job| job.release == release);
    of_vcap_or_root(jobs.all(needs_no_root))
}

/// `securityContext` of a container of the operator, which runs as vcap where that is enough.
pub fn of_vcap_or_root(is_vcap: bool) -> Tree {
    if is_vcap {
        return of_plain();
    }
    of_root()
}

/// `securityContext` of a container without privileges, as the `restricted` profile of Kubernetes asks for.
pub fn of_plain() -> Tree {
    object! {
        "allowPrivilegeEscalation" => false,
        "runAsNonRoot" => true,
        "capabilities" => object! { "drop" => vec!["ALL"] },
    }
}

/// Whether the job's scripts and hooks run as vcap, too: it has `runAsNonRoot`.
pub fn needs_no_root(job: &Job) -> bool {
    job.quarks.security_context.get("runAsNonRoot") == Some(&Tree::Bool(true))
}

/// What the `restricted` profile asks of a container. A user id 0, of the image or of the job, is still root, and keeps
/// its privileges.
fn unprivileged(job: &Job) -> Map {
    let given = &job.quarks.security_context;
    let mut context = Map::from([("allowPrivilegeEscalation".to_string(), Tree::Bool(false))]);
    if let Some(uid) = job.uid {
        context.insert("runAsUser".into(), uid.into());
    }
    let user = given.get("runAsUser").and_then(Tree::as_i64).or(job.uid);
    if user != Some(0) && given.get("privileged") != Some(&Tree::Bool(true)) {
        context.insert("runAsNonRoot".into(), true.into());
        context.insert("capabilities".into(), object! { "drop" => vec!["ALL"] });
    }
    context
}

fn run_as_root(context: &mut Map) {
    context.insert("runAsUser".into(), 0_i64.into());
    context.insert("runAsGroup".into(), 0_i64.into());
}

/// Kubernetes refuses `allowPrivilegeEscalation: false` for privileged containers.
fn consistent(mut context: Map) -> Tree {
    let privileged = context.get("privileged") == Some(&Tree::Bool(true));
    let added = context
        .get("capabilities")
        .map_or(&[][..], |capabilities| capabilities.items("add"));
    let admin = added
        .iter()
        .any(|name| matches!(name.as_str(), Some("SYS_ADMIN" | "CAP_SYS_ADMIN")));
    if (privileged || admin) && context.get("allowPrivilegeEscalation") == Some(&Tree::Bool(false)) {
        context.shift_remove("allowPrivilegeEscalation");
    }
    compact(context.into())
}
