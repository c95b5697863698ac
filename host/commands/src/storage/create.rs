//! New files that nothing reads while they are written.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Writes a file, and makes the directories above it.
///
/// # Errors
/// The file cannot be written.
pub fn create(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let unwritable = || format!("cannot write '{}'", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(unwritable)?;
    }
    fs::write(path, content).with_context(unwritable)
}
