//! Volumes of a pod and where its containers mount them.
//!
//! | mount | volume |
//! |---|---|
//! | `/var/vcap/jobs` | `jobs-dir`, rendered templates; read-only for processes, as under BPM |
//! | `/var/vcap/data` | `<group>-ephemeral` |
//! | `/var/vcap/sys` | `sys-dir` |
//! | `/var/vcap/store` | `<group>-pvc`, where the group has a persistent disk |
//! | `/etc/hosts`, `/etc/resolv.conf` | `container-run`, names of the pod and the addresses of its DNS servers |
//! | `/container-run` | `container-run`, the program of this name and what it shares between containers |
//! | `/var/vcap/instance`, `/var/vcap/bosh` | files of the same volume |
//! | `/var/vcap/packages/<name>` | `writable-packages`, if a job may write to it |
//! | `/var/vcap/packages/<name>` of another release | `shared-packages`, if no job may write to it |
//! | anything else | an empty directory of the pod, the same for all containers that name its path |

mod claims;
mod extra;
mod packages;
pub mod podinfo;
mod site;

pub use claims::{claim_templates, claims};
pub use extra::check as check_extra;
pub use packages::{SHARED_PACKAGES, WRITABLE_PACKAGES};

use crate::codes;
use crate::container_run::{HOME, LOGS, VOLUME};
use crate::group::job::Job;
use crate::group::settings::ExtraDisk;
use crate::group::{Group, Lifecycle};
use crate::object::object;
use crate::process::{Process, Volume, clean};
use boson_document::{Report, Tree, json};
use boson_manifest::names::container;
use claims::{claim_name, ephemeral, errand_claim, extra_claim};
use indexmap::{IndexMap, IndexSet};
pub use site::paths;
use site::{Site, site};
use std::collections::HashSet;

/// The volumes of a group's pods.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// Empty directories by path.
    own: IndexMap<String, String>,
}

// === impl Volumes ===

impl Volumes {
    /// Plans a volume for every path outside the common volumes, and warns of those that differ from BPM.
    pub fn plan(group: &Group, report: &mut Report) -> Self {
        let mut volumes = Self::default();
        for job in &group.jobs {
            for process in &job.processes {
                for (volume, unrestricted) in paths(process) {
                    volumes.add(group, job, process, volume, unrestricted, report);
                }
            }
        }
        volumes
    }

    fn add(
        &mut self,
        group: &Group,
        job: &Job,
        process: &Process,
        volume: &Volume,
        unrestricted: bool,
        report: &mut Report,
    ) {
        let mut warn = |why: &str| {
            let text = format!(
                "Volume '{}' of process '{}' of job '{}' {why}",
                volume.path, process.name, job.name
            );
            report.warning(codes::VOLUME, &process.place, text);
        };
        match site(group, job, volume, unrestricted) {
            Site::Below(..) | Site::There(None) => {}
            Site::There(Some(why)) => warn(why),
            Site::Elsewhere => {
                if unrestricted {
                    warn("is an empty directory of the pod, not of the node");
                }
                let name = format!("volume-{}", self.own.len());
                self.own.entry(clean(&volume.path)).or_insert(name);
            }
        }
    }

    /// `volumes` of the pod.
    pub fn list(&self, group: &Group) -> Vec<Tree> {
        let empty = |name: &str| object! { "name" => name, "emptyDir" => Tree::object() };
        let mut out = vec![
            empty(VOLUME),
            empty("rendering-data"),
            empty("jobs-dir"),
            ephemeral(group),
            empty("sys-dir"),
        ];
        let secret = object! { "secretName" => group.resolved_secret.as_str() };
        out.push(object! { "name" => "ig-resolved", "secret" => secret });
        if let Some(claim) = errand_claim(group) {
            let source = object! { "claimName" => claim };
            out.push(object! { "name" => persistent_name(group), "persistentVolumeClaim" => source });
        }
        out.extend(packages::writable_volume(group));
        out.extend(podinfo::volume(group));
        out.extend(packages::shared_volume(group));
        out.extend(self.own.values().map(|name| empty(name)));
        out.extend(extra_volumes(group));
        out
    }

    /// `volumeMounts` of a process.
    pub fn of_process(&self, group: &Group, job: &Job, process: &Process) -> Vec<Tree> {
        let mut own = Vec::new();
        for (volume, unrestricted) in paths(process) {
            let path = clean(&volume.path);
            match site(group, job, volume, unrestricted) {
                Site::Below(name, sub_path) => own.push(mount(&name, &path, Some(&sub_path), !volume.writable)),
                Site::Elsewhere => {
                    let name = self.own.get(&path);
                    own.extend(name.map(|name| mount(name, &path, None, !volume.writable)));
                }
                Site::There(_) => {}
            }
        }
        let disks = group.settings.disks.iter().filter(|disk| matches(disk, job, process));
        own.extend(disks.filter_map(|disk| disk.mount.clone()));
        with_common(group, job, own, true)
    }

    /// `volumeMounts` of a job's scripts: those of all its processes, all writable.
    pub fn of_job(&self, group: &Group, job: &Job) -> Vec<Tree> {
        let mut own = Vec::new();
        for (volume, _) in job.processes.iter().flat_map(paths) {
            let path = clean(&volume.path);
            own.extend(self.own.get(&path).map(|name| mount(name, &path, None, false)));
        }
        let is_of_job = |disk: &&ExtraDisk| job.processes.iter().any(|process| matches(disk, job, process));
        let disks = group.settings.disks.iter().filter(is_of_job);
        own.extend(disks.filter_map(|disk| disk.mount.clone()));
        with_common(group, job, own, false)
    }
}

/// These mounts with those that all containers of the job have. Of several mounts at a path the first one is used,
/// because Kubernetes refuses two.
fn with_common(group: &Group, job: &Job, own: Vec<Tree>, read_only: bool) -> Vec<Tree> {
    let before = base(group, read_only).into_iter().chain(container_run_mounts());
    let before = before.chain(packages::writable_mounts(group, job));
    let all = before.chain(own).chain(packages::shared_mounts(group, job));
    let mut by_path = IndexMap::new();
    for mount in all.chain(names(read_only)) {
        let path = mount.str("mountPath").unwrap_or_default().to_string();
        by_path.entry(path).or_insert(mount);
    }
    by_path.into_values().collect()
}

/// Volumes of extra disks. A volume with the name of a claim is left out: the StatefulSet makes it.
fn extra_volumes(group: &Group) -> Vec<Tree> {
    let disks = &group.settings.disks;
    let claimed: IndexSet<&str> = disks.iter().filter_map(claim_name).collect();
    let free = |volume: &&Tree| volume.str("name").is_none_or(|name| !claimed.contains(name));
    let mut seen = HashSet::new();
    let given = disks.iter().filter_map(|disk| disk.volume.as_ref()).filter(free);
    // The same disk may be given again for other containers.
    let mut out: Vec<Tree> = given
        .filter(|volume| seen.insert(json::to_text(volume)))
        .cloned()
        .collect();
    if group.lifecycle != Lifecycle::Service {
        out.extend(claimed.into_iter().map(|claim| {
            let source = object! { "claimName" => extra_claim(group, claim) };
            object! { "name" => claim, "persistentVolumeClaim" => source }
        }));
    }
    out
}

/// Name of the volume of ephemeral data.
pub fn ephemeral_name(group: &Group) -> String {
    container(&[&group.name, "ephemeral"])
}

/// Name of the volume, and of the claim template, of persistent data.
pub fn persistent_name(group: &Group) -> String {
    container(&[&group.name, "pvc"])
}

pub fn mount(volume: &str, path: &str, sub_path: Option<&str>, read_only: bool) -> Tree {
    let mount = object! { "name" => volume, "mountPath" => path };
    mount
        .with_some("subPath", sub_path.filter(|path| !path.is_empty()))
        .with_some("readOnly", read_only.then_some(true))
}

/// Mounts of every container of the group.
pub fn base(group: &Group, jobs_read_only: bool) -> Vec<Tree> {
    let mut out = vec![
        mount("jobs-dir", "/var/vcap/jobs", None, jobs_read_only),
        mount(&ephemeral_name(group), "/var/vcap/data", None, false),
        mount("sys-dir", "/var/vcap/sys", None, false),
    ];
    if group.disks.persistent.is_some() {
        out.push(mount(&persistent_name(group), "/var/vcap/store", None, false));
    }
    out
}

/// Additional mounts of a container with container-run.
fn container_run_mounts() -> Vec<Tree> {
    // Processes of vcap must not be able to replace programs that run as root.
    vec![
        mount(VOLUME, HOME, None, true),
        mount(VOLUME, "/container-run/instance", Some("instance"), false),
        mount(VOLUME, "/var/vcap/instance", Some("vcap-instance"), true),
        mount(VOLUME, "/var/vcap/bosh", Some("bosh"), true),
    ]
}

/// Files of names that template-render writes. The kubelet does not write its own /etc/hosts over a mounted one.
/// Scripts may add lines, as on a VM.
fn names(read_only: bool) -> Vec<Tree> {
    vec![
        mount(VOLUME, "/etc/hosts", Some("etc/hosts"), read_only),
        mount(VOLUME, "/etc/resolv.conf", Some("etc/resolv.conf"), read_only),
    ]
}

/// Mounts of the container that shows log files. It truncates large ones. The kubelet makes the directory of its state.
pub fn of_logs() -> Vec<Tree> {
    vec![
        mount(VOLUME, HOME, None, true),
        mount(VOLUME, LOGS, Some("logs"), false),
        mount("sys-dir", "/var/vcap/sys", None, false),
    ]
}

/// Mounts of the pod's DNS server.
pub fn of_pod_dns() -> Vec<Tree> {
    vec![
        mount("jobs-dir", "/var/vcap/jobs", None, true),
        mount(VOLUME, "/etc/resolv.conf", Some("etc/resolv.conf"), true),
    ]
}

/// Directories of the group's processes, to be made before they start.
pub fn directories(group: &Group) -> Vec<String> {
    let mut out = IndexSet::new();
    let mut add = |path: String| {
        out.insert(path);
    };
    for job in &group.jobs {
        let name = &job.name;
        for root in [
            "/var/vcap/data/sys/log",
            "/var/vcap/data/sys/run",
            "/var/vcap/sys/log",
            "/var/vcap/sys/run",
        ] {
            add(format!("{root}/{name}"));
        }
        add(format!("/var/vcap/data/{name}/tmp"));
        for process in &job.processes {
            if process.persistent_disk {
                add(format!("/var/vcap/store/{name}"));
            }
            for (volume, unrestricted) in paths(process).filter(|(volume, _)| !volume.mount_only) {
                if let Site::Below(name, _) = site(group, job, volume, unrestricted)
                    && name != "jobs-dir"
                {
                    add(clean(&volume.path));
                }
            }
        }
    }
    out.into_iter().collect()
}

fn matches(disk: &ExtraDisk, job: &Job, process: &Process) -> bool {
    disk.job.as_ref().is_none_or(|name| *name == job.name)
        && disk.process.as_ref().is_none_or(|name| *name == process.name)
        && disk.ephemeral.is_none_or(|wanted| wanted == process.ephemeral_disk)
        && disk.persistent.is_none_or(|wanted| wanted == process.persistent_disk)
}
