//! `host plugin pull`: the component in an image, as a file.

use crate::artifacts;
use anyhow::Context;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::registries::{self, AuthorityArguments, WithoutTlsArguments};
use clap::Args;
use std::path::PathBuf;

/// Options of `host plugin pull`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: host plugin pull registry.example.com/team/my-labels:1.0 --out my-labels.wasm\n\n\
    Credentials are those of `docker login`. The output is the reference with the digest."
)]
pub struct PullArguments {
    /// Name of the image: `HOST[:PORT]/PATH[:TAG][@sha256:DIGEST]`
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Write the component to this file
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    without_tls: WithoutTlsArguments,
    #[command(flatten)]
    authorities: AuthorityArguments,
}

pub fn run(arguments: &PullArguments, color: Color) -> Result<(), ExitError> {
    let settings = registries::settings(&arguments.without_tls, &arguments.authorities)?;
    let reference = arguments
        .reference
        .strip_prefix("oci://")
        .unwrap_or(&arguments.reference);
    let pulled = artifacts::pull(reference, &settings).map_err(|error| exit::fail(error, color))?;
    let written = std::fs::write(&arguments.out, &pulled.component);
    written.with_context(|| format!("cannot write '{}'", arguments.out.display()))?;
    Ok(output::print(&format!("{}\n", pulled.pinned))?)
}
