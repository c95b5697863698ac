//! The releases of `--release` and of boson.yaml.

use crate::codes;
use boson_commands::output::Progress;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::{self, Release};
use boson_pipeline::report::Sources;
use std::path::PathBuf;

/// Reads the given releases, then those default ones whose names are not given.
///
/// # Errors
/// All errors of releases that cannot be read or are given twice; or together they are larger than `most` bytes.
pub fn read(
    given: &[String],
    default: &[String],
    most: u64,
    sources: &mut Sources,
    progress: &Progress,
) -> Result<Vec<Release>, Vec<Diagnostic>> {
    let (mut releases, mut errors): (Vec<Release>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    let given = given.iter().map(|text| (text, false));
    let default = default.iter().map(|text| (text, true));
    for (text, is_default) in given.chain(default) {
        let (name, path) = name_and_path(text);
        if is_default && releases.iter().any(|one: &Release| Some(&one.name) == name.as_ref()) {
            continue;
        }
        match boson_releases::read_noting(&path, name.as_deref(), sources, &mut |what| progress.say(what)) {
            Ok(release) => match releases.iter().find(|one| one.name == release.name) {
                Some(_) if is_default => {}
                Some(other) => errors.push(duplicate_error(&release, other)),
                None => releases.push(release),
            },
            Err(some) => errors.extend(some),
        }
        // Before the next one is read.
        release::check_all(&releases, most)?;
    }
    sources.add_releases(&releases);
    if errors.is_empty() { Ok(releases) } else { Err(errors) }
}

fn duplicate_error(release: &Release, other: &Release) -> Diagnostic {
    let message = format!(
        "release '{}' is given twice: {} and {}",
        release.name, other.source, release.source
    );
    Diagnostic::error(codes::RELEASE_TWICE, message).help("leave one out")
}

/// `NAME=PATH`; an existing path may contain a `=`.
pub fn name_and_path(text: &str) -> (Option<String>, PathBuf) {
    if PathBuf::from(text).exists() {
        (None, text.into())
    } else {
        let (name, path) = split(text);
        (name, path.into())
    }
}

/// `NAME=PATH` or `PATH`, by the text alone.
pub fn split(text: &str) -> (Option<String>, String) {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains('/') => (Some(name.to_string()), path.into()),
        _ => (None, text.into()),
    }
}
