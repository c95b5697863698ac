//! The `jobs-src` tree of release images: `jobs-src/<job>/job.MF`, or `jobs-src/<release>/<job>/job.MF` if it holds
//! several releases.

use super::files::FileError;
use super::job::{self, Layout};
use super::{Files, Release, checked_name};
use crate::diagnostic::{Diagnostic, all};
use crate::release::codes;
use crate::report::Sources;

/// Reads every release in the tree at `root`. `name`: the name of the one release if the tree does not name releases,
/// or the release to pick if it does. `known`: name and version, if the image has them.
///
/// # Errors
/// All their errors.
pub fn read(
    files: &Files,
    root: &str,
    name: Option<&str>,
    known: Option<(&str, &str)>,
    sources: &mut Sources,
) -> Result<Vec<Release>, Vec<Diagnostic>> {
    let named = name.map(checked_name).transpose()?;
    let top = jobs_below(files, root);
    if !top.is_empty() {
        let Some(name) = named.or_else(|| known.map(|(name, _)| name.to_owned())) else {
            return Err(vec![no_name_error(files)]);
        };
        let version = known.map(|(_, version)| version.to_owned());
        return one(files, root, &top, name, version, sources).map(|release| vec![release]);
    }
    let is_wanted = |directory: &&str| named.as_deref().is_none_or(|name| name == *directory);
    let release = |directory: &str| {
        let path = join(root, directory);
        let jobs = jobs_below(files, &path);
        (!jobs.is_empty()).then(|| one(files, &path, &jobs, directory.to_owned(), None, sources))
    };
    let directories = files.names(root).into_iter();
    let releases = all(directories.filter(is_wanted).filter_map(release))?;
    if releases.is_empty() {
        return Err(vec![no_release_error(files, root, name)]);
    }
    Ok(releases)
}

fn one(
    files: &Files,
    root: &str,
    names: &[&str],
    name: String,
    version: Option<String>,
    sources: &mut Sources,
) -> Result<Release, Vec<Diagnostic>> {
    let mut warnings = no_job_warnings(files, root, names);
    let job = |name: &&str| job::read(files, &join(root, name), name, Layout::Image, &mut warnings, sources);
    let jobs = all(names.iter().map(job))?;
    Ok(Release {
        name,
        version,
        jobs,
        source: files.naming().source().to_owned(),
        warnings,
    })
}

fn jobs_below<'f>(files: &'f Files, root: &str) -> Vec<&'f str> {
    // A job that cannot be read is listed all the same, so that its error is reported.
    let has_manifest = |name: &&str| files.file(&format!("{}/job.MF", join(root, name))) != Err(FileError::Missing);
    files.names(root).into_iter().filter(has_manifest).collect()
}

/// A warning for each directory among the jobs that is not a job: otherwise a job whose manifest got lost would go
/// unnoticed.
fn no_job_warnings(files: &Files, root: &str, jobs: &[&str]) -> Vec<Diagnostic> {
    let others = files
        .names(root)
        .into_iter()
        .filter(|name| jobs.binary_search(name).is_err());
    let directories = others
        .map(|name| (name, join(root, name)))
        .filter(|(_, path)| files.is_directory(path));
    directories
        .map(|(name, path)| {
            let message = format!("Missing job manifest for '{name}'");
            Diagnostic::warning(codes::RELEASE_JOB_MANIFEST, message)
                .in_document(files.document(&path))
                .help("a directory without `job.MF` is not a job")
        })
        .collect()
}

fn join(root: &str, name: &str) -> String {
    if root.is_empty() {
        name.to_owned()
    } else {
        format!("{root}/{name}")
    }
}

fn no_name_error(files: &Files) -> Diagnostic {
    let source = files.naming().source();
    let message = format!("'{source}' does not contain the name of its release");
    Diagnostic::error(codes::RELEASE_NAME, message)
        .in_document(source)
        .help("set the name of the release: --release NAME=PATH")
}

fn no_release_error(files: &Files, root: &str, name: Option<&str>) -> Diagnostic {
    let place = files.document(root);
    let message = match name {
        Some(name) => format!("There is no release '{name}' in '{place}'"),
        None => format!("There are no jobs in '{place}'"),
    };
    Diagnostic::error(codes::RELEASE_EMPTY, message)
        .in_document(files.naming().source())
        .help("expected `<job>/job.MF` or `<release>/<job>/job.MF` there")
}
