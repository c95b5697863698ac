//! `host image`: images of releases, written to files or pushed to a registry.

mod base;
mod blocking;
mod context;
mod making;
mod progress;
mod selection;

use crate::command::inputs::variables::VariableArguments;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Bars, Color};
use boson_commands::registries::{self, AuthorityArguments, WithoutTlsArguments};
use boson_commands::user_cache;
use boson_compile::{Choice, Compiler, Tally};
use boson_images::{Downloads, Pool};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_registry::{Settings, Transfer};
use clap::Args;
use futures::{StreamExt, stream};
use making::Shared;
use selection::Selected;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
A release is a compiled tarball, a source tarball, or the repository of a release. The packages of a source release are compiled by their own scripts, \
as root, in containers of the stemcell image, which buildah, podman, docker or BuildKit runs. They have no network. Compiled packages are cached \
by their fingerprints. Missing blobs are not downloaded: see `bosh sync-blobs`.

A stemcell image is an OCI image layout, an uncompressed archive of an image, or a name in a registry. Credentials come from docker's configuration.

The name of an image is <registry>/<release>:<os>-<stemcell version>-<release version>. Each line of the output is one image with the digest of \
its manifest.

Examples:
  host image nats-56.26.0-ubuntu-jammy-1.585.tgz --stemcell-image stemcell.tar --out nats.tar
  host image nats-56.26.0-ubuntu-jammy-1.585.tgz --stemcell-image r.example/stemcells/jammy:1.585 --registry r.example/cf
  host image nats-release --stemcell ubuntu-noble/1.165 --registry r.example/cf
  host image nats-release --stemcell ubuntu-noble/1.165 --context build
  host image --manifest cf-deployment.yml -o operations/use-compiled-releases.yml --stemcell-image r.example/stemcells/jammy:1.585 \\
    --registry r.example/cf";

/// Packages that are compiled at the same time by default: each may use several processors itself.
const MAX_DEFAULT_JOBS: usize = 4;

/// Build images of releases
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("from").required(true).args(["tarball", "manifest"])))]
#[command(group(clap::ArgGroup::new("to").required(true).multiple(true).args(["registry", "out", "context"])))]
#[command(mut_arg("registry_ca", |ca| ca.help("Additional CA certificate for registries and release servers: a PEM file")))]
pub struct ImageArguments {
    /// Tarball or repository of a release
    #[arg(value_name = "RELEASE")]
    tarball: Option<PathBuf>,
    /// Build the images of all releases of this manifest; `-` for standard input
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    #[command(flatten)]
    variables: VariableArguments,
    /// Use this tarball or repository instead of downloading the release
    #[arg(long = "release", value_name = "[NAME=]PATH", requires = "manifest")]
    releases: Vec<String>,
    /// Base image: an OCI image layout, an archive of an image, or a name in a registry [default:
    /// ghcr.io/cloudfoundry/OS-stemcell:VERSION]
    #[arg(long, value_name = "IMAGE")]
    stemcell_image: Option<String>,
    /// Stemcell in the name of the image [default: the stemcell that the packages were compiled for, or that of
    /// --stemcell-image]
    #[arg(long, value_name = "OS/VERSION", conflicts_with = "manifest", value_parser = stemcell)]
    stemcell: Option<boson_images::Stemcell>,
    /// Registry and organization in the names of images; push the images there unless --out is set
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// Write to disk: FILE.tar is an archive, anything else a directory with an OCI image layout; with --manifest a
    /// directory of archives
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Write a build context for another builder instead of building the image of a source release; with --manifest a
    /// directory for each release
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "builder", "network", "jobs", "force"])]
    context: Option<PathBuf>,
    /// Program that runs packaging scripts: buildah, podman, docker, buildkit, or the first that works
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = builder)]
    builder: Choice,
    /// Let packaging scripts use the network
    #[arg(long)]
    network: bool,
    /// Number of packages to compile at the same time [default: the number of processors, at most 4]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: Option<u8>,
    /// Build and push images even if the registry already has them
    #[arg(long)]
    force: bool,
    /// Number of releases to process at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=16))]
    parallel: u8,
    /// Cache directory for downloads, layers of stemcells and unfinished layers [default: boson/images in the user's
    /// cache directory]
    #[arg(long, value_name = "DIR", env = "BOSON_IMAGES_CACHE")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    without_tls: WithoutTlsArguments,
    #[command(flatten)]
    authorities: AuthorityArguments,
    #[command(flatten)]
    plugins: PluginArguments,
}

fn stemcell(text: &str) -> Result<boson_images::Stemcell, String> {
    boson_images::Stemcell::parse(text).ok_or_else(|| "expected OS/VERSION, such as ubuntu-jammy/1.585".to_owned())
}

fn builder(text: &str) -> Result<Choice, String> {
    Choice::parse(text).ok_or_else(|| "expected auto, buildah, podman, docker or buildkit".to_owned())
}

/// Diagnostics, and the documents that they are about.
pub(super) struct ImageError {
    diagnostics: Vec<Diagnostic>,
    sources: Sources,
}

// === impl ImageError ===

impl ImageError {
    fn of(diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            diagnostics,
            sources: Sources::default(),
        }
    }
}

impl From<Diagnostic> for ImageError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::of(vec![diagnostic])
    }
}

pub fn run(arguments: &ImageArguments, color: Color) -> Result<(), ExitError> {
    let settings = registries::settings(&arguments.without_tls, &arguments.authorities)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let made = runtime.block_on(make(arguments, &settings, color));
    // Do not wait for threads that still read for an image that failed.
    runtime.shutdown_background();
    made
}

async fn make(arguments: &ImageArguments, settings: &Settings, color: Color) -> Result<(), ExitError> {
    let bars = Bars::start();
    let mut sources = Sources::default();
    let chosen =
        selection::select(arguments, &mut sources).map_err(|errors| exit::refused(&errors, &sources, color))?;
    output::show(&chosen.warnings, &sources, color);
    let shared = shared(arguments, settings, bars);
    let shared = Arc::new(shared.map_err(|error| exit::fail(error, color))?);
    let results = stream::iter(chosen.all)
        .map(|selected| build_one(shared.clone(), selected))
        .buffer_unordered(usize::from(arguments.parallel));
    let mut results = std::pin::pin!(results);
    let mut reports = Vec::new();
    while let Some((selected, result)) = results.next().await {
        match result {
            Ok(made) => shared.bars.pause(|| {
                output::show(&made.warnings, &Sources::default(), color);
                if let Some(tally) = &made.tally {
                    output::eprint(&count_text(&made.name, tally));
                }
                output::print(&line(&made))
            })?,
            Err(report) => reports.push(with_place(report, &selected)),
        }
    }
    shared.bars.end();
    if reports.is_empty() {
        return Ok(());
    }
    for report in reports {
        for one in report.diagnostics {
            let about = if one.place.document.as_deref() == chosen.document.as_deref() {
                &sources
            } else {
                &report.sources
            };
            output::show(&[one], about, color);
        }
    }
    Err(ExitError::Input)
}

/// What all images of a call share.
fn shared(arguments: &ImageArguments, settings: &Settings, bars: Bars) -> Result<Shared, Diagnostic> {
    let cache = cache(arguments)?;
    let transfer = Transfer::new(settings)?;
    let pool = Pool::default();
    Ok(Shared {
        bases: base::Bases::new(arguments.stemcell_image.as_deref(), &cache, transfer.clone()),
        transfer,
        downloads: Downloads::new(&cache.join("downloads"), &settings.authorities)?,
        compiler: compiler(arguments, &cache, &pool)?,
        pool,
        cache,
        out: arguments.out.clone(),
        context: arguments.context.clone(),
        many: arguments.manifest.is_some(),
        force: arguments.force,
        bars,
    })
}

fn compiler(arguments: &ImageArguments, cache: &Path, pool: &Pool) -> Result<Compiler, Diagnostic> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = boson_compile::Settings {
        choice: arguments.builder,
        network: arguments.network,
        jobs: arguments.jobs.map_or(processors.min(MAX_DEFAULT_JOBS), usize::from),
    };
    Compiler::new(&cache.join("compiled"), pool.clone(), settings)
}

/// How the packages of an image were made.
fn count_text(image: &str, tally: &Tally) -> String {
    format!(
        "{image}: {} packages compiled, {} from the cache\n",
        tally.compiled, tally.cached
    )
}

/// The name of an image, with its digest where the registry reported one.
fn line(made: &making::Made) -> String {
    match made.digest.as_str() {
        "" => format!("{}\n", made.name),
        digest => format!("{}@{digest}\n", made.name),
    }
}

async fn build_one(shared: Arc<Shared>, selected: Selected) -> (Arc<Selected>, Result<making::Made, ImageError>) {
    let selected = Arc::new(selected);
    let made = making::image(&shared, &selected).await;
    (selected, made)
}

/// Errors without a place are shown at the release's entry in the manifest.
fn with_place(mut report: ImageError, selected: &Selected) -> ImageError {
    if let Some((document, pointer)) = &selected.place {
        for error in report
            .diagnostics
            .iter_mut()
            .filter(|error| error.place.document.is_none())
        {
            *error = error.clone().in_document(document).at(pointer);
        }
    }
    report
}

/// The cache directory, for its owner only.
fn cache(arguments: &ImageArguments) -> Result<PathBuf, Diagnostic> {
    let directory = arguments
        .cache
        .clone()
        .or_else(|| user_cache::directory("images"))
        .ok_or_else(|| {
            Diagnostic::error(
                boson_releases::codes::IMAGE_CACHE,
                "there is no home directory for the cache",
            )
            .help("choose a directory: --cache DIR")
        })?;
    let unusable = |error: std::io::Error| {
        let message = format!("'{}' cannot be used as a cache: {error}", directory.display());
        Diagnostic::error(boson_releases::codes::IMAGE_CACHE, message)
            .help("check whether its disk is full or read-only, or choose another directory with --cache")
    };
    for place in [directory.clone(), directory.join("layers"), directory.join("stemcells")] {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(place);
        made.map_err(unusable)?;
    }
    Ok(directory)
}
