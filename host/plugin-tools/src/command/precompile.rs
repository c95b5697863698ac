//! `host plugin precompile`: machine code for the components of an installation.

use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_pipeline::Stage;
use boson_sandbox::{Cache, Limits, Sandbox};
use clap::Args;
use std::path::PathBuf;

/// Options of `host plugin precompile`.
#[derive(Args, Debug)]
#[command(after_help = "Example: host plugin precompile /usr/share/boson/plugins")]
pub struct PrecompileArguments {
    /// Directory with `ops.wasm` and the others
    directory: PathBuf,
}

pub fn run(arguments: &PrecompileArguments, color: Color) -> Result<(), ExitError> {
    let fail = |error: boson_sandbox::Error| exit::fail(error.diagnostic(), color);
    let sandbox = Sandbox::new(Limits::default(), Cache::none()).map_err(fail)?;
    for stage in Stage::ALL {
        let file = arguments.directory.join(format!("{stage}.wasm"));
        if !file.is_file() {
            continue;
        }
        let started = std::time::Instant::now();
        if sandbox.precompile(&file).map_err(fail)? {
            output::eprint(&format!(
                "precompiled {} in {:.1} s\n",
                file.display(),
                started.elapsed().as_secs_f32()
            ));
        }
    }
    Ok(())
}
