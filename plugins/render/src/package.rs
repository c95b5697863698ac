//! The Ruby that is sealed in: one exact file, because our glue and the recorded answers of BOSH were tried with no
//! other.

use std::path::Path;

use anyhow::{Context, Result, bail};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// SHA-256 of `dist/ruby+stdlib.wasm` in the npm package `@ruby/4.0-wasm-wasi` 2.10.1.
pub const DIGEST: &str = "9fe3c749730a16da9b0d1a973bb77bec164f8d958efcb7f5b81e4275ea8c5439";

/// The bytes of the Ruby module at `path`, if they are the ones we know.
///
/// # Errors
///
/// When the file cannot be read, or is another Ruby.
pub fn read_package(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).with_context(|| format!("reading the Ruby module {}", path.display()))?;
    let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
    if digest != DIGEST {
        bail!(
            "{} is not the Ruby this renderer is made for: its SHA-256 is {digest}, not {DIGEST}",
            path.display()
        );
    }
    Ok(bytes)
}
