//! The user's cache.

use std::path::{Path, PathBuf};

/// `$XDG_CACHE_HOME/boson/<name>`, or under the home directory; `None` if the user has neither.
pub fn directory(name: &str) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
    Some(base.join("boson").join(name))
}
