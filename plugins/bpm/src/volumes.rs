//! Volumes of a pod and where its containers mount them.
//!
//! | mount | volume |
//! |---|---|
//! | `/var/vcap/jobs` | `jobs-dir`, rendered templates; read-only for processes, as under BPM |
//! | `/var/vcap/data` | `<group>-ephemeral` |
//! | `/var/vcap/sys` | `sys-dir` |
//! | `/var/vcap/store` | `<group>-pvc`, where the group has a persistent disk |
//! | anything else | an empty directory of the pod, the same for all containers that name its path |

use crate::bytes::{mebibytes, quantity};
use crate::codes;
use crate::group::{Group, Lifecycle};
use crate::job::Job;
use crate::object::object;
use crate::process::{Process, Volume, clean};
use crate::report::Report;
use crate::settings::ExtraDisk;
use boson_deployment::names::container;
use boson_document::Tree;
use indexmap::IndexMap;
use std::collections::HashSet;

/// Where a path of a process is.
enum Site {
    /// In this volume, below its root.
    Below(String, String),
    /// Already in the container; why nothing is mounted, where that is worth a warning.
    There(Option<&'static str>),
    /// Nowhere yet.
    Elsewhere,
}

/// The volumes of a group's pods.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// Empty directories by path.
    own: IndexMap<String, String>,
}

// === impl Volumes ===

impl Volumes {
    /// Gives every path outside the common volumes one, and warns of those that are not what they are under BPM.
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
                    warn("begins as an empty directory of the pod, not the node's");
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
        out.extend(self.own.values().map(|name| empty(name)));
        for disk in &group.settings.disks {
            let volume = disk.volume.clone().filter(|volume| !out.contains(volume));
            out.extend(volume);
            if let (Some(claim), true) = (claim_name(disk), group.lifecycle != Lifecycle::Service) {
                let source = object! { "claimName" => extra_claim(group, claim) };
                out.push(object! { "name" => claim, "persistentVolumeClaim" => source });
            }
        }
        out
    }

    /// `volumeMounts` of a process.
    pub fn of_process(&self, group: &Group, job: &Job, process: &Process) -> Vec<Tree> {
        let mut mounts = Mounts(base(group, true));
        for (volume, unrestricted) in paths(process) {
            let path = clean(&volume.path);
            match site(group, job, volume, unrestricted) {
                Site::Below(name, sub_path) => mounts.add(mount(&name, &path, Some(&sub_path), !volume.writable)),
                Site::Elsewhere => {
                    if let Some(name) = self.own.get(&path) {
                        mounts.add(mount(name, &path, None, !volume.writable));
                    }
                }
                Site::There(_) => {}
            }
        }
        for disk in group.settings.disks.iter().filter(|disk| matches(disk, job, process)) {
            disk.mount.iter().for_each(|mount| mounts.add(mount.clone()));
        }
        mounts.0
    }

    /// `volumeMounts` of a job's pre-start script: those of all its processes, everything to be written.
    pub fn of_job(&self, group: &Group, job: &Job) -> Vec<Tree> {
        let mut mounts = Mounts(base(group, false));
        for volume in job.processes.iter().flat_map(|process| &process.unrestricted_volumes) {
            if let Some(name) = self.own.get(&clean(&volume.path)) {
                mounts.add(mount(name, &clean(&volume.path), None, false));
            }
        }
        for disk in &group.settings.disks {
            if job.processes.iter().any(|process| matches(disk, job, process)) {
                disk.mount.iter().for_each(|mount| mounts.add(mount.clone()));
            }
        }
        mounts.0
    }
}

/// Mounts, of which the first for a path counts: two would be refused.
struct Mounts(Vec<Tree>);

// === impl Mounts ===

impl Mounts {
    fn add(&mut self, mount: Tree) {
        if self
            .0
            .iter()
            .all(|other| other.get("mountPath") != mount.get("mountPath"))
        {
            self.0.push(mount);
        }
    }
}

/// Name of the volume of ephemeral data.
pub fn ephemeral_name(group: &Group) -> String {
    container(&[&group.name, "ephemeral"])
}

/// Name of the volume, and of the claim template, of persistent data.
pub fn persistent_name(group: &Group) -> String {
    container(&[&group.name, "pvc"])
}

/// A mount.
pub fn mount(volume: &str, path: &str, sub_path: Option<&str>, read_only: bool) -> Tree {
    let mut mount = object! { "name" => volume, "mountPath" => path };
    if let Some(sub_path) = sub_path.filter(|path| !path.is_empty()) {
        mount.set("subPath", sub_path);
    }
    if read_only {
        mount.set("readOnly", true);
    }
    mount
}

/// What every container of the group sees.
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

/// Directories of the group's processes, to be made before they start.
pub fn directories(group: &Group) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |path: String| {
        if !out.contains(&path) {
            out.push(path);
        }
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
    out
}

/// Templates of the claims of a service's pods.
pub fn claim_templates(group: &Group) -> Vec<Tree> {
    if group.lifecycle != Lifecycle::Service {
        return Vec::new();
    }
    let metadata = object! { "name" => persistent_name(group), "labels" => group.pod_metadata.labels.clone() };
    let own = group
        .disks
        .persistent
        .map(|size| object! { "metadata" => metadata, "spec" => claim(group, size) });
    let extra = group.settings.disks.iter().filter_map(|disk| disk.claim.clone());
    own.into_iter().chain(extra).collect()
}

/// Claims of an errand's pod.
pub fn claims(group: &Group) -> Vec<Tree> {
    if group.lifecycle == Lifecycle::Service {
        return Vec::new();
    }
    let object = |name: &str, spec: Tree| {
        let metadata = group.metadata.named(name);
        object! { "apiVersion" => "v1", "kind" => "PersistentVolumeClaim", "metadata" => metadata, "spec" => spec }
    };
    let own = errand_claim(group)
        .zip(group.disks.persistent)
        .map(|(name, size)| object(&name, claim(group, size)));
    let extra = group.settings.disks.iter().filter_map(|disk| {
        let spec = disk.claim.as_ref()?.get("spec").cloned().unwrap_or_default();
        Some(object(&extra_claim(group, claim_name(disk)?), spec))
    });
    own.into_iter().chain(extra).collect()
}

fn claim(group: &Group, size: u64) -> Tree {
    let requests = object! { "storage" => quantity(mebibytes(size)) };
    let mut spec =
        object! { "accessModes" => vec!["ReadWriteOnce"], "resources" => object! { "requests" => requests } };
    if let Some(class) = &group.disks.class {
        spec.set("storageClassName", class.as_str());
    }
    spec
}

/// Where neither size is given, a claim of the predecessor's size.
const EPHEMERAL_CLAIM: u64 = 10_240;

fn ephemeral(group: &Group) -> Tree {
    let name = ephemeral_name(group);
    if group.settings.ephemeral_claim {
        let size = group
            .disks
            .ephemeral
            .or(group.disks.persistent)
            .unwrap_or(EPHEMERAL_CLAIM);
        let template = object! { "spec" => claim(group, size) };
        return object! { "name" => name, "ephemeral" => object! { "volumeClaimTemplate" => template } };
    }
    let limit = group
        .disks
        .ephemeral
        .map(|size| object! { "sizeLimit" => quantity(mebibytes(size)) });
    object! { "name" => name, "emptyDir" => limit.unwrap_or_else(Tree::object) }
}

/// Name of the claim of an errand with a persistent disk.
fn errand_claim(group: &Group) -> Option<String> {
    let wanted = group.lifecycle != Lifecycle::Service && group.disks.persistent.is_some();
    wanted.then(|| group.names.group(&group.name).ok()).flatten()
}

fn claim_name(disk: &ExtraDisk) -> Option<&str> {
    disk.claim.as_ref()?.get("metadata")?.str("name")
}

fn extra_claim(group: &Group, claim: &str) -> String {
    group
        .names
        .group(&format!("{}-{claim}", group.name))
        .unwrap_or_default()
}

fn matches(disk: &ExtraDisk, job: &Job, process: &Process) -> bool {
    disk.job.as_ref().is_none_or(|name| *name == job.name)
        && disk.process.as_ref().is_none_or(|name| *name == process.name)
        && disk.ephemeral.is_none_or(|wanted| wanted == process.ephemeral_disk)
        && disk.persistent.is_none_or(|wanted| wanted == process.persistent_disk)
}

/// The volumes of a process, and whether BPM lets them be anywhere.
fn paths(process: &Process) -> impl Iterator<Item = (&Volume, bool)> {
    let additional = process.additional_volumes.iter().map(|volume| (volume, false));
    additional.chain(process.unrestricted_volumes.iter().map(|volume| (volume, true)))
}

const OUTSIDE: &str = "is not mounted: it is no path that a container can mount";
const SYSTEM: &str = "is not mounted: it is the image's, not the node's";
const IMAGE: &str = "is not writable: it is part of the image";
const NO_STORE: &str = "is not mounted: the instance group has no persistent disk";

fn site(group: &Group, job: &Job, volume: &Volume, unrestricted: bool) -> Site {
    let path = clean(&volume.path);
    let below = |root: &str| {
        let rest = path.strip_prefix(root)?;
        if rest.is_empty() {
            Some(String::new())
        } else {
            rest.strip_prefix('/').map(str::to_string)
        }
    };
    let at = |root: &str| below(root).is_some();
    if path == "/" || !path.starts_with('/') || path.contains([':', '*', '?', '[', '\0']) {
        return Site::There(Some(OUTSIDE));
    }
    if unrestricted && (at(&format!("/var/vcap/jobs/{}", job.name)) || at(&format!("/var/vcap/sys/log/{}", job.name))) {
        return Site::There(None);
    }
    if at("/var/vcap/packages") || at("/var/vcap/data/packages") {
        return Site::There(volume.writable.then_some(IMAGE));
    }
    if let Some(rest) = below("/var/vcap/store") {
        let name = persistent_name(group);
        return if group.disks.persistent.is_some() {
            Site::Below(name, rest)
        } else {
            Site::There(Some(NO_STORE))
        };
    }
    let roots = [
        ("/var/vcap/data", ephemeral_name(group)),
        ("/var/vcap/sys", "sys-dir".into()),
        ("/var/vcap/jobs", "jobs-dir".into()),
    ];
    if let Some((name, rest)) = roots.into_iter().find_map(|(root, name)| Some((name, below(root)?))) {
        return Site::Below(name, rest);
    }
    let kernel = ["/proc", "/sys", "/dev"].into_iter().any(at);
    let system = [
        "/bin",
        "/etc",
        "/lib",
        "/lib64",
        "/sbin",
        "/usr",
        "/tmp",
        "/var/tmp",
        "/var/vcap",
    ]
    .into_iter()
    .any(|root| path == root);
    let image = ["/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"].into_iter().any(at) && !volume.writable;
    if kernel || system || image {
        Site::There(Some(SYSTEM))
    } else {
        Site::Elsewhere
    }
}

/// Checks that mounts of extra disks name a volume of the pod, and that no volume is given twice.
pub fn check_extra(group: &Group, volumes: &Volumes, report: &mut Report) {
    let place = ["env", "bosh", "agent", "settings", "disks"]
        .iter()
        .fold(group.place.clone(), |place, key| place.at(key));
    let name = |tree: &Tree| tree.str("name").unwrap_or_default().to_string();
    let templates: Vec<Tree> = claim_templates(group)
        .into_iter()
        .filter_map(|claim| claim.get("metadata").cloned())
        .collect();
    let mut names = HashSet::new();
    for known in volumes.list(group).iter().chain(&templates).map(name) {
        if !names.insert(known.clone()) {
            report.error(
                codes::SETTINGS,
                &place,
                format!("The pod has two volumes called '{known}'"),
            );
        }
    }
    for (index, disk) in group.settings.disks.iter().enumerate() {
        let Some(mount) = &disk.mount else { continue };
        let place = place.at(index).at("volumeMount");
        if !names.contains(&name(mount)) {
            report.error(
                codes::SETTINGS,
                &place,
                format!("The pod has no volume called '{}'", name(mount)),
            );
        }
        if mount.str("mountPath").is_none() {
            report.error(
                codes::SETTINGS,
                &place,
                "The 'volumeMount' of a disk has no 'mountPath'",
            );
        }
    }
}
