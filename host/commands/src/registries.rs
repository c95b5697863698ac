//! Options for connections to registries, which several commands have. Two structs, because the operator lists an
//! option of its own between them.

use crate::files;
use anyhow::Context;
use boson_registry::Settings;
use clap::{Args, Parser};
use std::path::PathBuf;

/// Which registries are used without TLS.
#[derive(Args, Clone, Debug)]
pub struct WithoutTlsArguments {
    /// Connect to this registry (HOST:PORT) without TLS
    #[arg(
        long,
        value_name = "REGISTRY",
        env = "BOSON_REGISTRY_WITHOUT_TLS",
        value_delimiter = ','
    )]
    registry_without_tls: Vec<String>,
}

/// Whom the program trusts in addition to the system's authorities.
#[derive(Args, Clone, Debug)]
pub struct AuthorityArguments {
    /// Additional CA certificate for registries: a PEM file
    #[arg(long, value_name = "FILE", env = "BOSON_REGISTRY_CA", value_delimiter = ',')]
    registry_ca: Vec<PathBuf>,
}

/// The options as environment variables, for commands that read from a registry only if a plugin is there.
#[derive(Parser, Debug)]
struct Environment {
    #[command(flatten)]
    without_tls: WithoutTlsArguments,
    #[command(flatten)]
    authorities: AuthorityArguments,
}

/// How to reach registries by these options.
///
/// # Errors
/// A file cannot be read.
pub fn settings(without_tls: &WithoutTlsArguments, authorities: &AuthorityArguments) -> anyhow::Result<Settings> {
    Ok(Settings {
        without_tls: without_tls.registry_without_tls.clone(),
        authorities: files::read_all(&authorities.registry_ca)?,
        allowed: Vec::new(),
    })
}

/// How to reach registries by environment variables.
///
/// # Errors
/// As [`settings`].
pub fn settings_of_environment() -> anyhow::Result<Settings> {
    let variables = Environment::try_parse_from(["host"]).context("the variables BOSON_REGISTRY_* cannot be used")?;
    settings(&variables.without_tls, &variables.authorities)
}
