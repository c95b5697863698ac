//! Tells what is at the user's path, and has it read.

use crate::blobs::Blobs;
use crate::directory::{Reader, unreadable};
use crate::image as layout;
use crate::limits::Budget;
use crate::tarball::{self, Parts};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::archive::MANIFEST;
use boson_pipeline::release::{Entry, Files, Naming, Release, image, source};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};
use std::io::{self, Read, Seek};
use std::path::Path;

/// Where images have the jobs.
pub const JOBS_SRC: &str = "var/vcap/jobs-src";

type Outcome = Result<Vec<Release>, Vec<Diagnostic>>;

/// Reads what is at `path`.
///
/// # Errors
/// All that is wrong with it.
pub fn read(path: &Path, name: Option<&str>, budget: &Budget, progress: &mut dyn FnMut(&str)) -> Outcome {
    let source = path.display().to_string();
    let fail = |error: io::Error| vec![no_path(&source, &error)];
    let kind = std::fs::metadata(path).map_err(fail)?;
    if kind.is_dir() {
        // The one place where the authority over a directory comes from: the user named it.
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(fail)?;
        return directory(&dir, &source, name, budget, progress);
    }
    if !kind.is_file() {
        let message = format!("'{source}' is neither a file nor a directory");
        return Err(vec![Diagnostic::error("release-path", message).in_document(source)]);
    }
    let mut file = File::open_ambient(path, ambient_authority()).map_err(fail)?;
    let mut tell = |bytes: u64| progress(&format!("{source}: {} MiB", bytes >> 20));
    let compressed = is_gzip(&mut file).map_err(fail)?;
    let parts = tarball::parts(&file, &source, budget, &mut tell).map_err(|error| vec![error])?;
    if parts.manifest.is_none() && parts.places.contains_key("oci-layout") && !compressed {
        let blobs = Blobs::Tar {
            file: &file,
            places: &parts.places,
            source: &source,
        };
        return layout::read(&blobs, &source, name, budget, &mut tell);
    }
    tarball::assemble(&parts, &source, name, budget).map(|release| vec![release])
}

fn is_gzip(file: &mut File) -> io::Result<bool> {
    let mut magic = Vec::new();
    file.take(2).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(magic == [0x1f, 0x8b])
}

fn directory(dir: &Dir, source: &str, name: Option<&str>, budget: &Budget, progress: &mut dyn FnMut(&str)) -> Outcome {
    let is_dir = |path: &str| dir.metadata(path).is_ok_and(|data| data.is_dir());
    let one = |error: Diagnostic| vec![error];
    if dir.exists(MANIFEST) {
        return unpacked(dir, source, name, budget).map(|release| vec![release]);
    }
    if dir.exists("oci-layout") {
        let mut tell = |bytes: u64| progress(&format!("{source}: {} MiB", bytes >> 20));
        return layout::read(&Blobs::Directory { dir, source }, source, name, budget, &mut tell);
    }
    if is_dir("jobs") {
        let files = source_files(dir, source, budget).map_err(one)?;
        return source::read(&files, name).map(|release| vec![release]);
    }
    for root in ["jobs-src", JOBS_SRC, ""] {
        if root.is_empty() && !holds_jobs(dir) || !root.is_empty() && !is_dir(root) {
            continue;
        }
        let mut reader = Reader::new(dir, Files::new(Naming::Directory(source.to_owned())), budget);
        reader.walk(root).and_then(|()| reader.follow_links()).map_err(one)?;
        return image::read(&reader.into_files(), root, name, None);
    }
    let message = format!("'{source}' is no release");
    Err(vec![
        Diagnostic::error("release-kind", message)
            .in_document(source)
            .help("expected a directory with `jobs`, with `jobs-src`, or with an OCI image; or a release tarball"),
    ])
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
    below(dir).iter().any(|name| {
        dir.exists(format!("{name}/job.MF"))
            || dir
                .open_dir(name)
                .is_ok_and(|inner| below(&inner).iter().any(|job| inner.exists(format!("{job}/job.MF"))))
    })
}

fn source_files(dir: &Dir, source: &str, budget: &Budget) -> Result<Files, Diagnostic> {
    let mut reader = Reader::new(dir, Files::new(Naming::Directory(source.to_owned())), budget);
    reader.walk("jobs")?;
    reader.follow_links()?;
    reader.list("packages")?;
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
fn unpacked(dir: &Dir, source: &str, name: Option<&str>, budget: &Budget) -> Result<Release, Vec<Diagnostic>> {
    let mut reader = Reader::new(dir, Files::new(Naming::Directory(source.to_owned())), budget);
    reader
        .file(MANIFEST)
        .and_then(|()| reader.walk("jobs"))
        .map_err(|error| vec![error])?;
    let files = reader.into_files();
    let mut parts = Parts {
        manifest: files.file(MANIFEST).ok().map(|file| file.bytes.clone()),
        ..Parts::default()
    };
    for (path, entry) in files.iter() {
        if let Some(job) = path.strip_prefix("jobs/").and_then(|file| file.strip_suffix(".tgz")) {
            parts.jobs.insert(job.to_owned(), entry.clone());
        }
    }
    tarball::assemble(&parts, source, name, budget)
}

fn no_path(source: &str, error: &io::Error) -> Diagnostic {
    if error.kind() == io::ErrorKind::NotFound {
        let message = format!("There is no release at '{source}': no such file or directory");
        return Diagnostic::error("release-path", message).in_document(source);
    }
    unreadable(source, error)
}
