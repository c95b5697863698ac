//! Finds the programs of Kubernetes: in `$KUBEBUILDER_ASSETS`, or in the cache that `.ci/kubernetes` fills.

use anyhow::{Context, Result, bail};
use std::env;
use std::path::PathBuf;

/// The path of a program.
///
/// # Errors
/// It is in neither place. A test that needs it then fails: a skipped test proves nothing.
pub fn program(name: &str) -> Result<PathBuf> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let places = assets.into_iter().chain([cache()?.join("kubernetes")]);
    for place in places {
        let program = place.join(name);
        if program.is_file() {
            return Ok(program);
        }
    }
    bail!("{name} is missing: run .ci/kubernetes, or set KUBEBUILDER_ASSETS")
}

/// As in `.ci/env`.
fn cache() -> Result<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("BOSON_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("boson")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/boson")))
        .context("none of BOSON_CACHE, XDG_CACHE_HOME and HOME is set")
}
