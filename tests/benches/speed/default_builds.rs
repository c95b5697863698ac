//! Rows about plugins in the form that compilers for WASI 0.2 build by default: a process that loads one and asks for
//! its description, without and with cached machine code.

use crate::measure::{Sample, host, process};
use crate::table::Row;
use anyhow::Result;
use boson_tests::default_builds::Build;
use std::path::Path;

const COLD_RUNS: usize = 3;
const WARM_RUNS: usize = 9;

pub fn default_builds() -> Result<Vec<Row>> {
    Build::ALL.into_iter().map(row).collect()
}

fn row(build: Build) -> Result<Row> {
    let what = format!("plugin of {}: load, compile, describe", build.name());
    if let Some(missing) = build.missing() {
        return Ok(Row::left_out(&what, &format!("there is no {missing}")));
    }
    let scratch = tempfile::tempdir()?;
    let component = build.make(scratch.path(), &[])?;
    let cold: Vec<f64> = (0..COLD_RUNS)
        .map(|run| load(&component, &scratch.path().join(run.to_string())))
        .collect::<Result<_>>()?;
    let cache = scratch.path().join("0");
    let warm: Vec<f64> = (0..WARM_RUNS)
        .map(|_| load(&component, &cache))
        .collect::<Result<_>>()?;
    let [cold, warm] = [cold, warm].map(|times| Sample::of(times).median());
    Ok(Row::part(
        &what,
        &format!("{cold:.0} ms, {warm:.0} ms with machine code in the cache; `host plugin inspect`"),
    ))
}

/// Milliseconds of a process with this cache.
fn load(component: &Path, cache: &Path) -> Result<f64> {
    std::fs::create_dir_all(cache)?;
    let arguments = ["plugin".as_ref(), "inspect".as_ref(), component.as_os_str()];
    Ok(process(host(cache, &arguments)?.env("XDG_CACHE_HOME", cache))?.wall)
}
