//! Who containers run as and what they may do.

use crate::job::Job;
use crate::object::{compact, object};
use crate::process::Process;
use boson_document::{Map, Tree};
use std::collections::HashSet;

/// User and group of BOSH's `vcap`.
pub const VCAP: i64 = 1000;

/// `securityContext` of the pod.
pub fn of_pod() -> Tree {
    object! {
        "runAsUser" => VCAP,
        "runAsGroup" => VCAP,
        "fsGroup" => VCAP,
        "seccompProfile" => object! { "type" => "RuntimeDefault" },
    }
}

/// `securityContext` of a process.
pub fn of_process(job: &Job, process: &Process) -> Tree {
    let mut capabilities = if process.privileged {
        Vec::new()
    } else {
        process.capabilities.clone()
    };
    capabilities.extend(job.quarks.capabilities.clone());
    let mut seen = HashSet::new();
    capabilities.retain(|name| seen.insert(name.clone()));
    let root = process.privileged || !capabilities.is_empty();
    let mut context = Map::new();
    if process.privileged {
        context.insert("privileged".into(), true.into());
        context.insert("seccompProfile".into(), object! { "type" => "Unconfined" });
    } else {
        context.insert("allowPrivilegeEscalation".into(), false.into());
    }
    if root {
        run_as_root(&mut context);
    } else if let Some(uid) = job.uid {
        context.insert("runAsUser".into(), uid.into());
    }
    context.insert("capabilities".into(), compact(object! { "add" => capabilities }));
    context.extend(job.quarks.security_context.clone());
    consistent(context)
}

/// `securityContext` of a container that does what root does on a VM, for a job or for none.
pub fn of_root(job: Option<&Job>) -> Tree {
    let mut context = Map::from([("allowPrivilegeEscalation".to_string(), Tree::Bool(false))]);
    context.extend(job.map(|job| job.quarks.security_context.clone()).unwrap_or_default());
    context.shift_remove("runAsNonRoot");
    run_as_root(&mut context);
    consistent(context)
}

/// `securityContext` of a container without any rights.
pub fn of_plain() -> Tree {
    object! { "allowPrivilegeEscalation" => false }
}

fn run_as_root(context: &mut Map) {
    context.insert("runAsUser".into(), 0_i64.into());
    context.insert("runAsGroup".into(), 0_i64.into());
}

/// Kubernetes refuses to forbid escalation to what has it anyway.
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
