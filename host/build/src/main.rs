//! Builds every built-in plugin into one folder: wraps the core modules that cargo made of the Rust stages, and seals
//! CRuby for the render stage, which takes a minute and is skipped while nothing it is made of changed. Its subcommands
//! make the parts of a release: the image of plugins and `host`, the Helm chart, archives and the list of components.

#![allow(clippy::print_stderr, reason = "progress of a build tool, which has no other output")]

mod archive;
mod chart;
mod image;
mod sbom;
mod stages;
mod stamp;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::archive::ArchiveArguments;
use crate::chart::ChartArguments;
use crate::image::ImageArguments;
use crate::sbom::SbomArguments;
use crate::stages::Stage;

/// Builds and packs the built-in plugins.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Packing>,
    /// `ruby+stdlib.wasm` of the npm package `@ruby/4.0-wasm-wasi`; needed for the render stage.
    #[arg(long, value_name = "PATH")]
    ruby: Option<PathBuf>,
    /// Where the components go.
    #[arg(long, value_name = "DIR", default_value_os_t = target().join("plugins"))]
    out: PathBuf,
    /// Where cargo put the core modules (`cargo build --profile plugin --target wasm32-unknown-unknown`).
    #[arg(long, value_name = "DIR", default_value_os_t = target().join("wasm32-unknown-unknown/plugin"))]
    wasm_dir: PathBuf,
    /// Builds these stages only; may be repeated.
    #[arg(long, value_name = "STAGE")]
    only: Vec<Stage>,
    /// Builds even what did not change.
    #[arg(long)]
    force: bool,
}

/// The parts of a release.
#[derive(Subcommand)]
enum Packing {
    /// Makes the operator's image: a tar of an OCI image layout
    Image(ImageArguments),
    /// Generates the Helm chart from the manifests in deploy/
    Chart(ChartArguments),
    /// Packs a folder: the same files give the same bytes
    Archive(ArchiveArguments),
    /// Lists what a release is made of, as a CycloneDX document
    Sbom(SbomArguments),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(packing) = &arguments.command {
        return match packing {
            Packing::Image(arguments) => image::make(arguments),
            Packing::Chart(arguments) => chart::make(arguments),
            Packing::Archive(arguments) => archive::make(arguments),
            Packing::Sbom(arguments) => sbom::make(arguments),
        };
    }
    std::fs::create_dir_all(&arguments.out).with_context(|| format!("creating {}", arguments.out.display()))?;
    let wanted = if arguments.only.is_empty() {
        Stage::ALL
    } else {
        arguments.only.as_slice()
    };
    for stage in wanted {
        build(*stage, &arguments).with_context(|| format!("building the plugin of the stage {stage}"))?;
    }
    Ok(())
}

fn build(stage: Stage, arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    let input = stage.input(&arguments.wasm_dir, arguments.ruby.as_deref())?;
    let file = arguments.out.join(format!("{stage}.wasm"));
    let made_of = stamp::digest_of(&[&input, &stamp::this_program()?]);
    if !arguments.force && stamp::is_current(&file, &made_of) {
        eprintln!("{stage}: unchanged");
        return Ok(());
    }

    let mut progress = |what: &str| eprintln!("{stage}: {:5.1} s  {what}", start.elapsed().as_secs_f32());
    let component = stage.component(&input, &mut progress)?;
    if component.is_empty() {
        bail!("the component is empty");
    }
    write(&file, &component)?;
    stamp::set(&file, &made_of, &component)?;
    eprintln!(
        "{stage}: {:5.1} s  {} kB in {}",
        start.elapsed().as_secs_f32(),
        component.len() / 1000,
        file.display()
    );
    Ok(())
}

/// Writes under another name first, one of this process: a host that starts meanwhile must not read half a component.
fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = file.with_extension(format!("wasm.{}.new", std::process::id()));
    std::fs::write(&temporary, bytes).with_context(|| format!("writing {}", temporary.display()))?;
    std::fs::rename(&temporary, file).with_context(|| format!("writing {}", file.display()))
}

/// Cargo's target folder.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}
