//! `host util template-render`: renders all templates of an instance in its pod.

use super::job_sources::JobSources;
use super::own_deployment::OwnDeployment;
use super::pod_names::{self, Named};
use super::processes::{self, ContainerRunFiles};
use crate::codes;
use crate::command::render::render_files;
use boson_commands::exit::ExitError;
use boson_commands::inputs;
use boson_commands::output::{self, Color};
use boson_commands::storage::below::{self, Below};
use boson_document::Tree;
use boson_pipeline::convert::codes as convert_codes;
use boson_pipeline::convert::collected::{self, JobErrors};
use boson_pipeline::convert::context;
use boson_pipeline::convert::filling::{self, Filled};
use boson_pipeline::convert::pre_render_ops;
use boson_pipeline::convert::selection;
use boson_pipeline::release::Job;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::stage;
use boson_pipeline::{Diagnostic, Stage, resolved_document};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use boson_sandbox::Plugins;
use clap::Args;
use std::path::PathBuf;

/// Every option is read from the environment, as the pod's init container gets it
#[derive(Args, Debug)]
pub struct TemplateRenderArguments {
    /// The resolved instance group: `properties.yaml` of its Secret, compressed or not
    #[arg(long, env = "BOSH_MANIFEST_PATH")]
    manifest: PathBuf,
    /// Directory with `jobs-src/<release>/<job>`
    #[arg(long, env = "JOBS_DIR", default_value = "/var/vcap/all-releases")]
    releases: PathBuf,
    /// Read the job sources from this file instead of the directory
    #[arg(long, value_name = "FILE")]
    job_sources: Option<PathBuf>,
    /// Directory for rendered jobs
    #[arg(long, env = "OUTPUT_DIR", default_value = "/var/vcap/jobs")]
    out: PathBuf,
    /// Number of the zone, from 1
    #[arg(long, env = "AZ_INDEX", default_value_t = 1)]
    az_index: usize,
    /// Ordinal of the pod in its StatefulSet, from 0
    #[arg(long, env = "POD_ORDINAL", default_value_t = 0)]
    ordinal: usize,
    /// IP address of the pod
    #[arg(long, env = "POD_IP")]
    ip: String,
    /// Directory of the process wrapper and of the files that it reads
    #[arg(long, env = "CONTAINER_RUN_DIR")]
    wrapper: Option<PathBuf>,
    /// Install this program as process wrapper
    #[arg(long, value_name = "PROGRAM", requires = "wrapper")]
    install: Option<PathBuf>,
    /// Create this directory for the processes; repeat it for several
    #[arg(long, value_name = "PATH")]
    directory: Vec<PathBuf>,
    /// The pod has a DNS server at a link-local address
    #[arg(long)]
    pod_dns: bool,
    #[command(flatten)]
    own_deployment: OwnDeployment,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &TemplateRenderArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::default();
    let result = template_render(arguments, &mut sources);
    let notes = result.map_err(|errors| arguments.plugins.failed(&errors, &sources, color))?;
    output::show(&notes, &sources, color);
    Ok(())
}

/// Name of the instance group of the manifest and this pod's place in it.
struct Pod<'a> {
    manifest: &'a Tree,
    group: &'a str,
    jobs: &'a [Tree],
    /// `spec.index` of its instance, if the manifest has it.
    index: Option<u32>,
    releases: JobSources,
}

/// The notes of the templates.
fn template_render(
    arguments: &TemplateRenderArguments,
    sources: &mut Sources,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let manifest = inputs::read_mounted(&arguments.manifest, sources)?;
    // The operator has warned about settings when it loaded the plugin.
    let stages = pre_render_ops::stages(Stage::Render, pre_render_ops::are_in_pod(&manifest));
    let plugins = plugins::prepare(&arguments.plugins, &stages, sources)?;
    let plugins = arguments.own_deployment.set(plugins);
    // More users can read a pod's log than its Secrets.
    let secrets = Secrets::of_properties(&manifest);
    let releases = JobSources::open(arguments.job_sources.as_deref(), &arguments.releases, sources);
    let releases = releases.map_err(|errors| secrets.scrub(errors, sources))?;
    let pod = pod(arguments, &manifest, releases);
    let rendered = files(arguments, &plugins, &pod, &secrets, sources);
    let rendered = rendered.map_err(|errors| secrets.scrub(errors, sources))?;
    let mut reported = rendered.reported.clone();
    if let Some(directory) = &arguments.wrapper {
        let named = pod_names::write(
            directory,
            &Named {
                manifest: &manifest,
                index: pod.index.unwrap_or(0),
                ip: &arguments.ip,
                has_server: arguments.pod_dns,
            },
        );
        reported.extend(named?);
    }
    write(arguments, &rendered).map_err(|error| boson_commands::files::unwritable(&error))?;
    Ok(secrets.scrub(reported, sources))
}

#[derive(Default)]
struct Rendered {
    files: Vec<Below>,
    written: ContainerRunFiles,
    reported: Vec<Diagnostic>,
}

fn write(arguments: &TemplateRenderArguments, rendered: &Rendered) -> anyhow::Result<()> {
    if let (Some(program), Some(directory)) = (&arguments.install, &arguments.wrapper) {
        processes::install(program, directory, &arguments.out)?;
    }
    below::write(&arguments.out, &rendered.files)?;
    for (job, _) in &rendered.written.jobs {
        processes::link_packages(&arguments.out.join(job))?;
    }
    if let Some(directory) = &arguments.wrapper {
        processes::write(directory, &rendered.written)?;
    }
    arguments
        .directory
        .iter()
        .try_for_each(|path| processes::make_directory(path))
}

fn pod<'a>(arguments: &TemplateRenderArguments, manifest: &'a Tree, releases: JobSources) -> Pod<'a> {
    let zone = arguments.az_index.saturating_sub(1);
    Pod {
        manifest,
        group: resolved_document::name(manifest),
        jobs: resolved_document::jobs(manifest),
        index: resolved_document::index(manifest, zone, arguments.ordinal),
        releases,
    }
}

/// The files of all jobs, with the notes of the templates. Errors of all jobs are collected.
fn files(
    arguments: &TemplateRenderArguments,
    plugins: &Plugins,
    pod: &Pod<'_>,
    secrets: &Secrets,
    sources: &mut Sources,
) -> Result<Rendered, Vec<Diagnostic>> {
    let (mut rendered, mut reported, mut filled) = (Rendered::default(), Vec::new(), Vec::new());
    for job in pod.jobs {
        match fill(arguments, plugins, job, pod, secrets, sources) {
            Ok(one) => filled.push((job, one)),
            Err(some) => reported.extend(some),
        }
    }
    reported.extend(template_diagnostics(pod, &filled));
    let mut described = Vec::new();
    for (tree, one) in filled.iter().filter(|(_, one)| !one.filled.failed()) {
        match processes::description(&one.job, &one.filled, one.monit.as_deref(), sources) {
            Ok((name, bpm)) => described.push(Described {
                tree,
                instance: one,
                name,
                bpm,
            }),
            Err(errors) => reported.extend(errors),
        }
    }
    if let Err(errors) = apply_operations(arguments, plugins, pod, &mut described) {
        reported.extend(errors);
    }
    for one in described {
        let Instance { job, context, .. } = one.instance;
        match processes::of_job(one.tree, job, &one.name, &one.bpm, context, &arguments.ip) {
            Ok(text) => rendered.written.jobs.push((job.name.clone(), text)),
            Err(errors) => reported.extend(errors),
        }
    }
    if reported.iter().any(Diagnostic::is_error) {
        return Err(reported);
    }
    for (_, one) in filled {
        rendered.files.extend(files_below(&one.job, one.filled));
        rendered.written.context = one.context;
    }
    Ok(Rendered { reported, ..rendered })
}

/// What the templates have reported, with the errors of all jobs as BOSH prints them.
fn template_diagnostics(pod: &Pod<'_>, filled: &[(&Tree, Instance)]) -> Vec<Diagnostic> {
    let (mut reported, mut failed) = (Vec::new(), Vec::new());
    for (_, Instance { job, filled, .. }) in filled {
        reported.extend(filled.diagnostics.iter().cloned());
        if filled.failed() {
            let errors = filled.diagnostics.iter().filter(|one| one.is_error()).collect();
            failed.push(JobErrors { job, errors });
        }
    }
    if !failed.is_empty() {
        reported.push(collected::note_of_group(&collected::group(pod.group, &failed)));
    }
    reported
}

/// Applies the group's operations on bpm.yml, as the conversion did, to what was rendered here.
fn apply_operations(
    arguments: &TemplateRenderArguments,
    plugins: &Plugins,
    pod: &Pod<'_>,
    described: &mut [Described<'_>],
) -> Result<(), Vec<Diagnostic>> {
    let name = boson_commands::files::name(&arguments.manifest);
    let with_file = described.iter().filter(|one| !one.name.is_empty());
    let configs: Tree = with_file
        .map(|one| (one.instance.job.name.clone(), one.bpm.clone()))
        .collect();
    let changed = pre_render_ops::in_pod(plugins, pod.group, pod.manifest, &configs, &name);
    let changed = changed.map_err(|mut errors| {
        let tree = pod.manifest;
        pre_render_ops::in_manifest(&mut errors, stage::Named { name: &name, tree });
        errors
    })?;
    for one in described.iter_mut().filter(|one| !one.name.is_empty()) {
        if let Some(now) = changed.as_ref().and_then(|configs| configs.get(&one.instance.job.name)) {
            one.bpm = now.clone();
        }
    }
    Ok(())
}

/// A job on this pod, with the description of its processes.
struct Described<'a> {
    /// Of the resolved group.
    tree: &'a Tree,
    instance: &'a Instance,
    /// Of the description; empty without a file.
    name: String,
    bpm: Tree,
}

/// A job on this pod.
struct Instance {
    job: Job,
    /// The context of its templates.
    context: Tree,
    filled: Filled,
    /// The monit file, if the job runs by it.
    monit: Option<String>,
}

/// A job with its rendered files on this pod.
fn fill(
    arguments: &TemplateRenderArguments,
    plugins: &Plugins,
    job: &Tree,
    pod: &Pod<'_>,
    secrets: &Secrets,
    sources: &mut Sources,
) -> Result<Instance, Vec<Diagnostic>> {
    let (name, release) = (
        job.str("name").unwrap_or_default(),
        job.str("release").unwrap_or_default(),
    );
    let found = pod.releases.release(release, sources)?;
    let files = found.job(name).ok_or_else(|| {
        let what = format!("Job '{name}' not found in release '{release}'");
        vec![Diagnostic::error(codes::RELEASE_NO_JOB, what).in_document(found.source.clone())]
    })?;
    let is_this_pods = |nth: &usize| pod.index.is_some() && context::index(job, *nth) == pod.index;
    let nth = (0..context::instances(job)).find(is_this_pods);
    let context = nth.and_then(|nth| context::context(job, nth, &arguments.ip));
    let context = context.ok_or_else(|| {
        let (zone, ordinal) = (arguments.az_index, arguments.ordinal);
        let what = format!("job '{name}' has no instance with ordinal {ordinal} in zone {zone}");
        let error = Diagnostic::error(convert_codes::RENDER_NO_INSTANCE, what)
            .in_document(arguments.manifest.display().to_string())
            .help("AZ_INDEX and POD_ORDINAL do not match the manifest");
        vec![error]
    })?;
    // As in the conversion: rendered after `monit`, which may change the context of the others.
    let by_monit = selection::by_monit(job, files);
    let monit = if by_monit {
        selection::monit(files)
    } else {
        selection::monit_with_global_effects(files)
    };
    let all: Vec<_> = monit.iter().chain(&files.templates).collect();
    let mut filled = render_files(plugins, Some(pod.group), files, &all, &context, secrets, sources);
    let monit = (monit.is_some() && !filled.files.is_empty()).then(|| filled.files.remove(0).content);
    Ok(Instance {
        job: files.clone(),
        context,
        filled,
        monit: monit.filter(|_| by_monit),
    })
}

fn files_below(job: &Job, filled: Filled) -> Vec<Below> {
    let files = job.templates.iter().zip(filled.files);
    let placed = files.map(|(file, rendered)| Below {
        path: format!("{}/{}", job.name, file.destination),
        content: rendered.content,
        mode: filling::mode(file),
    });
    placed.collect()
}
