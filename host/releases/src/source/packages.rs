//! The packages of a repository: `spec` with patterns of files, or `spec.lock` with the fingerprint of an archive.

use super::blobs::{self, Blob, Blobstore};
use super::fingerprint::{Algorithm, Part, fingerprint};
use super::folder::{Folder, Found, source_error, text, texts};
use super::{Content, Package, Source};
use crate::codes;
use crate::digest::Verifier;
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::diagnostic::all;
use boson_pipeline::glob::Pattern;
use boson_pipeline::release::codes as release_codes;
use std::collections::BTreeMap;
use std::io;

/// The CLI's algorithm for new fingerprints.
const FINGERPRINT_ALGORITHM: Algorithm = Algorithm::Sha256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: String,
    /// Path in the repository.
    pub from: String,
    pub found: Found,
}

/// What all packages of a repository have in common.
pub struct Packages<'f> {
    folder: &'f Folder,
    sources: BTreeMap<String, Found>,
    blobs: BTreeMap<String, Blob>,
    blobstore: Blobstore,
}

// === impl Packages ===

impl<'f> Packages<'f> {
    /// Lists sources and blobs.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn new(folder: &'f Folder) -> Result<Self, Diagnostic> {
        Ok(Self {
            folder,
            sources: folder.files("src")?,
            blobs: blobs::blobs(folder)?,
            blobstore: Blobstore::read(folder)?,
        })
    }

    /// Reads all packages, each with its content.
    ///
    /// # Errors
    /// All errors in them.
    pub fn read(&self) -> Result<Vec<(Package, Content)>, Vec<Diagnostic>> {
        let directories = self.folder.directories("packages")?;
        let one = |directory: &String| self.one(&format!("packages/{directory}"));
        let mut packages = all(directories.iter().map(one))?;
        packages.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        Ok(packages)
    }

    fn one(&self, directory: &str) -> Result<(Package, Content), Diagnostic> {
        if let Some(lock) = self.folder.yaml(&format!("{directory}/spec.lock"))? {
            return self.locked(&lock, &format!("{directory}/spec.lock"));
        }
        let path = format!("{directory}/spec");
        let spec = self.folder.yaml(&path)?.ok_or_else(|| {
            let document = self.folder.document(&path);
            Diagnostic::error(codes::RELEASE_PACKAGE_SPEC, format!("'{document}' does not exist")).in_document(document)
        })?;
        let name = self.name(&spec, &path)?;
        if self.folder.has(&format!("{directory}/pre_packaging")) {
            let message =
                format!("package '{name}' has a script 'pre_packaging', which runs where the release is made");
            return Err(self
                .spec_error(&path, message)
                .help("make a tarball and use that: bosh create-release --tarball FILE"));
        }
        let mut files = self.selected(&spec, &name, &path)?;
        let packaging = format!("{directory}/packaging");
        if !self.folder.has(&packaging) {
            let document = self.folder.document(&packaging);
            return Err(self.spec_error(&path, format!("Expected to find '{document}' for package '{name}'")));
        }
        let executable = self.folder.is_executable(&packaging).unwrap_or_default();
        files.push(SourceFile {
            path: Source::SCRIPT.into(),
            from: packaging,
            found: Found::File { executable },
        });
        let dependencies = texts(&spec, "dependencies");
        let (parts, missing) = self.parts(&files)?;
        let fingerprint = fingerprint(FINGERPRINT_ALGORITHM, parts, &dependencies);
        let content = if missing.is_empty() {
            Content::Files(files)
        } else {
            Content::Missing(missing)
        };
        Ok((Package::new(name, fingerprint, dependencies), content))
    }

    /// A package that was vendored: its archive is a final build.
    fn locked(&self, lock: &Tree, path: &str) -> Result<(Package, Content), Diagnostic> {
        let name = self.name(lock, path)?;
        let fingerprint = lock.get("fingerprint").and_then(text).unwrap_or_default();
        let unknown = || {
            let message =
                format!("Expected to find '{name}/{fingerprint}' in '.final_builds/packages/{name}/index.yml'");
            Diagnostic::error(codes::RELEASE_FINGERPRINT, message)
                .in_document(self.folder.document(path))
                .at("/fingerprint")
                .help("vendor the package again: bosh vendor-package")
        };
        if !boson_pipeline::release::is_identifier(&fingerprint) {
            return Err(unknown());
        }
        let blob = blobs::build(self.folder, &name, &fingerprint)?.ok_or_else(unknown)?;
        let content = match self.blobstore.local(&blob) {
            Some(archive) => Content::Archive {
                archive,
                digests: blob.digests,
            },
            None => Content::Missing(vec![
                self.missing_blob(&format!("the archive of package '{name}'"), &blob)
                    .help(format!(
                        "download it to ~/.bosh/cache/{}, as `bosh create-release` does",
                        blob.digests
                    )),
            ]),
        };
        Ok((Package::new(name, fingerprint, texts(lock, "dependencies")), content))
    }

    fn name(&self, spec: &Tree, path: &str) -> Result<String, Diagnostic> {
        let name = spec.get("name").and_then(text).unwrap_or_default();
        if boson_pipeline::release::is_identifier(&name) {
            return Ok(name);
        }
        Err(self.spec_error(path, format!("Invalid package name: {name:?}")))
    }

    /// The files that the patterns select: sources before blobs, and without the excluded ones.
    fn selected(&self, spec: &Tree, name: &str, path: &str) -> Result<Vec<SourceFile>, Diagnostic> {
        let mut files: BTreeMap<&str, SourceFile> = BTreeMap::new();
        for glob in texts(spec, "files") {
            let pattern = self.pattern(&glob, path)?;
            let mut some = false;
            for (inner, found) in pattern.select(&self.sources) {
                some = true;
                files.entry(inner).or_insert_with(|| file("src", inner, found.clone()));
            }
            for inner in pattern.select(&self.blobs).into_keys() {
                some = true;
                let from = format!("blobs/{inner}");
                let executable = self.folder.is_executable(&from).unwrap_or_default();
                let found = Found::File { executable };
                files.entry(inner).or_insert_with(|| file("blobs", inner, found));
            }
            if !some {
                return Err(self
                    .spec_error(path, format!("Missing files for pattern '{glob}'"))
                    .help("check out submodules: git submodule update --init --recursive"));
            }
        }
        for glob in texts(spec, "excluded_files") {
            let pattern = self.pattern(&glob, path)?;
            for inner in pattern.select(&self.sources).keys() {
                files.remove(inner);
            }
            for inner in pattern.select(&self.blobs).keys() {
                files.remove(inner);
            }
        }
        for special in [Source::SCRIPT, "pre_packaging"] {
            if files.contains_key(special) {
                let message = format!(
                    "Expected special '{special}' file to not be included via 'files' key for package '{name}'"
                );
                return Err(self.spec_error(path, message));
            }
        }
        Ok(files.into_values().collect())
    }

    fn pattern(&self, glob: &str, path: &str) -> Result<Pattern, Diagnostic> {
        Pattern::read(glob).ok_or_else(|| self.spec_error(path, format!("Invalid pattern '{glob}'")))
    }

    /// What the fingerprint is computed from, and errors for blobs that are not there: their digests are known.
    fn parts(&self, files: &[SourceFile]) -> Result<(Vec<Part>, Vec<Diagnostic>), Diagnostic> {
        let (mut parts, mut missing) = (Vec::new(), Vec::new());
        for file in files {
            let file_error = |error: io::Error| self.file_error(file, &error);
            parts.push(match &file.found {
                Found::Link(target) => Part::link(FINGERPRINT_ALGORITHM, &file.path, target).map_err(file_error)?,
                Found::File { executable } => match file.from.strip_prefix("blobs/") {
                    Some(blob) if !self.folder.has(&file.from) => {
                        let blob = self.blobs.get(blob);
                        let blob = blob.ok_or_else(|| file_error(io::ErrorKind::NotFound.into()))?;
                        let error = self.missing_blob(&format!("blob '{}'", file.path), blob);
                        let error = error.help("download all blobs: bosh sync-blobs");
                        let Some(part) = Part::known(&file.path, &blob.digests) else {
                            return Err(error);
                        };
                        missing.push(error);
                        part
                    }
                    Some(blob) => self.blob(file, self.blobs.get(blob), *executable)?,
                    None => {
                        let mut content = self.folder.open_file(&file.from).map_err(file_error)?;
                        Part::file(FINGERPRINT_ALGORITHM, &file.path, *executable, &mut content).map_err(file_error)?
                    }
                },
            });
        }
        Ok((parts, missing))
    }

    /// A blob on disk, compared with its digest.
    fn blob(&self, file: &SourceFile, blob: Option<&Blob>, executable: bool) -> Result<Part, Diagnostic> {
        let digests = blob.map(|blob| blob.digests.as_str()).unwrap_or_default();
        let digest_error = |what: &str| {
            let message = format!("blob '{}' {what} in 'config/blobs.yml'", file.path);
            Diagnostic::error(release_codes::RELEASE_DIGEST, message)
                .in_document(self.folder.document(&file.from))
                .help("download it again: bosh sync-blobs")
        };
        let mut verifier = Verifier::new(digests).map_err(|_| digest_error("has no digest"))?;
        let file_error = |error: io::Error| self.file_error(file, &error);
        let mut content = verifier.over(self.folder.open_file(&file.from).map_err(file_error)?);
        let part = Part::file(FINGERPRINT_ALGORITHM, &file.path, executable, &mut content).map_err(file_error)?;
        verifier.finish().map_err(|_| digest_error("has another digest than"))?;
        Ok(part)
    }

    fn missing_blob(&self, what: &str, blob: &Blob) -> Diagnostic {
        let message = format!("{what} is not on this machine: {}", self.blobstore.address(blob));
        Diagnostic::error(codes::RELEASE_BLOB, message).in_document(self.folder.document("config/final.yml"))
    }

    fn file_error(&self, file: &SourceFile, error: &io::Error) -> Diagnostic {
        source_error(&self.folder.document(&file.from), error)
    }

    fn spec_error(&self, path: &str, message: String) -> Diagnostic {
        Diagnostic::error(codes::RELEASE_PACKAGE_SPEC, message).in_document(self.folder.document(path))
    }
}

fn file(root: &str, path: &str, found: Found) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        from: format!("{root}/{path}"),
        found,
    }
}
