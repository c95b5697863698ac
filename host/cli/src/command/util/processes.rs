//! The files that container-run reads in a pod: the processes of each job, from the rendered files, and the instance's
//! own files.

use anyhow::{Context, Result, ensure};
use boson_commands::storage::below::{self, Below};
use boson_document::{Place, Tree, json};
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::filling::Filled;
use boson_pipeline::release::Job;
use boson_pipeline::report::Sources;
use boson_pipeline::resolved_document::quarks;
use boson_pipeline::yaml::{self, Dialect};
use boson_processes::{Findings, Given, Kind, document, of_monit, read, unique};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// Files of an instance, as BOSH's agent leaves them.
const INSTANCE_FILES: [&str; 4] = ["id", "az", "name", "deployment"];
/// Where a container has the packages of its release, and those that it shares.
const PACKAGES_PATH: &str = "/var/vcap/packages";

/// The processes of a job on this pod, as text for container-run. `job`: of the resolved group; `name`, `tree`: its
/// [`description`]; `context`: the context of its templates.
///
/// # Errors
/// BPM would refuse it.
pub fn of_job(
    job: &Tree,
    files: &Job,
    name: &str,
    tree: &Tree,
    context: &Tree,
    ip: &str,
) -> Result<String, Vec<Diagnostic>> {
    let nothing = Tree::Null;
    let quarks = quarks(job).unwrap_or(&nothing);
    let mut findings = Findings::default();
    let own = Place::new(&format!("property quarks.bpm of job '{}'", files.name), "");
    let given = quarks.get("bpm").filter(|bpm| !bpm.is_null());
    let given = given.map(|given| Given::read(given, &own, &mut findings));
    let processes = read(&files.name, tree, name, given.as_ref(), &mut findings);
    let processes = unique(&processes, &mut findings);
    let errors = errors(findings);
    if !errors.is_empty() {
        return Err(errors);
    }
    let document = document::of_job(
        &document::Job {
            name: &files.name,
            instance: instance(context),
            quarks,
            processes: &processes,
        },
        ip,
    );
    Ok(json::to_text(&document))
}

/// The description of the job's processes, with its name: its bpm.yml, or its monit file, or nothing.
///
/// # Errors
/// The file is not YAML.
pub fn description(
    files: &Job,
    filled: &Filled,
    monit: Option<&str>,
    sources: &mut Sources,
) -> Result<(String, Tree), Vec<Diagnostic>> {
    if let Some(text) = monit {
        return Ok((format!("{}/monit (rendered)", files.name), of_monit(text)));
    }
    let mut rendered = files.templates.iter().zip(&filled.files);
    let Some((_, file)) = rendered.find(|(template, _)| template.destination == Job::BPM) else {
        return Ok((String::new(), Tree::Null));
    };
    let name = format!("{}/{} (rendered)", files.name, Job::BPM);
    let document = yaml::read_as(Dialect::Bpm, &name, &file.content)?;
    let tree = document.tree.clone();
    sources.add_document(document, true);
    Ok((name, tree))
}

/// Errors only: warnings were reported when the deployment was converted.
fn errors(findings: Findings) -> Vec<Diagnostic> {
    let errors = findings.0.into_iter().filter(|one| one.kind.is_error());
    let diagnostic = |one: boson_processes::Finding| {
        let code = match one.kind {
            Kind::PodIp => "bpm-pod-ip",
            Kind::Monit | Kind::MonitIgnored => "bpm-monit",
            Kind::Schema | Kind::Ignored => "bpm-schema",
        };
        Diagnostic::reported_error(code, one.message)
            .in_document(one.place.document)
            .at(one.place.pointer)
    };
    errors.map(diagnostic).collect()
}

/// `id`, `az`, `name` and `deployment` of the templates' `spec`.
fn instance(context: &Tree) -> Tree {
    let text = |key: &str| {
        context
            .get(key)
            .and_then(boson_document::ruby::string)
            .unwrap_or_default()
    };
    INSTANCE_FILES.iter().map(|key| (*key, Tree::from(text(key)))).collect()
}

#[derive(Debug, Default)]
pub struct ContainerRunFiles {
    /// Job, and what [`of_job`] made.
    pub jobs: Vec<(String, String)>,
    pub context: Tree,
}

/// Writes below container-run's directory.
///
/// # Errors
/// A disk is full, or something is in the way.
pub fn write(directory: &Path, written: &ContainerRunFiles) -> Result<()> {
    // Programs and environments hold secrets: for vcap and its group, as the rendered files are.
    let processes = written.jobs.iter().map(|(job, text)| Below {
        path: format!("processes/{job}.json"),
        content: text.clone(),
        mode: 0o640,
    });
    let instance = instance(&written.context);
    let own = INSTANCE_FILES.iter().map(|key| Below {
        path: format!("vcap-instance/{key}"),
        content: instance.str(key).unwrap_or_default().to_string(),
        mode: 0o644,
    });
    below::write(directory, &processes.chain(own).collect::<Vec<_>>())
}

/// Lets container-run copy itself to its directory, with links for scripts in `jobs`.
///
/// # Errors
/// It cannot be started, or it fails; its own message is in the container's log.
pub fn install(program: &Path, directory: &Path, jobs: &Path) -> Result<()> {
    let context = || format!("cannot install '{}'", program.display());
    let mut command = Command::new(program);
    command.arg("install").arg(directory).arg("--jobs").arg(jobs);
    command.arg("--bosh").arg(directory.join("bosh"));
    let ended = command.status().with_context(context)?;
    ensure!(ended.success(), "{}: {ended}", context());
    Ok(())
}

/// Links to the packages from the directory of a job, where some scripts look for them. The agent links each package of
/// the instance group there; in a pod, these are the packages in the container.
///
/// # Errors
/// The disk is full, or something is in the way.
pub fn link_packages(job: &Path) -> Result<()> {
    let place = job.join("packages");
    let context = || format!("cannot create the link '{}'", place.display());
    fs::create_dir_all(job).with_context(context)?;
    match symlink(PACKAGES_PATH, &place) {
        // From an earlier run, or a directory with files of the job.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result.with_context(context),
    }
}

/// Makes a directory that vcap's group may write: containers may have another user.
///
/// # Errors
/// The disk is full, or something is in the way.
pub fn make_directory(path: &Path) -> Result<()> {
    let context = || format!("cannot create the directory '{}'", path.display());
    let missing = |part: &&Path| !part.as_os_str().is_empty() && !part.exists();
    let there: Vec<&Path> = path.ancestors().take_while(missing).collect();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o775)
        .create(path)
        .with_context(context)?;
    // The umask may have removed the group's permissions.
    for part in there {
        fs::set_permissions(part, fs::Permissions::from_mode(0o775 | set_group(part))).with_context(context)?;
    }
    Ok(())
}

/// The setgid bit, so that new files of a volume belong to its group.
fn set_group(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o2000)
}
