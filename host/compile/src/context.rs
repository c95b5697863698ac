//! What builders read: archives of sources, and the build context of a whole release.

use crate::cache::{self, Work};
use crate::codes;
use crate::dockerfile;
use boson_images::{Pool, jobs_layer};
use boson_oci::header;
use boson_pipeline::Diagnostic;
use boson_releases::{Item, Kind, Package, Source};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType};

/// The time of all sources: 2000-01-01. The time of files in images, 1970, is too early for programs that write zip
/// files, such as wheels and jars.
const SOURCE_TIME_SECONDS: u64 = 946_684_800;

/// A release to write a build context for.
pub struct Whole<'w> {
    pub source: &'w Source,
    /// The image of the stemcell, as a builder finds it.
    pub stemcell_image: &'w str,
    /// `<os>/<version>` of the stemcell.
    pub stemcell: &'w str,
    /// The name of the release's image.
    pub name: &'w str,
}

/// Writes the sources of these packages, each to `source.tar` in its directory.
///
/// # Errors
/// Sources are missing or damaged; the disk is full.
pub fn write_sources(source: &Source, wanted: &BTreeSet<&str>, work: &Work) -> Result<(), Vec<Diagnostic>> {
    write_archives(source, wanted, cache::storage_error, &|package| {
        let place = work.of(package);
        fs::create_dir_all(&place)?;
        Ok(place.join("source.tar"))
    })
}

/// Writes a build context: a Dockerfile with a stage for each package, which builds the image of the release.
///
/// # Errors
/// `compile-context` if the directory is not empty; sources are missing or damaged.
pub fn write(whole: &Whole<'_>, out: &Path, pool: &Pool) -> Result<(), Vec<Diagnostic>> {
    let fail = |error: io::Error| vec![write_error(out, &error)];
    let source = whole.source;
    create_empty(out)?;
    let packages = &source.packages;
    let wanted = packages.iter().map(|package| package.name.as_str()).collect();
    write_archives(source, &wanted, |error| write_error(out, &error), &|package| {
        let nth = packages
            .iter()
            .position(|one| one.name == package.name)
            .unwrap_or_default();
        Ok(out.join(format!("source-{nth}.tar")))
    })?;
    write_links(packages, &out.join("links.tar")).map_err(fail)?;
    let jobs = jobs_layer(&source.jobs, out, pool)?;
    let mut file = File::create(out.join("jobs.tar.gz")).map_err(fail)?;
    io::copy(&mut jobs.content.reader(), &mut file).map_err(fail)?;
    let release = &source.release;
    let version = release.version.as_deref().unwrap_or_default();
    let labels = [
        ("bosh.release.name", release.name.as_str()),
        ("bosh.release.version", version),
        ("bosh.stemcell", whole.stemcell),
        ("org.opencontainers.image.title", &release.name),
        ("org.opencontainers.image.version", version),
        ("org.opencontainers.image.base.name", whole.stemcell_image),
    ];
    let text = dockerfile::release(whole.stemcell_image, packages, &labels);
    let text = format!("# The image {}: build it without a network.\n{text}", whole.name);
    fs::write(out.join("Dockerfile"), text).map_err(fail)
}

/// Files of the user are not overwritten.
fn create_empty(out: &Path) -> Result<(), Diagnostic> {
    fs::create_dir_all(out).map_err(|error| write_error(out, &error))?;
    let mut entries = fs::read_dir(out).map_err(|error| write_error(out, &error))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let message = format!("'{}' is not empty", out.display());
    Err(Diagnostic::error(codes::COMPILE_CONTEXT, message).help("set --context to an empty or new directory"))
}

fn write_error(out: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("the build context '{}' cannot be written: {error}", out.display());
    Diagnostic::error(codes::COMPILE_CONTEXT, message).help("check whether the disk is full or read-only")
}

/// Writes an archive of each package's sources to the path that `place` gives for it.
fn write_archives(
    source: &Source,
    wanted: &BTreeSet<&str>,
    fail: impl Fn(io::Error) -> Diagnostic,
    place: &dyn Fn(&Package) -> io::Result<PathBuf>,
) -> Result<(), Vec<Diagnostic>> {
    let mut open: Option<(String, Archive)> = None;
    source.unpack(wanted, &mut |package, item, data| {
        let mut archive = match open.take() {
            Some((name, archive)) if name == package.name => archive,
            before => {
                let ended = before.map_or(Ok(()), |(_, archive)| archive.finish());
                ended.map_err(&fail)?;
                place(package)
                    .and_then(|path| Archive::new(package, &path))
                    .map_err(&fail)?
            }
        };
        archive.add(item, data).map_err(&fail)?;
        open = Some((package.name.clone(), archive));
        Ok(())
    })?;
    let ended = open.map_or(Ok(()), |(_, archive)| archive.finish());
    ended.map_err(|error| vec![fail(error)])
}

fn write_links(packages: &[Package], path: &Path) -> io::Result<()> {
    let mut archive = Builder::new(BufWriter::new(File::create(path)?));
    for (link, target) in dockerfile::links(packages) {
        archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), link, target)?;
    }
    archive.into_inner()?.flush()
}

/// The archive of a package's sources.
struct Archive {
    inner: Builder<BufWriter<File>>,
    root: String,
    directories: BTreeSet<String>,
}

// === impl Archive ===

impl Archive {
    fn new(package: &Package, path: &Path) -> io::Result<Self> {
        let root = dockerfile::source_path(package);
        let mut archive = Self {
            inner: Builder::new(BufWriter::new(File::create(path)?)),
            root: dockerfile::relative(&root).to_owned(),
            directories: BTreeSet::new(),
        };
        archive.directory(&archive.root.clone())?;
        Ok(archive)
    }

    fn add(&mut self, item: &Item, data: &mut dyn Read) -> io::Result<()> {
        let path = format!("{}/{}", self.root, item.path);
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent)?;
        }
        match &item.kind {
            Kind::File { executable } => {
                let mode = if *executable { 0o755 } else { 0o644 };
                let mut header = source_header(EntryType::Regular, mode, item.size);
                self.inner.append_data(&mut header, path, data.take(item.size))
            }
            Kind::Link(target) => {
                let mut header = source_header(EntryType::Symlink, 0o777, 0);
                self.inner.append_link(&mut header, path, target)
            }
            Kind::HardLink(target) => {
                let mut header = source_header(EntryType::Link, 0o644, 0);
                self.inner
                    .append_link(&mut header, path, format!("{}/{target}", self.root))
            }
            Kind::Directory | Kind::Special(_) => Ok(()),
        }
    }

    /// Adds a directory and those above it, unless they are there.
    fn directory(&mut self, path: &str) -> io::Result<()> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in ends.filter_map(|end| path.get(..end)) {
            if self.directories.insert(part.to_owned()) {
                let mut header = source_header(EntryType::Directory, 0o755, 0);
                self.inner.append_data(&mut header, part, io::empty())?;
            }
        }
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        self.inner.into_inner()?.flush()
    }
}

fn source_header(kind: EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = header(kind, mode, size);
    header.set_mtime(SOURCE_TIME_SECONDS);
    header
}
