//! Builds every built-in plugin into one folder: wraps the core modules that cargo made of the Rust stages, and seals CRuby
//! for the render stage, which takes a minute and is skipped while nothing it is made of changed. `image` packs them and `host`.

#![allow(clippy::print_stderr, reason = "progress of a build tool, which has no other output")]

mod image;
mod stages;
mod stamp;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::image::ImageArguments;
use crate::stages::Stage;

/// Builds and packs the built-in plugins.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Packing>,
    /// `ruby+stdlib.wasm` of the npm package `@ruby/3.4-wasm-wasi`; needed for the render stage.
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

/// What is done with plugins that were built.
#[derive(Subcommand)]
enum Packing {
    /// Makes the operator's image: a tar of an OCI image layout
    Image(ImageArguments),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(Packing::Image(arguments)) = &arguments.command {
        return image::make(arguments);
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

/// Writes under another name first: a host that starts meanwhile must not read half a component.
fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = file.with_extension("wasm.new");
    std::fs::write(&temporary, bytes).with_context(|| format!("writing {}", temporary.display()))?;
    std::fs::rename(&temporary, file).with_context(|| format!("writing {}", file.display()))
}

/// Cargo's target folder.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}
