//! Options for connections to registries, which several commands have. Two structs, because the operator lists an
//! option of its own between them.

use crate::files;
use clap::Args;
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
    pub registry_without_tls: Vec<String>,
}

/// Whom the program trusts in addition to the system's authorities.
#[derive(Args, Clone, Debug)]
pub struct AuthorityArguments {
    /// Additional CA certificate for registries: a PEM file
    #[arg(long, value_name = "FILE", env = "BOSON_REGISTRY_CA", value_delimiter = ',')]
    registry_ca: Vec<PathBuf>,
}

// === impl AuthorityArguments ===

impl AuthorityArguments {
    /// The contents of the files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        files::read_all(&self.registry_ca)
    }
}
