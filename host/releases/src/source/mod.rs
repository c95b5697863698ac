//! What the packages of a release are compiled from: a source tarball, or the repository of the release as `bosh
//! create-release` reads it.

mod blobs;
mod fingerprint;
mod folder;
mod order;
mod packages;
mod unpack;
mod version;

use crate::codes;
use crate::packed::Packed;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::{Files, Release};
use boson_pipeline::report::Sources;
use folder::Folder;
use packages::{Packages, SourceFile};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A package that is not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub fingerprint: String,
    /// Names of the packages that it is compiled with.
    pub dependencies: Vec<String>,
    /// Its content on this machine has another fingerprint; this is the content's digest. The compiled package is not
    /// used for other releases.
    pub other_content: Option<String>,
}

/// A release whose packages must be compiled.
pub struct Source {
    pub release: Release,
    /// The files of the jobs, below `jobs/<job>/`, as in a tarball.
    pub jobs: Files,
    /// The packages that jobs need, each after its dependencies. A release without jobs needs all.
    pub packages: Vec<Package>,
    store: Store,
}

/// Where the content of packages is.
enum Store {
    Folder {
        folder: Folder,
        contents: BTreeMap<String, Content>,
    },
    Tarball(Box<Packed>),
}

/// The content of a package in a repository.
enum Content {
    Files(Vec<SourceFile>),
    /// An archive of a final build.
    Archive {
        archive: PathBuf,
        digests: String,
    },
    /// Errors for what is not on this machine.
    Missing(Vec<Diagnostic>),
}

// === impl Package ===

impl Package {
    fn new(name: String, fingerprint: String, dependencies: Vec<String>) -> Self {
        Self {
            name,
            fingerprint,
            dependencies,
            other_content: None,
        }
    }
}

// === impl Source ===

impl Source {
    pub const SCRIPT: &str = "packaging";

    /// Reads the repository of a release. `name`: the user's name for the release.
    ///
    /// # Errors
    /// All errors in it.
    pub fn folder(path: &Path, name: Option<&str>, sources: &mut Sources) -> Result<Self, Vec<Diagnostic>> {
        let folder = Folder::open(path)?;
        let (mut release, files) = crate::detect::repository(path, name, sources)?;
        let mut packages = Packages::new(&folder)?.read()?;
        unpack::compare(&mut packages, &mut release.warnings)?;
        let (all, contents): (Vec<Package>, Vec<(String, Content)>) = packages
            .into_iter()
            .map(|(package, content)| (package.clone(), (package.name, content)))
            .unzip();
        release.version = Some(version::version(&folder, &release, &files, &all)?);
        let jobs = version::archived(&release, &files);
        Ok(Self {
            packages: order::needed(all, &release)?,
            release,
            jobs,
            store: Store::Folder {
                folder,
                contents: contents.into_iter().collect(),
            },
        })
    }

    /// The packages of a source tarball.
    ///
    /// # Errors
    /// All errors in them.
    pub fn tarball(packed: Packed, tell: &mut dyn FnMut(u64)) -> Result<Self, Vec<Diagnostic>> {
        let tree = &packed.manifest.document.tree;
        let listed = packed.manifest.packages.iter().zip(tree.items("packages"));
        let mut all: Vec<Package> = listed
            .map(|(package, entry)| {
                let dependencies = folder::texts(entry, "dependencies");
                Package::new(package.name.clone(), package.fingerprint.clone(), dependencies)
            })
            .collect();
        let mut release = packed.release.clone();
        unpack::compare_tarball(&packed, &mut all, &mut release.warnings, tell)?;
        Ok(Self {
            packages: order::needed(all, &release)?,
            release,
            jobs: packed.jobs.clone(),
            store: Store::Tarball(Box::new(packed)),
        })
    }
}

/// The warning for content with another fingerprint.
fn fingerprint_warning(package: &Package, document: &str) -> Diagnostic {
    let message = format!(
        "the content of package '{}' has another fingerprint than {}",
        package.name, package.fingerprint
    );
    Diagnostic::warning(codes::RELEASE_FINGERPRINT, message).in_document(document)
}
