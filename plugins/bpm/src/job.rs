//! A job of a group: its image, its processes, and what the job property `quarks` adds.

use crate::codes;
use crate::group::{Group, Lifecycle};
use crate::ports::{self, Port};
use crate::probe::{self, Probes};
use crate::process::{self, Process};
use crate::report::{Place, Report};
use crate::request::{GroupRequest, JobFiles};
use crate::scripts;
use boson_deployment::images;
use boson_document::{Map, Tree, go};

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name.
    pub name: String,
    /// Release.
    pub release: String,
    /// Image of the release.
    pub image: String,
    /// Why there is no image.
    pub image_error: Option<String>,
    /// User id of its processes, where the image does not have BOSH's.
    pub uid: Option<i64>,
    /// Where it is in the manifest.
    pub place: Place,
    /// Its lifecycle scripts.
    pub scripts: scripts::Scripts,
    /// Its processes.
    pub processes: Vec<Process>,
    /// What `quarks` says.
    pub quarks: Quarks,
}

/// The job property `quarks`.
#[derive(Clone, Debug, Default)]
pub struct Quarks {
    /// Ports.
    pub ports: Vec<Port>,
    /// The list of ports is given, be it empty.
    pub lists_ports: bool,
    /// Memory of each container, MiB.
    pub memory: Option<u64>,
    /// CPUs of each container.
    pub cpus: Option<String>,
    /// More capabilities.
    pub capabilities: Vec<String>,
    /// Members of the containers' securityContext.
    pub security_context: Map,
    /// Probes by process.
    pub probes: Probes,
    /// More environment, as Kubernetes has it.
    pub envs: Vec<Tree>,
    /// Probes that choose the active pods, by container.
    pub active_passive: Map,
    /// A failing pre-start script waits for an hour.
    pub debug: bool,
}

// === impl Job ===

impl Job {
    /// Reads a job of the resolved document.
    pub fn read(
        group: &Group,
        request: &GroupRequest,
        tree: &Tree,
        files: &JobFiles,
        settings: &Tree,
        place: &Place,
        report: &mut Report,
    ) -> Self {
        let property = place.at("properties").at("quarks");
        let given = tree
            .get("properties")
            .and_then(|properties| properties.get("quarks"))
            .or_else(|| tree.get("quarks"));
        let quarks = given.filter(|quarks| quarks.as_object().is_some());
        let processes = processes(group, files, quarks, place, report);
        let image = image_of(request, files, place, report);
        let has = |path: &str| files.templates.iter().any(|template| template == path);
        if group.lifecycle == Lifecycle::Service && has("bin/run") {
            let text = format!(
                "Script 'bin/run' of job '{}' is not run: '{}' is no errand",
                files.job, group.name
            );
            report.warning(codes::SCRIPT, place, text);
        }
        if has("dns/aliases.json") {
            let text = format!(
                "Aliases in 'dns/aliases.json' of job '{}' do not resolve yet",
                files.job
            );
            let help = "where another job uses such a name, give it the address of the Service instead";
            report.warning(codes::DNS, place, text).help(help);
        }
        let uid = settings
            .get("uids")
            .and_then(|uids| uids.get(&files.release))
            .and_then(Tree::as_i64);
        let quarks = quarks.map(|quarks| Quarks::read(quarks, files, &processes, &property, report));
        let job = Self {
            name: files.job.clone(),
            release: files.release.clone(),
            image_error: image.as_ref().err().cloned(),
            image: image.unwrap_or_default(),
            uid,
            place: place.clone(),
            scripts: scripts::Scripts::read(&files.templates),
            quarks: quarks.unwrap_or_default(),
            processes,
        };
        job.warn_of_root(report);
        job
    }

    fn warn_of_root(&self, report: &mut Report) {
        for process in self.processes.iter().filter(|process| !process.privileged) {
            let place = if !process.capabilities.is_empty() {
                process.place.at("capabilities")
            } else if !self.quarks.capabilities.is_empty() {
                self.place.at("properties").at("quarks").at("run").at("capabilities")
            } else {
                continue;
            };
            let (process, job) = (&process.name, &self.name);
            let text = format!("Process '{process}' of job '{job}' runs as root, because it has capabilities");
            report.warning(codes::ROOT, &place, text);
        }
    }
}

/// The processes of a job, or an error where it must have some and nothing tells them.
fn processes(
    group: &Group,
    files: &JobFiles,
    quarks: Option<&Tree>,
    place: &Place,
    report: &mut Report,
) -> Vec<Process> {
    let has = |path: &str| files.templates.iter().any(|template| template == path);
    let only = |executable: String| {
        vec![Process {
            name: files.job.clone(),
            executable,
            ..Process::default()
        }]
    };
    let property = quarks.and_then(|quarks| quarks.get("bpm")).filter(|bpm| !bpm.is_null());
    match (files.bpm.is_empty(), property) {
        (true, _) if group.fullest() == 0 && has("config/bpm.yml") => {
            let why = "what its containers run is known only once it has some";
            let text = format!("Instance group '{}' has no instances: {why}", group.name);
            report.warning(codes::NOTHING_TO_RUN, &group.place, text);
            // A workload scaled to zero has containers all the same.
            only("/bin/true".into())
        }
        (true, None) if group.lifecycle != Lifecycle::Service && has("bin/run") => {
            only(format!("/var/vcap/jobs/{}/bin/run", files.job))
        }
        (true, None) => {
            if files.monitored {
                let (job, group) = (&files.job, &group.name);
                let mut text = format!("Job '{job}' (instance group '{group}') has processes but no bpm information");
                if let Some(program) = &files.start_program {
                    text.push_str(&format!(": its monit file starts '{program}'"));
                }
                report
                    .error(codes::NO_BPM, place, text)
                    .help("Give its processes in the job property quarks.bpm: what that program starts in the end.");
            }
            Vec::new()
        }
        _ => {
            let envs = quarks.map_or(&[][..], |quarks| quarks.items("envs"));
            let envs: Vec<&str> = envs.iter().filter_map(|env| env.str("name")).collect();
            let job = process::JobPlace {
                name: &files.job,
                place,
                envs: &envs,
            };
            let processes = process::of_job(job, files, property, report)
                .into_iter()
                .map(|(process, _)| process);
            processes
                .inspect(|process| check_disk(group, &files.job, process, report))
                .collect()
        }
    }
}

fn check_disk(group: &Group, job: &str, process: &Process, report: &mut Report) {
    if !process.persistent_disk || group.disks.persistent.is_some() {
        return;
    }
    let lacks = "doesn't have any persistent disk declaration";
    let text = format!(
        "job '{job}' wants to use persistent disk but instance group '{}' {lacks}",
        group.name
    );
    let help = format!(
        "Process '{}' asks for it: set 'persistent_disk' (MiB) on the instance group.",
        process.name
    );
    report
        .error(codes::PERSISTENT_DISK, &process.place.at("persistent_disk"), text)
        .help(help);
}

fn image_of(request: &GroupRequest, files: &JobFiles, place: &Place, report: &mut Report) -> Result<String, String> {
    let document = &request.group;
    let release = document
        .items("releases")
        .iter()
        .find(|release| release.str("name") == Some(&files.release));
    let Some(release) = release else {
        let group = document
            .items("instance_groups")
            .first()
            .and_then(|group| group.str("name"))
            .unwrap_or_default();
        let text = format!(
            "Job '{}' (instance group '{group}') references an unknown release '{}'",
            files.job, files.release
        );
        report.error(codes::UNKNOWN_RELEASE, &place.at("release"), text);
        return Ok(String::new());
    };
    let stemcell = document
        .items("instance_groups")
        .first()
        .and_then(|group| group.str("stemcell"));
    images::of_release(document, release, stemcell, request.deployment.registry.as_deref())
}

// === impl Quarks ===

impl Quarks {
    /// Reads it; types are checked where the manifest is.
    fn read(tree: &Tree, files: &JobFiles, processes: &[Process], place: &Place, report: &mut Report) -> Self {
        let run = tree.get("run").cloned().unwrap_or_default();
        let positive = |key: &str| {
            run.get(key)
                .filter(|value| matches!(value, Tree::Number(number) if number.as_f64() > 0.0))
        };
        for key in ["memory", "virtual-cpus"] {
            if run.get(key).is_some_and(|value| !value.is_null()) && positive(key).is_none() {
                report.error(
                    codes::BAD_VALUE,
                    &place.at("run").at(key),
                    format!("'{key}' should be greater than 0"),
                );
            }
        }
        Self {
            ports: ports::read(tree, &files.job, place, report),
            lists_ports: tree.get("ports").and_then(Tree::as_array).is_some(),
            memory: positive("memory")
                .and_then(Tree::as_i64)
                .and_then(|size| u64::try_from(size).ok()),
            cpus: positive("virtual-cpus").and_then(go::text),
            capabilities: run
                .items("capabilities")
                .iter()
                .filter_map(Tree::as_str)
                .map(str::to_string)
                .collect(),
            security_context: run
                .get("security_context")
                .and_then(Tree::as_object)
                .cloned()
                .unwrap_or_default(),
            probes: probe::read(&run, files, processes, &place.at("run"), report),
            envs: envs(tree, place, report),
            active_passive: tree
                .get("activePassiveProbes")
                .and_then(Tree::as_object)
                .cloned()
                .unwrap_or_default(),
            debug: tree.get("debug") == Some(&Tree::Bool(true)),
        }
    }
}

fn envs(tree: &Tree, place: &Place, report: &mut Report) -> Vec<Tree> {
    let mut out = Vec::new();
    for (index, item) in tree.items("envs").iter().enumerate() {
        if item.str("name").is_none_or(|name| !is_env_name(name)) {
            report.error(
                codes::BAD_VALUE,
                &place.at("envs").at(index),
                "An entry of 'envs' has no 'name' of an environment variable",
            );
        } else {
            out.push(item.clone());
        }
    }
    out
}

/// Printable characters but `=`: what Kubernetes takes as the name of an environment variable.
pub fn is_env_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=')
}
