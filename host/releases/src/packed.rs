//! A release tarball with its packages: the jobs are read as for a conversion, and checked; packages are streamed,
//! because a release has gigabytes of them.

use crate::digest::{DigestError, Verifier};
use crate::directory::read_error;
use crate::entries::{self, Item, Kind};
use crate::limits::{Budget, Limits};
use crate::tarball::{self, Assembled, inner_path};
use boson_document::Code;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::archive::{Manifest, PackageReference};
use boson_pipeline::release::codes;
use boson_pipeline::release::{Files, Release};
use boson_pipeline::report::Sources;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Directories of packages in a tarball.
const COMPILED_PACKAGES: &str = "compiled_packages/";
const SOURCE_PACKAGES: &str = "packages/";

/// Limits for releases with their packages: those with root filesystems (cflinuxfs4, buildpacks) unpack to several GiB,
/// once from the outer archive and once from the package's own.
const SCAN_LIMITS: Limits = Limits::scanning(64 << 30);

/// A release tarball with its packages, compiled or not.
pub struct Packed {
    file: File,
    /// Its name in messages.
    pub source: String,
    /// Content of `release.MF`, with the packages as it lists them.
    pub manifest: Manifest,
    /// The files of the jobs, below `jobs/<job>/`.
    pub jobs: Files,
    pub release: Release,
}

/// Receives a package: its reference, and its tarball.
pub type VisitPackage<'v> = dyn FnMut(&PackageReference, &mut dyn Read) -> Result<(), Diagnostic> + 'v;

// === impl Packed ===

impl Packed {
    /// Reads the manifest and the jobs of the tarball at `path`. `title`: its name in messages; `None`: its path.
    /// `name`: the user's name for the release.
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
        let source = title.map_or_else(|| path.display().to_string(), str::to_owned);
        let fail = |error: io::Error| read_error(&source, &error);
        let file = File::open(path).map_err(fail)?;
        let budget = Budget::new(SCAN_LIMITS);
        let reader = file.try_clone().map_err(fail)?;
        let parts = tarball::parts(reader, &source, &budget, tell)?;
        let Assembled {
            manifest,
            files,
            release,
        } = tarball::assemble(&parts, &source, name, &budget, sources)?;
        check(&manifest).inspect_err(|_| sources.add_document(manifest.document.clone(), false))?;
        Ok(Self {
            file,
            source,
            manifest,
            jobs: files,
            release,
        })
    }

    /// Its packages must be compiled first.
    pub fn is_source(&self) -> bool {
        self.manifest.source_packages > 0
    }

    /// The directory of packages in the tarball.
    pub fn directory(&self) -> &'static str {
        if self.is_source() {
            SOURCE_PACKAGES
        } else {
            COMPILED_PACKAGES
        }
    }

    /// `<os>/<version>` of the stemcell that the packages were compiled for, where there are any and all of them agree.
    pub fn stemcell(&self) -> Option<&str> {
        let mut stemcells = self.manifest.packages.iter().map(|package| package.stemcell.as_deref());
        let first = stemcells.next()??;
        stemcells.all(|other| other == Some(first)).then_some(first)
    }

    /// Reads the tarball again. Each package is passed to `visit` in the order of the tarball, and checked against its
    /// digest after it was read: on an error, discard everything made from it.
    ///
    /// # Errors
    /// The tarball is damaged or hostile, a package is missing or does not match its digest; or an error of `visit`.
    pub fn each_package(&self, visit: &mut VisitPackage<'_>, tell: &mut dyn FnMut(u64)) -> Result<(), Diagnostic> {
        let fail = |error: io::Error| read_error(&self.source, &error);
        let mut reader = self.file.try_clone().map_err(fail)?;
        io::Seek::rewind(&mut reader).map_err(fail)?;
        let mut seen = BTreeSet::new();
        let budget = Budget::new(SCAN_LIMITS);
        entries::each(&self.source, reader, &budget, tell, &mut |item, content| {
            let Some(package) = self.package(item)? else {
                return Ok(());
            };
            if !seen.insert(package.name.as_str()) {
                return Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, &self.source, "is there twice"));
            }
            self.one(package, content, visit)
        })?;
        let mut packages = self.manifest.packages.iter();
        let Some(missing) = packages.find(|package| !seen.contains(package.name.as_str())) else {
            return Ok(());
        };
        let why = format!("there is no '{}{}.tgz'", self.directory(), missing.name);
        Err(self.package_error(missing, codes::RELEASE_PACKAGE_ARCHIVE, why))
    }

    /// The package whose tarball this is.
    fn package(&self, item: &Item) -> Result<Option<&PackageReference>, Diagnostic> {
        let path = inner_path(item, &self.source)?;
        let name = path
            .strip_prefix(self.directory())
            .and_then(|file| file.strip_suffix(".tgz"));
        let package = name.and_then(|name| self.manifest.packages.iter().find(|package| package.name == name));
        match (&item.kind, package) {
            (Kind::File { .. }, found) => Ok(found),
            (_, Some(_)) => Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, &self.source, "is not a file")),
            (_, None) => Ok(None),
        }
    }

    fn one(
        &self,
        package: &PackageReference,
        content: &mut dyn Read,
        visit: &mut VisitPackage<'_>,
    ) -> Result<(), Diagnostic> {
        let digest_error = |error: DigestError| {
            self.package_error(package, codes::RELEASE_DIGEST, error.to_string())
                .help("the tarball is damaged or was changed: download it again")
        };
        let digests = package.digest.as_deref().unwrap_or_default();
        let mut verifier = Verifier::new(digests).map_err(digest_error)?;
        let mut checked = verifier.over(content);
        let visited = visit(package, &mut checked);
        let read = io::copy(&mut checked, &mut io::sink());
        // A digest mismatch is reported before other errors, which it causes.
        if read.is_ok() {
            verifier.finish().map_err(digest_error)?;
        }
        visited?;
        read.map(drop).map_err(|error| read_error(&self.source, &error))
    }

    fn package_error(&self, package: &PackageReference, code: &Code, why: String) -> Diagnostic {
        let message = format!("Reading package '{}' from archive: {why}", package.name);
        Diagnostic::error(code, message)
            .in_document(&self.manifest.document.name)
            .at(&package.pointer)
    }
}

/// Whether the names of packages are unique, and all of them of one kind.
fn check(manifest: &Manifest) -> Result<(), Diagnostic> {
    let manifest_error =
        |message: String| Diagnostic::error(codes::RELEASE_MANIFEST, message).in_document(&manifest.document.name);
    if manifest.compiled && manifest.source_packages > 0 {
        return Err(manifest_error(
            "Release manifest lists both 'packages' and 'compiled_packages'".into(),
        ));
    }
    let mut names = BTreeSet::new();
    for package in &manifest.packages {
        let name = &package.name;
        if !names.insert(name.as_str()) {
            let message = format!("Package '{name}' is listed twice in release manifest");
            return Err(manifest_error(message).at(&package.pointer));
        }
    }
    Ok(())
}
