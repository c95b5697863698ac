//! The files of packages as streams, and their comparison with fingerprints.

use super::fingerprint::{Algorithm, Part, fingerprint};
use super::folder::{Found, source_error};
use super::packages::SourceFile;
use super::{Content, Folder, Package, Source, Store, fingerprint_warning};
use crate::digest::{DigestError, Verifier};
use crate::directory::read_error;
use crate::entries::{self, Item, Kind};
use crate::limits::{Budget, Limits};
use crate::packed::Packed;
use crate::tarball::inner_path;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use boson_pipeline::release::paths::clean;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Limits of the sources of one package.
const SCAN_LIMITS: Limits = Limits::scanning(16 << 30);

/// Receives the files and links of a package. Their paths are clean; directories are not passed.
pub type VisitFile<'v> = dyn FnMut(&Package, &Item, &mut dyn Read) -> Result<(), Diagnostic> + 'v;

// === impl Source ===

impl Source {
    /// Passes the files of these packages to `visit`, package by package.
    ///
    /// # Errors
    /// Files are missing or damaged, or an error of `visit`.
    pub fn unpack(&self, wanted: &BTreeSet<&str>, visit: &mut VisitFile<'_>) -> Result<(), Vec<Diagnostic>> {
        let packages = || {
            self.packages
                .iter()
                .filter(move |package| wanted.contains(package.name.as_str()))
        };
        match &self.store {
            Store::Tarball(packed) => packed
                .each_package(
                    &mut |reference, content| match packages().find(|package| package.name == reference.name) {
                        Some(package) => {
                            let archive = format!("{}:packages/{}.tgz", packed.source, package.name);
                            entries_of(&archive, content, &mut |item, data| visit(package, item, data))
                        }
                        None => Ok(()),
                    },
                    &mut |_| {},
                )
                .map_err(Vec::from),
            Store::Folder { folder, contents } => {
                let missing: Vec<Diagnostic> = packages()
                    .filter_map(|package| contents.get(&package.name))
                    .filter_map(|content| match content {
                        Content::Missing(errors) => Some(errors.clone()),
                        _ => None,
                    })
                    .flatten()
                    .collect();
                if !missing.is_empty() {
                    return Err(missing);
                }
                for package in packages() {
                    match contents.get(&package.name) {
                        Some(Content::Files(files)) => {
                            for file in files {
                                copy(folder, package, file, visit)?;
                            }
                        }
                        Some(Content::Archive { archive, digests }) => {
                            let mut pass = |item: &Item, data: &mut dyn Read| visit(package, item, data);
                            verified(archive, digests, &mut pass)?;
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
        }
    }
}

fn copy(folder: &Folder, package: &Package, file: &SourceFile, visit: &mut VisitFile<'_>) -> Result<(), Diagnostic> {
    let fail = |error: io::Error| source_error(&folder.document(&file.from), &error);
    let item = |kind: Kind, mode: u32, size: u64| Item {
        path: file.path.clone(),
        kind,
        mode,
        size,
        offset: 0,
    };
    match &file.found {
        Found::Link(target) => visit(package, &item(Kind::Link(target.clone()), 0o777, 0), &mut io::empty()),
        Found::File { executable } => {
            let content = folder.open_file(&file.from).map_err(fail)?;
            let size = content.metadata().map_err(fail)?.len();
            let executable = *executable;
            let mode = if executable { 0o755 } else { 0o644 };
            visit(
                package,
                &item(Kind::File { executable }, mode, size),
                &mut content.take(size),
            )
        }
    }
}

/// The entries of a package's archive, with clean paths, without directories.
fn entries_of(
    archive: &str,
    content: &mut dyn Read,
    visit: &mut dyn FnMut(&Item, &mut dyn Read) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let budget = Budget::new(SCAN_LIMITS);
    // Nothing may be written below a link: it could lead out of the package.
    let mut links = BTreeSet::new();
    entries::each(archive, content, &budget, &mut |_| {}, &mut |item, data| {
        let path = inner_path(item, archive)?;
        let refuse = |what: &str| Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, archive, what));
        let mut above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        if above.any(|part| links.contains(part)) {
            return refuse("is written through a link");
        }
        let kind = match &item.kind {
            Kind::Directory => return Ok(()),
            Kind::Special(what) => return refuse(what),
            Kind::HardLink(target) => match clean(target) {
                Ok(target) => Kind::HardLink(target),
                Err(_) => return refuse("is a link that leads out of the archive"),
            },
            kind => kind.clone(),
        };
        if let Kind::Link(_) = kind {
            budget.note(&path, archive)?;
            links.insert(path.clone());
        }
        visit(
            &Item {
                path,
                kind,
                ..item.clone()
            },
            data,
        )
    })
}

/// The entries of an archive on disk, compared with its digests.
fn verified(
    path: &Path,
    digests: &str,
    visit: &mut dyn FnMut(&Item, &mut dyn Read) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let name = path.display().to_string();
    let fail = |error: io::Error| read_error(&name, &error);
    let digest_error = |error: DigestError| {
        Diagnostic::error(codes::RELEASE_DIGEST, error.to_string())
            .in_document(&name)
            .help("delete the file, and download it again")
    };
    let mut verifier = Verifier::new(digests).map_err(digest_error)?;
    let mut content = verifier.over(File::open(path).map_err(fail)?);
    let visited = entries_of(&name, &mut content, visit);
    io::copy(&mut content, &mut io::sink()).map_err(fail)?;
    verifier.finish().map_err(digest_error)?;
    visited
}

/// Computes the fingerprint of content as its entries are passed.
struct Comparison {
    algorithm: Algorithm,
    parts: Vec<Part>,
}

// === impl Comparison ===

impl Comparison {
    fn new(package: &Package) -> Self {
        Self {
            algorithm: Algorithm::of(&package.fingerprint),
            parts: Vec::new(),
        }
    }

    fn add(&mut self, item: &Item, data: &mut dyn Read, archive: &str) -> Result<(), Diagnostic> {
        let part = match &item.kind {
            Kind::File { executable } => Part::file(self.algorithm, &item.path, *executable, data),
            Kind::Link(target) => Part::link(self.algorithm, &item.path, target),
            // No fingerprint contains hard links: such content never has the fingerprint.
            _ => Part::link(self.algorithm, &item.path, "hard link"),
        };
        self.parts.push(part.map_err(|error| source_error(archive, &error))?);
        Ok(())
    }

    /// Notes it if the content has another fingerprint.
    fn finish(self, package: &mut Package, archive: &str, warnings: &mut Vec<Diagnostic>) {
        let found = fingerprint(self.algorithm, self.parts, &package.dependencies);
        if found != package.fingerprint {
            warnings.push(fingerprint_warning(package, archive));
            package.other_content = Some(found);
        }
    }
}

/// Compares the archives of final builds with their fingerprints.
///
/// # Errors
/// An archive is damaged.
pub fn compare(packages: &mut [(Package, Content)], warnings: &mut Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    for (package, content) in packages {
        let Content::Archive { archive, digests } = content else {
            continue;
        };
        let name = archive.display().to_string();
        let mut comparison = Comparison::new(package);
        let mut add = |item: &Item, data: &mut dyn Read| comparison.add(item, data, &name);
        verified(archive, digests, &mut add)?;
        comparison.finish(package, &name, warnings);
    }
    Ok(())
}

/// Compares the packages in a tarball with their fingerprints.
///
/// # Errors
/// The tarball is damaged.
pub fn compare_tarball(
    packed: &Packed,
    packages: &mut [Package],
    warnings: &mut Vec<Diagnostic>,
    tell: &mut dyn FnMut(u64),
) -> Result<(), Diagnostic> {
    packed.each_package(
        &mut |reference, content| {
            let archive = format!("{}:packages/{}.tgz", packed.source, reference.name);
            let Some(package) = packages.iter_mut().find(|package| package.name == reference.name) else {
                return Ok(());
            };
            let mut comparison = Comparison::new(package);
            entries_of(&archive, content, &mut |item, data| {
                comparison.add(item, data, &archive)
            })?;
            comparison.finish(package, &archive, warnings);
            Ok(())
        },
        tell,
    )
}
