//! Reads BOSH releases: a source directory, a release tarball, a directory with `jobs-src`, an OCI image.
//!
//! Releases are not trusted: paths stay inside the path that the user named, sizes are limited, and nothing is written.
//! A conversion skips packages and sources; [`Packed`] provides the packages of a tarball as streams, and [`Source`]
//! what they are compiled from.

pub mod codes;
mod detect;
mod digest;
mod directory;
mod entries;
mod image;
mod layer;
mod limits;
mod members;
mod packed;
mod source;
mod stream;
mod tarball;

pub use digest::{DigestError, Verifier};
pub use entries::{Item, Kind, each, each_until, entry_error};
pub use image::JOBS_SRC;
pub use layer::reduce;
pub use limits::{Budget, Limits};
pub use packed::Packed;
pub use source::{Package, Source};
pub use tarball::inner_path;

use boson_pipeline::Diagnostic;
use boson_pipeline::release::{Files, Release};
use boson_pipeline::report::Sources;
use detect::Task;
use std::path::Path;

/// A release that an image can be built of.
pub enum Opened {
    Compiled(Box<Packed>),
    Source(Box<Source>),
}

// === impl Opened ===

impl Opened {
    /// Opens a tarball, or the repository of a release. `title`: its name in messages; `None`: its path. `name`: the
    /// user's name for the release.
    ///
    /// # Errors
    /// All errors in it.
    pub fn open(
        path: &Path,
        title: Option<&str>,
        name: Option<&str>,
        sources: &mut Sources,
        tell: &mut dyn FnMut(u64),
    ) -> Result<Self, Vec<Diagnostic>> {
        if path.is_dir() {
            return Ok(Self::Source(Box::new(Source::folder(path, name, sources)?)));
        }
        let packed = Packed::open(path, title, name, sources, tell)?;
        if packed.is_source() {
            Ok(Self::Source(Box::new(Source::tarball(packed, tell)?)))
        } else {
            Ok(Self::Compiled(Box::new(packed)))
        }
    }

    pub fn release(&self) -> &Release {
        match self {
            Self::Compiled(packed) => &packed.release,
            Self::Source(source) => &source.release,
        }
    }

    /// The files of the jobs, below `jobs/<job>/`.
    pub fn jobs(&self) -> &Files {
        match self {
            Self::Compiled(packed) => &packed.jobs,
            Self::Source(source) => &source.jobs,
        }
    }

    /// `<os>/<version>` of the stemcell that it was compiled for.
    pub fn stemcell(&self) -> Option<&str> {
        match self {
            Self::Compiled(packed) => packed.stemcell(),
            Self::Source(_) => None,
        }
    }
}

/// Reads the release at `path`. `name` replaces the release's own name, and selects one from a directory with several
/// releases.
///
/// # Errors
/// All errors in it. Codes begin with `release-`, or `yaml-` for invalid YAML.
pub fn read(path: &Path, name: Option<&str>) -> Result<Release, Vec<Diagnostic>> {
    read_noting(path, name, &mut Sources::default(), &mut |_| {})
}

/// Reads a release like [`read`], and adds the documents of errors to `sources`, so that messages can show their lines.
/// `progress` is called with the progress in a large archive.
///
/// # Errors
/// As [`read`].
pub fn read_noting(
    path: &Path,
    name: Option<&str>,
    sources: &mut Sources,
    progress: &mut dyn FnMut(&str),
) -> Result<Release, Vec<Diagnostic>> {
    let releases = read_all(path, name, Limits::default(), sources, progress)?;
    one(releases, &path.display().to_string())
}

/// The only release found at `source`.
fn one(mut releases: Vec<Release>, source: &str) -> Result<Release, Vec<Diagnostic>> {
    match (releases.pop(), releases.is_empty()) {
        (Some(release), true) => Ok(release),
        (last, _) => {
            let names: Vec<&str> = releases
                .iter()
                .chain(&last)
                .map(|release| release.name.as_str())
                .collect();
            let message = format!("'{source}' contains several releases: {}", names.join(", "));
            let help = "select one: --release NAME=PATH";
            Err(vec![
                Diagnostic::error(boson_pipeline::release::codes::RELEASE_SEVERAL, message)
                    .in_document(source)
                    .help(help),
            ])
        }
    }
}

/// Reads the release `name` at `path`, a temporary path: messages and names of documents contain `title` in place of
/// the path, so that they are the same each time.
///
/// # Errors
/// As [`read`].
pub fn read_titled(path: &Path, title: &str, name: &str) -> Result<Release, Vec<Diagnostic>> {
    let budget = Budget::new(Limits::default());
    let task = Task {
        path,
        title: Some(title),
        name: Some(name),
        budget: &budget,
    };
    one(task.read(&mut Sources::default(), &mut |_| {})?, title)
}

/// Reads every release at `path`, sorted by name: several only where it is a `jobs-src` tree with a directory for each.
///
/// # Errors
/// As [`read`].
pub fn read_all(
    path: &Path,
    name: Option<&str>,
    limits: Limits,
    sources: &mut Sources,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Release>, Vec<Diagnostic>> {
    let budget = Budget::new(limits);
    Task {
        path,
        title: None,
        name,
        budget: &budget,
    }
    .read(sources, progress)
}
