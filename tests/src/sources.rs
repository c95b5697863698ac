//! The source files of this repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories that builds leave among the sources.
const BUILT: [&str; 2] = ["target", "node_modules"];

/// The files below a directory with this extension.
///
/// # Errors
/// A directory cannot be read.
pub fn below(directory: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if !path.is_dir() {
            all.extend(Some(path).filter(|path| path.extension().is_some_and(|found| found == extension)));
        } else if !BUILT.iter().any(|name| path.ends_with(name)) {
            all.extend(below(&path, extension)?);
        }
    }
    Ok(all)
}
