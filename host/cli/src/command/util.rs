//! `host util`: what the pods of a deployment run. Not meant for people; documented, because manifests show it.

use crate::command::inputs;
use crate::command::render::files_of;
use crate::exit::{self, Failed};
use crate::files;
use crate::output::{self, Color};
use crate::plugins::{self, PluginArguments};
use boson_document::Tree;
use boson_pipeline::convert::context;
use boson_pipeline::release::Job;
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::Plugins;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

/// Commands that the pods of a deployment run
#[derive(Subcommand, Debug)]
pub enum UtilCommand {
    /// Render all templates of this pod's instance
    TemplateRender(TemplateRenderArguments),
}

/// Every option is read from the environment, as the pod's init container gets it
#[derive(Args, Debug)]
pub struct TemplateRenderArguments {
    /// The resolved instance group: `properties.yaml` of its Secret
    #[arg(long, env = "BOSH_MANIFEST_PATH")]
    manifest: PathBuf,
    /// Directory with `jobs-src/<release>/<job>`
    #[arg(long, env = "JOBS_DIR", default_value = "/var/vcap/all-releases")]
    releases: PathBuf,
    /// Where rendered jobs go
    #[arg(long, env = "OUTPUT_DIR", default_value = "/var/vcap/jobs")]
    out: PathBuf,
    /// The zone's number, from 1
    #[arg(long, env = "AZ_INDEX", default_value_t = 1)]
    az_index: u32,
    /// Instances in each zone [default: those of the manifest]
    #[arg(long, env = "REPLICAS")]
    replicas: Option<u32>,
    /// The pod's number in its StatefulSet, from 0
    #[arg(long, env = "POD_ORDINAL", default_value_t = 0)]
    ordinal: u32,
    /// The pod's address
    #[arg(long, env = "POD_IP")]
    ip: String,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(command: &UtilCommand, color: Color) -> Result<(), Failed> {
    let UtilCommand::TemplateRender(arguments) = command;
    let mut sources = Sources::default();
    template_render(arguments, &mut sources).map_err(|diagnostics| {
        output::show(&diagnostics, &sources, color);
        exit::failed(&diagnostics, !arguments.plugins.replacements.is_empty())
    })
}

/// A file of the pod: where and what.
struct Rendered {
    path: PathBuf,
    content: String,
    executable: bool,
}

fn template_render(arguments: &TemplateRenderArguments, sources: &mut Sources) -> Result<(), Vec<Diagnostic>> {
    let one = |diagnostic: Box<Diagnostic>| vec![*diagnostic];
    let manifest = inputs::document(&arguments.manifest, sources).map_err(one)?;
    let settings = inputs::settings(&arguments.plugins, sources).map_err(one)?;
    let plugins = plugins::load(&arguments.plugins, &[Stage::Render], &settings)?;
    let stated = manifest
        .items("instance_groups")
        .first()
        .and_then(|group| group.get("instances")?.as_i64());
    let replicas = arguments
        .replicas
        .or(stated.and_then(|count| u32::try_from(count).ok()))
        .unwrap_or(1);
    let index = arguments.az_index.saturating_sub(1) * replicas + arguments.ordinal;
    let jobs = manifest
        .items("instance_groups")
        .first()
        .map_or(&[][..], |group| group.items("jobs"));
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for job in jobs {
        match job_files(arguments, &plugins, job, index, sources) {
            Ok(some) => files.extend(some),
            Err(some) => errors.extend(some),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    files.iter().try_for_each(|file| {
        write(file).map_err(|error| vec![Diagnostic::error("output-unwritable", format!("{error:#}"))])
    })
}

fn job_files(
    arguments: &TemplateRenderArguments,
    plugins: &Plugins,
    job: &Tree,
    index: u32,
    sources: &mut Sources,
) -> Result<Vec<Rendered>, Vec<Diagnostic>> {
    let (name, release) = (
        job.str("name").unwrap_or_default(),
        job.str("release").unwrap_or_default(),
    );
    let source = arguments.releases.join("jobs-src").join(release);
    let found = boson_releases::read_noting(&source, Some(release), sources, &mut |_| {})?;
    let missing =
        |what: String| vec![Diagnostic::error("release-no-job", what).in_document(source.display().to_string())];
    let files = found
        .job(name)
        .ok_or_else(|| missing(format!("Job '{name}' not found in release '{release}'")))?;
    let nth = (0..context::instances(job)).find(|nth| context::index(job, *nth) == Some(index));
    let context = nth.and_then(|nth| context::context(job, nth, &arguments.ip));
    let context = context.ok_or_else(|| {
        missing(format!(
            "job '{name}' has no instance {index}: AZ_INDEX, REPLICAS and POD_ORDINAL do not fit the manifest"
        ))
    })?;
    render(plugins, files, &context, &arguments.out.join(name), sources)
}

fn render(
    plugins: &Plugins,
    files: &Job,
    context: &Tree,
    out: &Path,
    sources: &mut Sources,
) -> Result<Vec<Rendered>, Vec<Diagnostic>> {
    let all: Vec<_> = files.templates.iter().collect();
    let rendered = files_of(plugins, files, &all, context, sources)?;
    let made = files.templates.iter().zip(rendered).map(|(file, rendered)| Rendered {
        path: out.join(&file.destination),
        content: rendered.content,
        executable: file.executable || file.destination.starts_with("bin/") || file.destination.contains("/bin/"),
    });
    Ok(made.collect())
}

fn write(file: &Rendered) -> anyhow::Result<()> {
    if let Some(parent) = file.path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    files::write(
        &file.path,
        file.content.as_bytes(),
        if file.executable { 0o755 } else { 0o640 },
    )
}
