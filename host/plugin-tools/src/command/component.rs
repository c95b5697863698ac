//! `host plugin component`: the component of a core module, as a file. All other commands take the module, too, but
//! only the component has the digest that they show.

use crate::codes;
use crate::core_module;
use anyhow::Context;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::storage::durable;
use boson_pipeline::Diagnostic;
use clap::Args;
use std::path::PathBuf;

/// Options of `host plugin component`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: host plugin component target/wasm32-unknown-unknown/release/my_labels.wasm --out my-labels.wasm\n\n\
    The output is the digest of the component. It is what `plugin.yaml`, the status of a deployment and messages show, and what a \
    signature of the file is for. The same module always gives the same component."
)]
pub struct ComponentArguments {
    /// The core module, as a compiler writes it
    module: PathBuf,
    /// Write the component to this file
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(arguments: &ComponentArguments, color: Color) -> Result<(), ExitError> {
    let fail = |error: Diagnostic| exit::fail(error, color);
    let made = core_module::component(&arguments.module).map_err(fail)?;
    let component = made.ok_or_else(|| {
        let what = format!(
            "'{}' cannot be read, or is not a core module",
            arguments.module.display()
        );
        let help = "name the file that the compiler has written; a component needs no conversion";
        fail(Diagnostic::error(codes::PLUGIN_CORE_MODULE, what).help(help))
    })?;
    durable::write(&arguments.out, &component, 0o644)
        .with_context(|| format!("cannot write '{}'", arguments.out.display()))?;
    Ok(output::print(&format!("{}\n", boson_oci::digest(&component)))?)
}
