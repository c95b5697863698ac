//! Reads a job of the resolved document, and its job property `quarks`.

use crate::codes;
use crate::containers::{packages, pre_render, pre_start, writable_packages};
use crate::group::job::{Job, Quarks};
use crate::group::scripts::Scripts;
use crate::group::{Group, Lifecycle};
use crate::group::{ports, probe, sysctls};
use crate::process::{self, Process};
use crate::request::{GroupRequest, JobFiles};
use crate::rules::{fields, kubernetes_rules};
use boson_document::{Place, Report, Tree, go};
use boson_manifest::{dns, images, settings as job_settings};
use boson_processes::{document, is_env_name};

/// Reads a job of the resolved document.
pub fn read(
    group: &Group,
    request: &GroupRequest,
    tree: &Tree,
    files: &JobFiles,
    settings: &Tree,
    place: &Place,
    report: &mut Report,
) -> Job {
    let property = place.at("properties").at("quarks");
    let quarks = job_settings::of_job(tree).filter(|settings| settings.as_object().is_some());
    let processes = processes(group, files, quarks, place, report);
    let image = image_of(request, files, place, report);
    check_files(group, request, files, place, report);
    let needs_pod_dns = dns::needs_pod_server(tree, &files.templates);
    let uid = settings.find(&["uids", &files.release]).and_then(Tree::as_i64);
    if let Some(quarks) = quarks {
        packages::check_job(quarks, &group.name, files, &property, report);
    }
    let scripts = Scripts::read(files);
    let has_containers = !processes.is_empty() || scripts.pre_start || scripts.run_beside_processes();
    let quarks = quarks.map(|quarks| quarks_of(quarks, files, &processes, &property, report));
    let mut quarks = quarks.unwrap_or_default();
    if !has_containers {
        // Nothing of the job runs that could write to them.
        quarks.writable_packages.clear();
    }
    Job {
        name: files.job.clone(),
        release: files.release.clone(),
        image_error: image.as_ref().err().cloned(),
        image: image.unwrap_or_default(),
        uid,
        place: place.clone(),
        scripts,
        needs_pod_dns,
        is_errand: is_errand(group, files, quarks_bpm(job_settings::of_job(tree))),
        quarks,
        shared_packages: if has_containers {
            packages::of_others(files)
        } else {
            Vec::new()
        },
        processes,
    }
}

/// Warns of files that have no effect.
fn check_files(group: &Group, request: &GroupRequest, files: &JobFiles, place: &Place, report: &mut Report) {
    if group.lifecycle == Lifecycle::Service && files.has("bin/run") {
        let text = format!(
            "Script 'bin/run' of job '{}' is not run: '{}' is not an errand",
            files.job, group.name
        );
        report.warning(codes::SCRIPT, place, text);
    }
    if files.has(dns::ALIAS_FILE) && request.group.get(dns::RESOLVED_KEY).is_none() {
        let text = format!("Aliases in '{}' of job '{}' do not resolve", dns::ALIAS_FILE, files.job);
        let help =
            "add a job of the release bosh-dns-aliases, an addon for example, or set features.use_dns_addresses: true";
        report.warning(codes::DNS_FILES, place, text).help(help);
    }
}

/// The processes of a job, or an error if it must have some and nothing describes them.
fn processes(
    group: &Group,
    files: &JobFiles,
    quarks: Option<&Tree>,
    place: &Place,
    report: &mut Report,
) -> Vec<Process> {
    let only = |executable: String| {
        vec![Process {
            name: files.job.clone(),
            executable,
            ..Process::default()
        }]
    };
    let property = quarks_bpm(quarks);
    match (files.bpm.is_empty(), property) {
        (true, _) if group.layout().count() == 0 && files.has("config/bpm.yml") => {
            let why = "the processes of its containers are unknown until it has some";
            let text = format!("Instance group '{}' has no instances: {why}", group.name);
            report.warning(codes::NOTHING_TO_RUN, &group.place, text);
            // A workload that is scaled to zero still has containers.
            only("/bin/true".into())
        }
        (true, None) if is_errand(group, files, property) => only(format!("/var/vcap/jobs/{}/bin/run", files.job)),
        (true, None) => {
            if files.monitored {
                let (job, group) = (&files.job, &group.name);
                let mut text = format!("Job '{job}' (instance group '{group}') has processes but no bpm information");
                if let Some(program) = &files.start_program {
                    text.push_str(&format!(": its monit file starts '{program}'"));
                }
                report
                    .error(codes::NO_BPM, place, text)
                    .help("Describe its processes in the job property quarks.bpm: the programs that this program starts. Or run it by its monit file: `monit: true` in the job property quarks, or --monit for all such jobs.");
            }
            Vec::new()
        }
        _ => {
            let processes = process::of_job(place, files, property, report).into_iter();
            processes
                .inspect(|process| check_disk(group, &files.job, process, report))
                .collect()
        }
    }
}

fn quarks_bpm(quarks: Option<&Tree>) -> Option<&Tree> {
    quarks.and_then(|quarks| quarks.get("bpm")).filter(|bpm| !bpm.is_null())
}

/// Whether the job is run by its `bin/run`: nothing else describes its processes.
fn is_errand(group: &Group, files: &JobFiles, property: Option<&Tree>) -> bool {
    let described = !files.bpm.is_empty() || property.is_some();
    group.lifecycle != Lifecycle::Service && files.has("bin/run") && !files.has("config/bpm.yml") && !described
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
        "Process '{}' requests it: set 'persistent_disk' (MiB) on the instance group.",
        process.name
    );
    report
        .error(codes::PERSISTENT_DISK, process.place.at("persistent_disk"), text)
        .help(help);
}

fn image_of(request: &GroupRequest, files: &JobFiles, place: &Place, report: &mut Report) -> Result<String, String> {
    let document = &request.group;
    let release = document
        .items("releases")
        .iter()
        .find(|release| release.str("name") == Some(&files.release));
    let Some(release) = release else {
        let text = format!(
            "The resolved document does not list the release '{}' of job '{}'",
            files.release, files.job
        );
        report.error(codes::MALFORMED, place.at("release"), text);
        return Ok(String::new());
    };
    let stemcell = document
        .items("instance_groups")
        .first()
        .and_then(|group| group.str("stemcell"));
    images::of_release(document, release, stemcell, request.deployment.registry.as_deref())
}

/// Reads the job property `quarks`; types are checked with the manifest.
fn quarks_of(tree: &Tree, files: &JobFiles, processes: &[Process], place: &Place, report: &mut Report) -> Quarks {
    let run = tree.get("run").cloned().unwrap_or_default();
    let positive = |key: &str| {
        run.get(key)
            .filter(|value| matches!(value, Tree::Number(number) if number.as_f64() > 0.0))
    };
    for key in ["memory", "virtual-cpus"] {
        if run.get(key).is_some_and(|value| !value.is_null()) && positive(key).is_none() {
            let text = format!("'{key}' should be greater than 0");
            report.error(codes::BAD_VALUE, place.at("run").at(key), text);
        }
    }
    check_fields(tree, &run, place, report);
    Quarks {
        ports: ports::read(tree, &files.job, place, report),
        lists_ports: tree.get("ports").and_then(Tree::as_array).is_some(),
        memory: positive("memory")
            .and_then(Tree::as_i64)
            .and_then(|size| u64::try_from(size).ok()),
        cpus: positive("virtual-cpus").and_then(go::text),
        capabilities: run.texts("capabilities").map(String::from).collect(),
        security_context: run.members("security_context").cloned().unwrap_or_default(),
        inline_pre_start: pre_start::is_inline(&run, &place.at("run"), report),
        writable_packages: writable_packages::read(&run, &place.at("run"), report),
        sysctls: sysctls::read(&run, &files.job, &place.at("run").at("sysctls"), report),
        probes: probe::read(&run, files, processes, &place.at("run"), report),
        envs: envs(tree, place, report),
        active_passive: tree.members("activePassiveProbes").cloned().unwrap_or_default(),
        has_condition: has_condition(tree, place, report),
        debug: tree.get("debug") == Some(&Tree::Bool(true)),
        monit_http: tree.get("monit_http").and_then(Tree::as_bool),
        pre_render: pre_render::read(tree, &files.job, place, report),
    }
}

/// Whether there is a `post_start.condition.exec.command`.
fn has_condition(tree: &Tree, place: &Place, report: &mut Report) -> bool {
    if tree.find(&["post_start", "condition"]).is_none_or(Tree::is_null) {
        return false;
    }
    let words = document::condition(tree).and_then(Tree::as_array);
    let words = words.filter(|words| !words.is_empty());
    if words.is_none_or(|words| words.iter().any(|word| word.as_str().is_none())) {
        let text = "The 'condition' of a post-start script must be `exec: {command: [..]}`, a list of strings";
        report.error(codes::BAD_VALUE, place.at("post_start").at("condition"), text);
        return false;
    }
    true
}

/// Maps that are copied into containers.
fn check_fields(tree: &Tree, run: &Tree, place: &Place, report: &mut Report) {
    if let Some(context) = run.get("security_context") {
        kubernetes_rules::security_context(context, &place.at("run").at("security_context"), report);
    }
    let copied = [
        (run, "capabilities", "[string]", place.at("run")),
        (run, "security_context", "core.v1.SecurityContext", place.at("run")),
        (tree, "activePassiveProbes", "{core.v1.Probe}", place.clone()),
    ];
    for (of, key, kind, place) in copied {
        if let Some(value) = of.get(key) {
            fields::check(kind, value, &place.at(key), report);
        }
    }
}

fn envs(tree: &Tree, place: &Place, report: &mut Report) -> Vec<Tree> {
    let mut out = Vec::new();
    for (index, item) in tree.items("envs").iter().enumerate() {
        if item.str("name").is_none_or(|name| !is_env_name(name)) {
            let text = "An entry of 'envs' has no 'name' of an environment variable";
            report.error(codes::BAD_VALUE, place.at("envs").at(index), text);
        } else {
            // container-run sets the others.
            if !document::is_by_value(item) {
                let place = place.at("envs").at(index);
                fields::check("core.v1.EnvVar", item, &place, report);
                kubernetes_rules::variable(item, &place, report);
            }
            out.push(item.clone());
        }
    }
    out
}
