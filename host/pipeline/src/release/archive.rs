//! A release tarball: `release.MF`, and `jobs/<job>.tgz` with `job.MF`, `monit` and templates. Final, dev and compiled
//! releases alike.
//!
//! Read in two steps, because only the jobs in `release.MF` count: first [`Manifest::read`], then [`read`] with the
//! content of each job's tarball under `jobs/<job>/`.

use super::job::{self, Layout};
use super::open;
use super::source::with_packages;
use super::{Files, Release, checked_name, error_at, is_identifier, renamed, spec};
use crate::diagnostic::{Diagnostic, all};
use crate::release::codes;
use crate::report::Sources;
use crate::yaml::{Dialect, Document};
use boson_document::{Pointer, Tree, ruby};
use std::collections::HashSet;

/// Name of the release manifest in the tarball.
pub const MANIFEST: &str = "release.MF";

/// Content of `release.MF`.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    /// In the order of the file.
    pub jobs: Vec<JobReference>,
    /// In the order of the file, compiled or not.
    pub packages: Vec<PackageReference>,
    /// Its packages are compiled.
    pub compiled: bool,
    /// Number of packages that it has as source.
    pub source_packages: usize,
    /// The file, with positions.
    pub document: Document,
}

/// A job that `release.MF` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReference {
    pub name: String,
    /// Digests of the job's tarball, as written: `<sha1>`, `sha256:<hex>`, or several separated by `;`. `None`: not
    /// given.
    pub digest: Option<String>,
    /// Place of the entry in `release.MF`.
    pub pointer: Pointer,
}

/// A package that `release.MF` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageReference {
    pub name: String,
    /// Identifies the package's content: its fingerprint, or else its version.
    pub fingerprint: String,
    /// Digests of the package's tarball, as written.
    pub digest: Option<String>,
    /// `<os>/<version>` of the stemcell that it was compiled for.
    pub stemcell: Option<String>,
    /// Place of the entry in `release.MF`.
    pub pointer: Pointer,
}

/// Reads the release that `manifest` describes from `files`, where every job that could be unpacked is under
/// `jobs/<job>/`. `failed`: jobs that could not be unpacked; their errors have been reported.
///
/// # Errors
/// All its errors.
pub fn read(
    manifest: &Manifest,
    files: &Files,
    name: Option<&str>,
    failed: &HashSet<String>,
    sources: &mut Sources,
) -> Result<Release, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut warnings: Vec<Diagnostic> = renamed(name, &manifest.name, &manifest.document.name)
        .into_iter()
        .collect();
    let name = name.map_or_else(|| Ok(manifest.name.clone()), checked_name);
    let name = name.map_err(|error| errors.push(error)).ok();
    let packages: HashSet<&str> = manifest.packages.iter().map(|package| package.name.as_str()).collect();
    let unpacked = manifest.jobs.iter().map(|reference| &reference.name);
    let job = |name: &String| {
        let path = format!("jobs/{name}");
        let job = job::read(files, &path, name, Layout::Archive, &mut warnings, sources)?;
        with_packages(job, &packages, sources)
    };
    let jobs = all(unpacked.filter(|job| !failed.contains(*job)).map(job));
    let jobs = jobs.map_err(|found| errors.extend(found)).ok();
    let (Some(name), Some(mut jobs)) = (name, jobs) else {
        return Err(errors);
    };
    jobs.sort_by(|a, b| a.name.cmp(&b.name));
    let source = files.naming().source().to_owned();
    Ok(Release {
        name,
        version: Some(manifest.version.clone()),
        jobs,
        source,
        warnings,
    })
}

// === impl Manifest ===

impl Manifest {
    /// Reads `release.MF`; `document` is its name. If it is faulty, it is added to `sources`.
    ///
    /// # Errors
    /// All its errors.
    pub fn read(document: &str, bytes: &[u8], sources: &mut Sources) -> Result<Self, Vec<Diagnostic>> {
        let document = open::yaml(Dialect::Psych, document, bytes, sources)?;
        let tree = &document.tree;
        let mut check = Check {
            document: &document.name,
            errors: Vec::new(),
        };
        if tree.as_object().is_none() {
            check.add_error(Pointer::root(), "Invalid release manifest: expected a map".into());
            return Err(check.errors);
        }
        let compiled = ruby::given(tree, "compiled_packages").is_some();
        let packages = if compiled { "compiled_packages" } else { "packages" };
        let name = check.identifier(tree, "name", &Pointer::root(), "release name");
        let version = check.identifier(tree, "version", &Pointer::root(), "release version");
        let packages = check.packages(tree, packages);
        let jobs = check.jobs(tree);
        if !check.errors.is_empty() {
            let errors = check.errors;
            sources.add_document(document, false);
            return Err(errors);
        }
        Ok(Self {
            name,
            version,
            jobs,
            source_packages: tree.items("packages").len(),
            packages,
            compiled,
            document,
        })
    }
}

struct Check<'a> {
    document: &'a str,
    errors: Vec<Diagnostic>,
}

/// A job or a package in the lists of `release.MF`.
struct ListEntry<'t> {
    name: String,
    pointer: Pointer,
    tree: &'t Tree,
}

// === impl Check ===

impl Check<'_> {
    fn add_error(&mut self, at: Pointer, message: String) {
        self.errors
            .push(error_at(codes::RELEASE_MANIFEST, self.document, &at, message));
    }

    fn identifier(&mut self, tree: &Tree, key: &str, at: &Pointer, label: &str) -> String {
        let text = tree.get(key).and_then(spec::text).unwrap_or_default();
        if !is_identifier(&text) {
            let at = if tree.get(key).is_some() {
                at.at(key)
            } else {
                at.clone()
            };
            self.add_error(at, format!("Invalid {label} in release manifest: {text:?}"));
        }
        text
    }

    fn jobs(&mut self, tree: &Tree) -> Vec<JobReference> {
        let mut names = HashSet::new();
        let mut jobs = Vec::new();
        for ListEntry { name, pointer, tree } in self.entries(tree, "jobs", "job") {
            if is_identifier(&name) && !names.insert(name.clone()) {
                let message = format!("Job '{name}' is listed twice in release manifest");
                self.add_error(pointer.at("name"), message);
            }
            let digest = text(tree, "sha1");
            jobs.push(JobReference { name, digest, pointer });
        }
        jobs
    }

    fn packages(&mut self, tree: &Tree, key: &str) -> Vec<PackageReference> {
        let mut packages = Vec::new();
        for ListEntry { name, pointer, tree } in self.entries(tree, key, "package") {
            let version = text(tree, "version");
            let fingerprint = text(tree, "fingerprint").or(version).unwrap_or_default();
            packages.push(PackageReference {
                name,
                fingerprint,
                digest: text(tree, "sha1"),
                stemcell: text(tree, "stemcell"),
                pointer,
            });
        }
        packages
    }

    fn entries<'t>(&mut self, tree: &'t Tree, key: &str, noun: &str) -> Vec<ListEntry<'t>> {
        let at = Pointer::root().at(key);
        let Some(value) = ruby::given(tree, key) else {
            return Vec::new();
        };
        let Some(entries) = value.as_array() else {
            self.add_error(at, format!("Invalid {key} in release manifest: expected a list"));
            return Vec::new();
        };
        let mut read = Vec::with_capacity(entries.len());
        for (index, tree) in entries.iter().enumerate() {
            let pointer = at.at(index);
            let name = self.identifier(tree, "name", &pointer, &format!("{noun} {} name", index + 1));
            self.identifier(tree, "version", &pointer, &format!("{noun} {} version", index + 1));
            read.push(ListEntry { name, pointer, tree });
        }
        read
    }
}

fn text(entry: &Tree, key: &str) -> Option<String> {
    entry.get(key).and_then(spec::text).filter(|text| !text.is_empty())
}
