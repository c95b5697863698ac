//! Finds the privileges that a deployment asks for: in the bpm.yml of its jobs, in the job property `quarks`, and in
//! the `env` of a group.

use super::requested::{of_container, of_volume};
use super::{Privilege, Privileges, capability};
use crate::stage::JobFiles;
use boson_document::{Map, Tree};
use boson_manifest::group::settings;
use boson_manifest::{dns, job, sysctl};

/// Privileges of an instance group. `document`: its resolved document; `jobs`: its rendered bpm.
pub fn of_group(document: &Tree, jobs: &[JobFiles]) -> Privileges {
    let mut granted = Privileges::default();
    for copy in jobs.iter().flat_map(|job| &job.bpm) {
        granted.extend(of_bpm(&copy.bpm));
    }
    for group in document.items("instance_groups") {
        granted.extend(of_settings(group));
        granted.extend(of_errand(group, jobs));
        for entry in group.items("jobs") {
            let properties = entry.get("properties").and_then(Tree::as_object);
            for (_, quarks) in properties.into_iter().flat_map(job::quarks) {
                granted.extend(of_quarks(quarks));
            }
            granted.extend(entry.get("quarks").into_iter().flat_map(of_quarks));
            granted.extend(of_pod_server(entry, jobs));
        }
    }
    granted
}

fn of_bpm(bpm: &Tree) -> Vec<Privilege> {
    let processes = bpm.items("processes").iter().flat_map(of_process);
    // monit runs everything as root.
    let monit = bpm.get("monit").map(|_| Privilege::of("runAsUser", "0"));
    processes.chain(monit).collect()
}

fn of_process(process: &Tree) -> Vec<Privilege> {
    let mut granted = capabilities(process.items("capabilities"));
    // BPM runs hooks as root.
    let hook = process.find(&["hooks", "pre_start"]);
    if hook.is_some_and(|hook| !hook.is_null()) {
        granted.push(Privilege::of("runAsUser", "0"));
    }
    let asks = |right: &str| process.find(&["unsafe", right]) == Some(&Tree::Bool(true));
    if asks("privileged") {
        granted.extend(privileged());
    }
    if asks("host_pid_namespace") {
        granted.push(Privilege::any("hostPID"));
    }
    granted
}

/// BOSH runs errands as root.
fn of_errand(group: &Tree, jobs: &[JobFiles]) -> Option<Privilege> {
    let is_errand = matches!(group.str("lifecycle"), Some("errand" | "auto-errand"));
    let mut templates = jobs.iter().flat_map(|job| &job.templates);
    (is_errand && templates.any(|template| template == "bin/run")).then(|| Privilege::of("runAsUser", "0"))
}

/// The DNS server within a pod adds the addresses at which it answers.
fn of_pod_server(entry: &Tree, jobs: &[JobFiles]) -> Vec<Privilege> {
    let member = |name: &str| entry.str(name).unwrap_or_default();
    let files = jobs
        .iter()
        .find(|files| files.job == member("name") && files.release == member("release"));
    let templates = files.map(|files| files.templates.as_slice()).unwrap_or_default();
    let granted = dns::needs_pod_server(entry, templates).then(|| capabilities(&["NET_ADMIN".into()]));
    granted.unwrap_or_default()
}

fn of_quarks(quarks: &Tree) -> Vec<Privilege> {
    let mut granted = quarks.get("bpm").map(of_bpm).unwrap_or_default();
    let Some(run) = quarks.get("run") else {
        return granted;
    };
    granted.extend(capabilities(run.items("capabilities")));
    // The script runs as root in the containers of processes.
    if run.str("pre_start") == Some("inline") {
        granted.push(Privilege::of("runAsUser", "0"));
    }
    let sysctls = run.get("sysctls").and_then(Tree::as_object);
    let names = sysctls.into_iter().flat_map(Map::keys);
    granted.extend(names.map(|name| Privilege::of("sysctls", sysctl::with_dots(name))));
    if let Some(context) = run.get("security_context") {
        let asked = of_container(&Tree::object().with("securityContext", context.clone()));
        for one in asked {
            if one.privilege == Privilege::any("privileged") {
                granted.extend(privileged());
            }
            granted.push(one.privilege);
        }
    }
    granted
}

/// `env.bosh.agent.settings`.
fn of_settings(group: &Tree) -> Vec<Privilege> {
    let Some(settings) = settings(group) else {
        return Vec::new();
    };
    let mut granted = Vec::new();
    if let Some(name) = settings.str("serviceAccountName") {
        granted.push(Privilege::of("serviceAccountName", name));
    }
    if settings.get("automountServiceAccountToken") == Some(&Tree::Bool(true)) {
        granted.push(Privilege::any("automountServiceAccountToken"));
    }
    let volumes = settings.items("disks").iter().filter_map(|disk| disk.get("volume"));
    granted.extend(volumes.flat_map(of_volume));
    granted
}

/// Kubernetes gives capabilities to root only.
fn capabilities(names: &[Tree]) -> Vec<Privilege> {
    let names = names.iter().filter_map(Tree::as_str).map(capability);
    let mut granted: Vec<Privilege> = names.map(|name| Privilege::of("capabilities", name)).collect();
    if !granted.is_empty() {
        granted.push(Privilege::of("runAsUser", "0"));
    }
    granted
}

/// Privileges that a privileged container has anyway.
fn privileged() -> [Privilege; 5] {
    [
        Privilege::any("privileged"),
        Privilege::any("allowPrivilegeEscalation"),
        Privilege::any("capabilities"),
        Privilege::any("seccompProfile"),
        Privilege::of("runAsUser", "0"),
    ]
}
