//! Detects the kind of release at the user's path, and reads it.

use crate::directory::{Reader, open_file, read_error};
use crate::image::{Image, JOBS_SRC};
use crate::limits::{Budget, Limits};
use crate::tarball::{self, Parts};
use boson_oci::Section;
use boson_oci::layout::{Find, Layout, MARK};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::archive::MANIFEST;
use boson_pipeline::release::codes;
use boson_pipeline::release::{Entry, Files, Naming, Release, image, source};
use boson_pipeline::report::Sources;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

pub struct Task<'t> {
    pub path: &'t Path,
    /// The name of that place in messages and documents; `None`: its path.
    pub title: Option<&'t str>,
    /// The user's name for it.
    pub name: Option<&'t str>,
    pub budget: &'t Budget,
}

// === impl Task ===

impl Task<'_> {
    /// Reads the release.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(&self, sources: &mut Sources, progress: &mut dyn FnMut(&str)) -> Result<Vec<Release>, Vec<Diagnostic>> {
        let source = self
            .title
            .map_or_else(|| self.path.display().to_string(), str::to_string);
        let fail = |error: io::Error| no_path(&source, &error);
        let mut tell = |bytes: u64| progress(&format!("{source}: {} MiB", bytes >> 20));
        let kind = std::fs::metadata(self.path).map_err(fail)?;
        // The only place with ambient access to files: the user named the path.
        if kind.is_dir() {
            let dir = Dir::open_ambient_dir(self.path, ambient_authority()).map_err(fail)?;
            return self.directory(&dir, &source, sources, &mut tell);
        }
        if !kind.is_file() {
            let message = format!("'{source}' is neither a file nor a directory");
            return Err(vec![
                Diagnostic::error(codes::RELEASE_PATH, message).in_document(source),
            ]);
        }
        let mut file = File::open_ambient(self.path, ambient_authority()).map_err(fail)?;
        let compressed = is_gzip(&mut file).map_err(fail)?;
        let parts = tarball::parts(&file, &source, self.budget, &mut tell)?;
        if parts.manifest.is_none() && parts.places.contains_key(MARK) && !compressed {
            let file = Arc::new(file.into_std());
            let find = |path: &str| match parts.places.get(path) {
                Some((begin, size)) => Ok(Section::new(file.clone(), *begin, *size)),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            return self.image(&find, &source).read(self.name, sources, &mut tell);
        }
        tarball::assemble(&parts, &source, self.name, self.budget, sources).map(|all| vec![all.release])
    }

    fn directory(
        &self,
        dir: &Dir,
        source: &str,
        sources: &mut Sources,
        tell: &mut dyn FnMut(u64),
    ) -> Result<Vec<Release>, Vec<Diagnostic>> {
        let is_dir = |path: &str| dir.metadata(path).is_ok_and(|data| data.is_dir());
        let mut reader = Reader::new(dir, Files::new(Naming::Directory(source.to_owned())), self.budget);
        if dir.exists(MANIFEST) {
            let parts = unpacked(reader)?;
            return tarball::assemble(&parts, source, self.name, self.budget, sources).map(|all| vec![all.release]);
        }
        if dir.exists(MARK) {
            let find = |path: &str| Section::of(open_file(dir, path)?.into_std());
            return self.image(&find, source).read(self.name, sources, tell);
        }
        if is_dir("jobs") {
            let files = source_files(reader)?;
            return source::read(&files, self.name, sources).map(|release| vec![release]);
        }
        let named = ["jobs-src", JOBS_SRC].into_iter().find(|root| is_dir(root));
        let Some(root) = named.or_else(|| holds_jobs(dir).then_some("")) else {
            return Err(vec![no_release(source)]);
        };
        reader.walk(root).and_then(|()| reader.follow_links())?;
        image::read(&reader.into_files(), root, self.name, None, sources)
    }

    fn image<'i>(&'i self, find: &'i Find<'i>, source: &'i str) -> Image<'i> {
        Image {
            layout: Layout::new(find),
            source,
            budget: self.budget,
        }
    }
}

fn is_gzip(file: &mut File) -> io::Result<bool> {
    let mut magic = Vec::new();
    file.take(2).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(magic == [0x1f, 0x8b])
}

/// `<job>/job.MF` or `<release>/<job>/job.MF`: the user named the `jobs-src` directory itself.
fn holds_jobs(dir: &Dir) -> bool {
    let below = |dir: &Dir| -> Vec<String> {
        let entries = dir.entries().into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories
            .filter_map(|entry| entry.file_name().into_string().ok())
            .take(256)
            .collect()
    };
    let has_job = |dir: &Dir, names: &[String]| names.iter().any(|name| dir.exists(format!("{name}/job.MF")));
    let names = below(dir);
    has_job(dir, &names)
        || names
            .iter()
            .filter_map(|name| dir.open_dir(name).ok())
            .any(|inner| has_job(&inner, &below(&inner)))
}

/// Reads a release from its repository, and its files as they are there.
///
/// # Errors
/// All that is wrong with it; `release-kind` if it is another directory.
pub fn repository(path: &Path, name: Option<&str>, sources: &mut Sources) -> Result<(Release, Files), Vec<Diagnostic>> {
    let source = path.display().to_string();
    let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| no_path(&source, &error))?;
    // A release of packages only has no `jobs`.
    if !dir.exists("config/final.yml") && !dir.exists("jobs") {
        return Err(vec![no_release(&source)]);
    }
    let budget = Budget::new(Limits::default());
    let reader = Reader::new(&dir, Files::new(Naming::Directory(source)), &budget);
    let files = source_files(reader)?;
    Ok((source::read(&files, name, sources)?, files))
}

fn source_files(mut reader: Reader<'_>) -> Result<Files, Diagnostic> {
    reader.walk("jobs")?;
    reader.follow_links()?;
    reader.list("packages")?;
    let packages: Vec<String> = reader
        .files()
        .names("packages")
        .into_iter()
        .map(str::to_owned)
        .collect();
    for package in packages {
        // One of these files names the package; its directory may have another name.
        reader.file(&format!("packages/{package}/spec.lock"))?;
        reader.file(&format!("packages/{package}/spec"))?;
    }
    reader.file("config/final.yml")?;
    reader.list("releases")?;
    let files = reader.files();
    let directory = |name: &&str| files.entry(&format!("releases/{name}")) == Some(&Entry::Directory);
    let names: Vec<String> = files
        .names("releases")
        .into_iter()
        .filter(directory)
        .map(str::to_owned)
        .collect();
    for name in names {
        let index = format!("releases/{name}/index.yml");
        reader.file(&index)?;
        if reader.files().entry(&index).is_none() {
            reader.list(&format!("releases/{name}"))?;
        }
    }
    Ok(reader.into_files())
}

/// A tarball that someone has unpacked.
fn unpacked(mut reader: Reader<'_>) -> Result<Parts, Diagnostic> {
    reader.file(MANIFEST)?;
    reader.walk("jobs")?;
    let files = reader.into_files();
    let mut parts = Parts {
        manifest: files.file(MANIFEST).ok().map(|file| file.bytes.clone()),
        ..Parts::default()
    };
    for (path, entry) in files.iter_below("jobs") {
        if let Some(job) = path.strip_prefix("jobs/").and_then(|file| file.strip_suffix(".tgz")) {
            parts.jobs.insert(job.to_owned(), entry.clone());
        }
    }
    Ok(parts)
}

fn no_release(source: &str) -> Diagnostic {
    Diagnostic::error(codes::RELEASE_KIND, format!("'{source}' is not a release"))
        .in_document(source)
        .help("expected a directory with `jobs`, with `jobs-src`, or with an OCI image; or a release tarball")
}

fn no_path(source: &str, error: &io::Error) -> Diagnostic {
    if error.kind() == io::ErrorKind::NotFound {
        let message = format!("There is no release at '{source}': no such file or directory");
        return Diagnostic::error(codes::RELEASE_PATH, message).in_document(source);
    }
    read_error(source, error)
}
