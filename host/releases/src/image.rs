//! OCI image layouts, a directory or a tar of one: layers are applied in order, and only `/var/vcap/jobs-src` of the
//! result is retained.

use crate::directory::{join, read_error};
use crate::entries::{self, Item, Kind};
use crate::limits::Budget;
use crate::tarball::content;
use boson_oci::layout::{Error, Layout, check};
use boson_oci::{Descriptor, Digesting, path};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use boson_pipeline::release::paths::clean;
use boson_pipeline::release::{Entry, Files, Naming, Release, image};
use boson_pipeline::report::Sources;
use std::io::Read;

/// Where images have the jobs.
pub const JOBS_SRC: &str = "var/vcap/jobs-src";

/// Marks what a layer removes.
const WHITEOUT_PREFIX: &str = ".wh.";

/// Marks a directory whose lower layers do not count.
const OPAQUE_WHITEOUT: &str = ".wh..wh..opq";

pub struct Image<'i> {
    pub layout: Layout<'i>,
    /// Its path, for messages.
    pub source: &'i str,
    pub budget: &'i Budget,
}

/// The changes that a layer makes to those below it.
#[derive(Default)]
struct Changes {
    removed: Vec<String>,
    emptied: Vec<String>,
    added: Vec<(String, Entry)>,
}

// === impl Image ===

impl Image<'_> {
    /// Reads the releases in it.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(
        &self,
        name: Option<&str>,
        sources: &mut Sources,
        tell: &mut dyn FnMut(u64),
    ) -> Result<Vec<Release>, Vec<Diagnostic>> {
        let (files, reference) = self.files(tell)?;
        let known = reference.as_deref().and_then(release_of);
        image::read(&files, JOBS_SRC, name, known, sources)
    }

    fn files(&self, tell: &mut dyn FnMut(u64)) -> Result<(Files, Option<String>), Diagnostic> {
        let found = self.layout.image().map_err(|error| self.explain(&error))?;
        let mut files = Files::new(Naming::Image(self.source.to_owned()));
        for layer in found.manifest.layers() {
            self.changes(layer, tell)?.apply(&mut files);
        }
        Ok((files, found.name))
    }

    fn changes(&self, layer: &Descriptor, tell: &mut dyn FnMut(u64)) -> Result<Changes, Diagnostic> {
        let name = self.document(&path(layer.digest()));
        if layer.media_type().as_ref().ends_with("zstd") {
            return Err(self
                .error("has layers compressed with zstd")
                .help("compress them with gzip: `skopeo copy --dest-compress-format gzip`"));
        }
        let mut changes = Changes::default();
        let blob = self.layout.blob(layer).map_err(|error| self.explain(&error))?;
        let mut content = Digesting::new(blob.reader());
        entries::each(&name, &mut content, self.budget, tell, &mut |item, data| {
            changes.take(item, data, &name, self.budget)
        })?;
        check(layer, content).map_err(|error| self.explain(&error))?;
        Ok(changes)
    }

    fn explain(&self, error: &Error) -> Diagnostic {
        match error {
            Error::Unreadable(path, error) => read_error(&self.document(path), error),
            Error::Damaged { expected, found } => {
                let message = format!("Expected stream to have digest '{expected}' but was '{found}'");
                Diagnostic::error(codes::RELEASE_DIGEST, message)
                    .in_document(self.document(&path(expected)))
                    .help("the image is damaged: download it again")
            }
            Error::Several(..) => self.error(&error.to_string()).help("create a layout with one image"),
            _ => self.error(&error.to_string()),
        }
    }

    fn error(&self, what: &str) -> Diagnostic {
        Diagnostic::error(codes::RELEASE_IMAGE, format!("Image '{}' {what}", self.source)).in_document(self.source)
    }

    /// The name of one of its files.
    fn document(&self, path: &str) -> String {
        format!("{}:{path}", self.source)
    }
}

// === impl Changes ===

impl Changes {
    fn take(&mut self, item: &Item, data: &mut dyn Read, archive: &str, budget: &Budget) -> Result<(), Diagnostic> {
        let Some(path) = relevant(item, archive)? else {
            return Ok(());
        };
        let (parent, file) = path.rsplit_once('/').unwrap_or(("", &path));
        if file == OPAQUE_WHITEOUT {
            budget.note(parent, archive)?;
            self.emptied.push(parent.to_owned());
            return Ok(());
        }
        if let Some(hidden) = file.strip_prefix(WHITEOUT_PREFIX) {
            let hidden = join(parent, hidden);
            budget.note(&hidden, archive)?;
            self.removed.push(hidden);
            return Ok(());
        }
        if !is_below(&path, JOBS_SRC) {
            // A file in place of a parent directory hides everything below it in lower layers.
            self.removed.push(path);
            return Ok(());
        }
        budget.note(&path, archive)?;
        let entry = match &item.kind {
            Kind::Directory => Entry::Directory,
            Kind::Link(target) | Kind::HardLink(target) => Entry::Link(relative(&path, target, &item.kind)),
            Kind::Special(what) => return Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, archive, what)),
            Kind::File { .. } => content(item, data, archive, budget)?,
        };
        self.added.push((path, entry));
        Ok(())
    }

    /// Whiteouts apply to lower layers only, whatever their position in the layer.
    fn apply(self, files: &mut Files) {
        for path in &self.removed {
            files.remove(path);
        }
        for path in &self.emptied {
            files.remove_below(path);
        }
        for (path, entry) in self.added {
            let stays = entry == Entry::Directory && matches!(files.entry(&path), None | Some(Entry::Directory));
            if !stays {
                files.remove(&path);
            }
            files.insert(path, entry);
        }
    }
}

/// The path of an entry that affects the jobs: it is part of one, hides one, or replaces a parent directory.
///
/// # Errors
/// The path leads out of the archive.
pub fn relevant(item: &Item, archive: &str) -> Result<Option<String>, Diagnostic> {
    let path = clean(item.path.trim_start_matches('/'))
        .map_err(|_| item.entry_error(codes::RELEASE_ARCHIVE_PATH, archive, "leads out of the archive"))?;
    let (parent, file) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_relevant = if file == OPAQUE_WHITEOUT {
        may_contain_jobs(parent)
    } else if let Some(hidden) = file.strip_prefix(WHITEOUT_PREFIX) {
        may_contain_jobs(&join(parent, hidden))
    } else {
        is_below(&path, JOBS_SRC) || item.kind != Kind::Directory && is_below(JOBS_SRC, &path)
    };
    Ok(is_relevant.then_some(path))
}

/// The target relative to the link's directory, in a file system whose root is the image's.
fn relative(path: &str, target: &str, kind: &Kind) -> String {
    let from_root = target.starts_with('/') || matches!(kind, Kind::HardLink(_));
    if !from_root {
        return target.to_owned();
    }
    format!(
        "{}{}",
        "../".repeat(path.matches('/').count()),
        target.trim_start_matches('/')
    )
}

/// Whether this path can hide or contain jobs.
fn may_contain_jobs(path: &str) -> bool {
    path.is_empty() || is_below(path, JOBS_SRC) || is_below(JOBS_SRC, path)
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Name and version of the release whose image is named `<registry>/<release>:<os>-<stemcell version>-<release
/// version>`.
fn release_of(reference: &str) -> Option<(&str, &str)> {
    let last = reference.rsplit('/').next()?;
    let (name, tag) = last.split_once(':')?;
    let (before, version) = tag.rsplit_once('-')?;
    (before.contains('-') && version.starts_with(|first: char| first.is_ascii_digit())).then_some((name, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_release_images_are_distinguished() {
        assert_eq!(
            release_of("ghcr.io/cf/nats:ubuntu-jammy-1.2-56.26.0"),
            Some(("nats", "56.26.0"))
        );
        assert_eq!(release_of("nats:SLE-15-33"), Some(("nats", "33")));
        for other in [
            "nats",
            "latest",
            "host:5000/nats",
            "nats:latest",
            "nats:1-2",
            "nats:a-b-c",
        ] {
            assert_eq!(release_of(other), None, "{other}");
        }
    }

    #[test]
    fn targets_are_seen_from_the_link() {
        let link = |target: &str| relative("a/b/c", target, &Kind::Link(target.into()));
        assert_eq!(link("../x"), "../x");
        assert_eq!(link("/var/x"), "../../var/x");
        assert_eq!(relative("a/b/c", "a/x", &Kind::HardLink("a/x".into())), "../../a/x");
    }
}
