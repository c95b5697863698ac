//! The job sources of a pod: mounted as one file, or in the directory to which other containers have copied them.

use crate::codes;
use boson_commands::files;
use boson_manifest::copier::RELEASES;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::job_sources::{read, root};
use boson_pipeline::release::{Release, image};
use boson_pipeline::report::Sources;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub enum JobSources {
    /// In `jobs-src/<release>` of this directory.
    Copied(PathBuf),
    /// The releases in a mounted file, each with the jobs of this pod.
    Mounted(Vec<Release>),
}

// === impl JobSources ===

impl JobSources {
    /// Opens the job sources in `file`, or otherwise in `directory`.
    ///
    /// # Errors
    /// The file cannot be read, or all errors in it.
    pub fn open(file: Option<&Path>, directory: &Path, sources: &mut Sources) -> Result<Self, Vec<Diagnostic>> {
        let Some(file) = file else {
            return Ok(Self::Copied(directory.into()));
        };
        let bytes = files::read(file)?;
        let mut releases = Vec::new();
        for (name, files) in read(&bytes, RELEASES).map_err(|_| damaged_error(file))? {
            releases.extend(image::read(&files, &root(&name), Some(&name), None, sources)?);
        }
        Ok(Self::Mounted(releases))
    }

    /// A release.
    ///
    /// # Errors
    /// It is missing, or all errors in it.
    pub fn release(&self, name: &str, sources: &mut Sources) -> Result<Cow<'_, Release>, Vec<Diagnostic>> {
        match self {
            Self::Copied(directory) => {
                let source = directory.join(root(name));
                boson_releases::read_noting(&source, Some(name), sources, &mut |_| {}).map(Cow::Owned)
            }
            Self::Mounted(releases) => {
                let found = releases.iter().find(|release| release.name == name);
                found.map(Cow::Borrowed).ok_or_else(|| {
                    let what = format!("Release '{name}' not found in the job sources of this pod");
                    vec![Diagnostic::error(codes::RELEASE_NO_JOB, what)]
                })
            }
        }
    }
}

fn damaged_error(file: &Path) -> Diagnostic {
    let name = files::name(file);
    Diagnostic::error(
        boson_commands::codes::INPUT_DAMAGED,
        format!("'{name}' does not contain job sources"),
    )
    .in_document(name)
    .help("delete its ConfigMap: the operator then creates it again")
}
