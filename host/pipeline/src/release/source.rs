//! A release's source directory: `jobs/<job>/{spec,monit,templates/...}`, `config/final.yml`,
//! `releases/<name>/index.yml`.

use super::files::FileError;
use super::job::{self, Layout};
use super::open;
use super::{Entry, Files, Job, Release, checked_name, error_at, renamed, spec, version};
use crate::diagnostic::{Diagnostic, all};
use crate::release::codes;
use crate::report::Sources;
use crate::yaml::{self, Dialect};
use boson_document::{Pointer, Tree};
use std::collections::HashSet;

/// The file with the name.
const CONFIG_FILE: &str = "config/final.yml";

/// Reads a release from its source directory. Of `packages`, only the names are read (in the spec of each); of
/// `releases`, only the indexes and names of files. Documents with errors are added to `sources`.
///
/// # Errors
/// All its errors.
pub fn read(files: &Files, name: Option<&str>, sources: &mut Sources) -> Result<Release, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let own = configured_name(files, sources);
    warnings.extend(
        own.iter()
            .filter_map(|own| renamed(name, own, &files.document(CONFIG_FILE))),
    );
    let name = name.map_or(own, checked_name).map_err(|error| errors.push(error)).ok();
    errors.extend(broken_link_errors(files, "jobs"));
    let named = package_names(files, sources).map_err(|found| errors.extend(found));
    let packages: HashSet<&str> = named.iter().flatten().map(String::as_str).collect();
    let job = |directory: &str| {
        let path = format!("jobs/{directory}");
        let job = job::read(files, &path, directory, Layout::Source, &mut warnings, sources)?;
        match named {
            Ok(_) => with_packages(job, &packages, sources),
            // If one of the names is unknown, other packages would seem to be missing.
            Err(()) => Ok(job),
        }
    };
    let jobs = all(directories(files, "jobs").into_iter().map(job));
    let jobs = jobs.map_err(|found| errors.extend(found)).ok();
    let version = name
        .as_deref()
        .and_then(|name| newest_version(files, name, &mut warnings));
    match (name, jobs) {
        (Some(name), Some(jobs)) if errors.is_empty() => Ok(Release {
            name,
            version,
            jobs,
            source: files.naming().source().to_owned(),
            warnings,
        }),
        _ => Err(errors),
    }
}

/// The job, if the packages that its spec lists exist.
///
/// # Errors
/// One for each that is missing.
pub(super) fn with_packages(job: Job, packages: &HashSet<&str>, sources: &mut Sources) -> Result<Job, Vec<Diagnostic>> {
    let mut missing = Vec::new();
    for (index, package) in job.spec.tree.items("packages").iter().enumerate() {
        let package = spec::text(package).unwrap_or_default();
        if !packages.contains(package.as_str()) {
            let name = &job.name;
            let message = format!("Expected to find package '{package}' since it's a dependency of job '{name}'");
            let at = Pointer::root().at("packages").at(index);
            missing.push(error_at(codes::RELEASE_PACKAGE_MISSING, &job.spec.name, &at, message));
        }
    }
    if missing.is_empty() {
        return Ok(job);
    }
    sources.add_document(job.spec, false);
    Err(missing)
}

/// Names of packages: the `name` in `spec.lock` or `spec`, which may differ from the directory's.
fn package_names(files: &Files, sources: &mut Sources) -> Result<Vec<String>, Vec<Diagnostic>> {
    let directories = files.names("packages").into_iter();
    all(directories.map(|directory| package_name(files, directory, sources)))
}

fn package_name(files: &Files, directory: &str, sources: &mut Sources) -> Result<String, Diagnostic> {
    for file in ["spec.lock", "spec"] {
        let path = format!("packages/{directory}/{file}");
        // It does not exist, or is behind a link into sources that are not checked out: the content of packages is not
        // needed here.
        let Ok(file) = files.file(&path) else { continue };
        let document = open::yaml(Dialect::YamlV2, &files.document(&path), &file.bytes, sources)?;
        return Ok(document.tree.get("name").and_then(spec::text).unwrap_or_default());
    }
    Ok(directory.to_owned())
}

/// An error for each link in the directory `path` that cannot be followed: otherwise its target would be left out
/// silently.
fn broken_link_errors(files: &Files, path: &str) -> Vec<Diagnostic> {
    let links = files.names(path).into_iter().map(|name| format!("{path}/{name}"));
    let links = links.filter(|link| matches!(files.entry(link), Some(Entry::Link(_))));
    let error = |link: String| match files.follow(&link) {
        Ok(end) if files.holds(&end) => None,
        Ok(_) => Some(open::error(files, &link, &FileError::Missing)),
        Err(error) => Some(open::error(files, &link, &error)),
    };
    links.filter_map(error).collect()
}

fn directories<'f>(files: &'f Files, path: &str) -> Vec<&'f str> {
    files
        .names(path)
        .into_iter()
        .filter(|name| files.is_directory(&format!("{path}/{name}")))
        .collect()
}

fn configured_name(files: &Files, sources: &mut Sources) -> Result<String, Diagnostic> {
    let document = files.document(CONFIG_FILE);
    let no_name = || {
        let message = format!("Expected non-empty 'name' in config '{document}'");
        Diagnostic::error(codes::RELEASE_NAME, message)
            .in_document(&document)
            .help("set the name of the release: --release NAME=PATH")
    };
    let file = match files.file(CONFIG_FILE) {
        Ok(file) => file,
        Err(FileError::Missing) => return Err(no_name()),
        Err(why) => return Err(open::error(files, CONFIG_FILE, &why)),
    };
    let config = open::yaml(Dialect::YamlV2, &document, &file.bytes, sources)?;
    sources.add_document(config.clone(), false);
    let config = config.tree;
    let member = |key: &str| config.get(key).and_then(spec::text).filter(|name| !name.is_empty());
    match (member("name"), member("final_name")) {
        (Some(_), Some(_)) => Err(Diagnostic::error(
            codes::RELEASE_NAME,
            format!("Expected 'name' or 'final_name' but not both in config '{document}'"),
        )
        .in_document(&document)
        .at("/final_name")),
        (Some(name), None) | (None, Some(name)) => checked_name(&name).map_err(|error| error.in_document(&document)),
        (None, None) => Err(no_name()),
    }
}

/// The newest final version in the directory. An index that cannot be read is only a warning: nothing depends on it.
fn newest_version(files: &Files, name: &str, warnings: &mut Vec<Diagnostic>) -> Option<String> {
    let indexed = indexed_versions(files, &format!("releases/{name}/index.yml"), warnings);
    let named = named_versions(files, &format!("releases/{name}"), name);
    let old = named_versions(files, "releases", name);
    let mut known = [indexed, named, old].into_iter();
    let versions = known.find(|versions| !versions.is_empty())?;
    version::newest(versions.iter().map(String::as_str)).map(str::to_owned)
}

fn indexed_versions(files: &Files, path: &str, warnings: &mut Vec<Diagnostic>) -> Vec<String> {
    let document = files.document(path);
    let Ok(file) = files.file(path) else { return Vec::new() };
    match yaml::read_bytes(&document, &file.bytes) {
        Ok(index) => {
            let builds = index.tree.get("builds").and_then(Tree::as_object);
            builds
                .into_iter()
                .flat_map(|builds| builds.values())
                .filter_map(|build| spec::text(build.get("version")?))
                .collect()
        }
        Err(error) => {
            let message = format!("The version of the release is unknown: {}", error.message);
            warnings.push(Diagnostic {
                place: error.place,
                ..Diagnostic::warning(codes::RELEASE_INDEX, message)
            });
            Vec::new()
        }
    }
}

/// `<name>-<version>.yml`
fn named_versions(files: &Files, directory: &str, name: &str) -> Vec<String> {
    let version = |file: &str| {
        let version = file.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".yml")?;
        version
            .starts_with(|first: char| first.is_ascii_digit())
            .then(|| version.to_owned())
    };
    let names = files.names(directory).into_iter();
    names
        .filter(|file| !matches!(files.entry(&format!("{directory}/{file}")), Some(Entry::Directory)))
        .filter_map(version)
        .collect()
}
