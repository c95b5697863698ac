//! Users and privileges of containers.

use crate::job::Job;
use crate::object::{compact, object};
use crate::process::Process;
use boson_document::{Map, Tree};
use std::collections::HashSet;

/// User and group of BOSH's `vcap`.
pub const VCAP: i64 = 1000;

/// `securityContext` of a pod with these kernel parameters.
pub fn of_pod(sysctls: Vec<Tree>) -> Tree {
    compact(object! {
        "runAsUser" => VCAP,
        "runAsGroup" => VCAP,
        "fsGroup" => VCAP,
        "seccompProfile" => object! { "type" => "RuntimeDefault" },
        "sysctls" => sysctls,
    })
}

/// `securityContext` of a process. A process with capabilities, which Kubernetes gives to root only, or with a hook,
/// which BPM runs as root, starts as root: the process wrapper then changes to vcap. Processes that monit runs stay
/// root.
pub fn of_process(job: &Job, process: &Process) -> Tree {
    if job.is_errand {
        return of_root(Some(job));
    }
    let mut capabilities = if process.privileged {
        Vec::new()
    } else {
        process.capabilities.clone()
    };
    capabilities.extend(job.quarks.capabilities.clone());
    let mut seen = HashSet::new();
    capabilities.retain(|name| seen.insert(name.clone()));
    let hook = process.pre_start.is_some() && !needs_no_root(job);
    let monit = process.monit.is_some() && !needs_no_root(job);
    let root = process.privileged || !capabilities.is_empty() || hook || monit;
    let mut context = if root { Map::new() } else { unprivileged(job) };
    if process.privileged {
        context.insert("privileged".into(), true.into());
        context.insert("seccompProfile".into(), object! { "type" => "Unconfined" });
    } else {
        context.entry("allowPrivilegeEscalation".into()).or_insert(false.into());
    }
    if root {
        run_as_root(&mut context);
        // Root keeps the runtime's default capabilities: without them it could not access files of vcap.
        context.insert("capabilities".into(), compact(object! { "add" => capabilities }));
    }
    context.extend(job.quarks.security_context.clone());
    consistent(context)
}

/// `securityContext` of a container for tasks of root on a VM, with or without a job: root, unless the job needs no
/// root.
pub fn of_root(job: Option<&Job>) -> Tree {
    if let Some(job) = job.filter(|job| needs_no_root(job)) {
        let mut context = unprivileged(job);
        context.extend(job.quarks.security_context.clone());
        return consistent(context);
    }
    let mut context = Map::from([("allowPrivilegeEscalation".to_string(), Tree::Bool(false))]);
    context.extend(job.map(|job| job.quarks.security_context.clone()).unwrap_or_default());
    context.shift_remove("runAsNonRoot");
    run_as_root(&mut context);
    consistent(context)
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
