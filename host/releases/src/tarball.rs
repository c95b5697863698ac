//! A release tarball: one pass over it that keeps `release.MF` and the jobs' tarballs, then one over each job.

use crate::digest;
use crate::entries::{self, Item, Kind, entry_error};
use crate::limits::Budget;
use boson_document::Code;
use boson_oci::layout::{INDEX, MARK};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::archive::{self, JobReference, MANIFEST, Manifest};
use boson_pipeline::release::codes;
use boson_pipeline::release::paths::clean;
use boson_pipeline::release::{Entry, File, Files, Naming, Release};
use boson_pipeline::report::Sources;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

const JOBS_DIRECTORY: &str = "jobs/";

/// The parts of a tarball that are needed.
#[derive(Default)]
pub struct Parts {
    /// Content of `release.MF`.
    pub manifest: Option<Vec<u8>>,
    /// Content of `jobs/<job>.tgz`, by name of the job.
    pub jobs: BTreeMap<String, Entry>,
    /// Begin and size of the files of an OCI image layout.
    pub places: BTreeMap<String, (u64, u64)>,
    /// A hint that the archive is something else.
    pub hint: Option<&'static str>,
}

/// Reads an archive and retains these parts. `source`: its path, for messages.
///
/// # Errors
/// The archive is damaged or hostile.
pub fn parts(reader: impl Read, source: &str, budget: &Budget, tell: &mut dyn FnMut(u64)) -> Result<Parts, Diagnostic> {
    let mut parts = Parts::default();
    entries::each(source, reader, budget, tell, &mut |item, content| {
        keep(item, content, source, budget, &mut parts)
    })?;
    Ok(parts)
}

/// A release and its inputs.
pub struct Assembled {
    /// Content of `release.MF`.
    pub manifest: Manifest,
    /// What is in the jobs' tarballs, below `jobs/<job>/`.
    pub files: Files,
    pub release: Release,
}

/// Assembles the release from the parts of a tarball.
///
/// # Errors
/// All errors in it.
pub fn assemble(
    parts: &Parts,
    source: &str,
    name: Option<&str>,
    budget: &Budget,
    sources: &mut Sources,
) -> Result<Assembled, Vec<Diagnostic>> {
    let naming = Naming::Archive(source.to_owned());
    let Some(bytes) = &parts.manifest else {
        return Err(vec![no_manifest(source, parts)]);
    };
    let manifest = Manifest::read(&naming.document(MANIFEST), bytes, sources)?;
    let mut files = Files::new(naming);
    let mut errors = Vec::new();
    let mut failed = HashSet::new();
    for job in &manifest.jobs {
        if let Err(error) = unpack(job, parts.jobs.get(&job.name), &manifest, &mut files, budget) {
            errors.push(error);
            failed.insert(job.name.clone());
        }
    }
    if !errors.is_empty() {
        sources.add_document(manifest.document.clone(), false);
    }
    match archive::read(&manifest, &files, name, &failed, sources) {
        Ok(release) if errors.is_empty() => Ok(Assembled {
            manifest,
            files,
            release,
        }),
        Ok(_) => Err(errors),
        Err(found) => {
            errors.extend(found);
            Err(errors)
        }
    }
}

/// The path of an entry inside the archive.
///
/// # Errors
/// It leads out.
pub fn inner_path(item: &Item, archive: &str) -> Result<String, Diagnostic> {
    clean(&item.path).map_err(|_| {
        item.entry_error(codes::RELEASE_ARCHIVE_PATH, archive, "leads out of the archive")
            .help("no release has such paths: the archive may be malicious")
    })
}

/// The target of a link at `path`, relative to the directory of the link.
///
/// # Errors
/// It leads out of the archive.
pub fn inner_target(item: &Item, path: &str, archive: &str) -> Result<String, Diagnostic> {
    let escapes = || {
        let what = "is a link that leads out of the archive";
        item.entry_error(codes::RELEASE_ARCHIVE_LINK, archive, what)
            .help("links are followed only within an archive")
    };
    let depth = path.matches('/').count();
    match &item.kind {
        Kind::HardLink(target) => {
            let target = clean(target).map_err(|_| escapes())?;
            Ok(format!("{}{target}", "../".repeat(depth)))
        }
        Kind::Link(target) if stays_inside(target, depth) => Ok(target.clone()),
        _ => Err(escapes()),
    }
}

fn stays_inside(target: &str, depth: usize) -> bool {
    let end = target.split('/').try_fold(depth, |depth, part| match part {
        "" | "." => Some(depth),
        ".." => depth.checked_sub(1),
        _ => Some(depth + 1),
    });
    end.is_some() && !target.starts_with('/')
}

/// Reads a file's content, or only its size if it is over the limit.
///
/// # Errors
/// The content ends early, or too much was kept already.
pub fn content(item: &Item, content: &mut dyn Read, archive: &str, budget: &Budget) -> Result<Entry, Diagnostic> {
    if item.size > budget.limits.file {
        return Ok(Entry::Unread(item.size));
    }
    budget.keep(item.size, archive)?;
    let mut bytes = Vec::new();
    let complete = content.take(item.size).read_to_end(&mut bytes).is_ok() && bytes.len() as u64 == item.size;
    if !complete {
        return Err(
            Diagnostic::error(codes::RELEASE_ARCHIVE_DAMAGED, format!("'{archive}' is truncated")).in_document(archive),
        );
    }
    Ok(Entry::File(File {
        bytes,
        executable: item.kind == Kind::File { executable: true },
    }))
}

fn keep(item: &Item, data: &mut dyn Read, source: &str, budget: &Budget, parts: &mut Parts) -> Result<(), Diagnostic> {
    let path = inner_path(item, source)?;
    match &item.kind {
        Kind::Special(what) => return Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, source, what)),
        Kind::Link(_) | Kind::HardLink(_) => return inner_target(item, &path, source).map(drop),
        Kind::Directory => return Ok(()),
        Kind::File { .. } => {}
    }
    if path == MANIFEST {
        match content(item, data, source, budget)? {
            Entry::File(file) => parts.manifest = Some(file.bytes),
            _ => {
                return Err(entry_error(
                    codes::RELEASE_FILE_TOO_LARGE,
                    source,
                    &path,
                    "is too large",
                ));
            }
        }
    } else if let Some(job) = path
        .strip_prefix(JOBS_DIRECTORY)
        .and_then(|file| file.strip_suffix(".tgz"))
    {
        if !job.contains('/') {
            budget.note(job, source)?;
            parts.jobs.insert(job.to_owned(), content(item, data, source, budget)?);
        }
    } else {
        // An image has some hundred layers at most.
        let is_of_layout = matches!(path.as_str(), MARK | INDEX) || path.starts_with("blobs/");
        if is_of_layout && (parts.places.len() as u64) < budget.limits.linked {
            parts.places.insert(path.clone(), (item.offset, item.size));
        }
        parts.hint = parts.hint.or_else(|| hint(&path));
    }
    Ok(())
}

fn hint(path: &str) -> Option<&'static str> {
    if path == MARK {
        return Some("this is an OCI image: uncompress it (`gunzip`) and use the .tar");
    }
    if path.contains("jobs-src/") || path.ends_with("config/final.yml") {
        return Some("this is an archive of a directory: unpack it and use the directory");
    }
    (path == "manifest.json")
        .then_some("this may be an image in Docker's own form: copy it to an OCI layout, as `skopeo copy` does")
}

fn no_manifest(source: &str, parts: &Parts) -> Diagnostic {
    Diagnostic::error(codes::RELEASE_MANIFEST, "Release manifest not found")
        .in_document(source)
        .help(
            parts
                .hint
                .unwrap_or("a release tarball has a file `release.MF`; `bosh create-release --tarball` creates one"),
        )
}

fn unpack(
    job: &JobReference,
    archive: Option<&Entry>,
    manifest: &Manifest,
    files: &mut Files,
    budget: &Budget,
) -> Result<(), Diagnostic> {
    let name = &job.name;
    let archive_name = files.document(&format!("{JOBS_DIRECTORY}{name}.tgz"));
    let fail = |code: &Code, why: String| {
        Diagnostic::error(code, format!("Reading job '{name}' from archive: {why}"))
            .in_document(&manifest.document.name)
            .at(&job.pointer)
    };
    let bytes = match archive {
        Some(Entry::File(file)) => &file.bytes,
        Some(Entry::Unread(size)) => {
            let why = format!("it is too large: {size} bytes");
            return Err(fail(codes::RELEASE_FILE_TOO_LARGE, why));
        }
        _ => {
            let why = format!("there is no '{JOBS_DIRECTORY}{name}.tgz'");
            return Err(fail(codes::RELEASE_JOB_ARCHIVE, why));
        }
    };
    if let Some(digests) = &job.digest {
        digest::verify(digests, bytes).map_err(|mismatch| {
            fail(codes::RELEASE_DIGEST, mismatch.to_string())
                .help("the tarball is damaged or was changed: download it again")
        })?;
    }
    entries::each(
        &archive_name,
        bytes.as_slice(),
        budget,
        &mut |_| {},
        &mut |item, data| {
            let path = inner_path(item, &archive_name)?;
            budget.note(&path, &archive_name)?;
            let entry = match &item.kind {
                Kind::Special(what) => return Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, &archive_name, what)),
                Kind::Link(_) | Kind::HardLink(_) => Entry::Link(inner_target(item, &path, &archive_name)?),
                Kind::Directory if path.is_empty() => return Ok(()),
                Kind::Directory => Entry::Directory,
                Kind::File { .. } => content(item, data, &archive_name, budget)?,
            };
            files.insert(format!("{JOBS_DIRECTORY}{name}/{path}"), entry);
            Ok(())
        },
    )
}
