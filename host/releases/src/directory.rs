//! Reads directories into memory through a handle that no path can leave; links stay links.

use crate::limits::Budget;
use boson_document::Code;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use boson_pipeline::release::{Entry, File, Files};
use cap_std::fs::{Dir, Metadata, MetadataExt};
use std::collections::HashSet;
use std::io::{self, Read};
use std::path::Path;

/// Reads from one directory into one tree of files.
pub struct Reader<'r> {
    dir: &'r Dir,
    files: Files,
    budget: &'r Budget,
    /// Directories that are read completely.
    walked: HashSet<String>,
}

// === impl Reader ===

impl<'r> Reader<'r> {
    /// Reads from `dir` into `files`.
    pub fn new(dir: &'r Dir, files: Files, budget: &'r Budget) -> Self {
        Self {
            dir,
            files,
            budget,
            walked: HashSet::new(),
        }
    }

    pub fn files(&self) -> &Files {
        &self.files
    }

    pub fn into_files(self) -> Files {
        self.files
    }

    /// Reads all that is below `path`; nothing where there is no such directory.
    ///
    /// # Errors
    /// A directory or file can't be read, or there is too much.
    pub fn walk(&mut self, path: &str) -> Result<(), Diagnostic> {
        let mut left = u64::MAX;
        self.walk_below(path, 0, &mut left)?;
        self.walked.insert(path.to_owned());
        Ok(())
    }

    /// Notes the names in the directory `path`, without reading files.
    ///
    /// # Errors
    /// The directory can't be read, or there is too much in it.
    pub fn list(&mut self, path: &str) -> Result<(), Diagnostic> {
        for (name, kind) in self.names(path)? {
            let path = join(path, &name);
            let directory =
                kind.is_dir() || kind.is_symlink() && self.dir.metadata(&path).is_ok_and(|data| data.is_dir());
            self.files
                .insert(path, if directory { Entry::Directory } else { Entry::Unread(0) });
        }
        Ok(())
    }

    /// Reads one file; does nothing if it is missing.
    ///
    /// # Errors
    /// It can't be read.
    pub fn file(&mut self, path: &str) -> Result<(), Diagnostic> {
        self.lead_to(path).map(drop)
    }

    /// Reads the targets of links that are inside the directory.
    ///
    /// # Errors
    /// A directory or file can't be read, or there is too much.
    pub fn follow_links(&mut self) -> Result<(), Diagnostic> {
        let is_link = |(path, entry): (&str, &Entry)| matches!(entry, Entry::Link(_)).then(|| path.to_owned());
        let mut links: Vec<String> = self.files.iter().filter_map(is_link).collect();
        while let Some(link) = links.pop() {
            let Some(end) = self.lead_to(&link)? else { continue };
            let around = link == end || link.starts_with(&format!("{end}/")) || end.is_empty();
            // A link to a directory that contains it would read the whole release, with its sources.
            if around || self.is_walked(&end) || !self.files.is_directory(&end) {
                continue;
            }
            let mut left = self.budget.limits.linked;
            self.walk_below(&end, 0, &mut left)?;
            self.walked.insert(end.clone());
            links.extend(self.files.iter_below(&end).filter_map(is_link));
        }
        Ok(())
    }

    fn is_walked(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(end, _)| end).chain([0, path.len()]);
        above
            .filter_map(|end| path.get(..end))
            .any(|path| self.walked.contains(path))
    }

    /// Loads every component of `path`, and follows links; returns the final path.
    fn lead_to(&mut self, path: &str) -> Result<Option<String>, Diagnostic> {
        loop {
            // An error is reported only if the file is needed: an unused link does no harm.
            let Ok(end) = self.files.follow(path) else {
                return Ok(None);
            };
            if !self.load_way(&end)? {
                return Ok(Some(end));
            }
        }
    }

    /// Loads the first unknown component of `path`; true if it is a new link.
    fn load_way(&mut self, path: &str) -> Result<bool, Diagnostic> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in ends.filter_map(|end| path.get(..end)) {
            if part.is_empty() || self.files.entry(part).is_some() || self.files.is_directory(part) {
                continue;
            }
            let Ok(data) = self.dir.symlink_metadata(part) else {
                return Ok(false);
            };
            self.load(part, &data)?;
            match self.files.entry(part) {
                Some(Entry::Link(_)) => return Ok(true),
                Some(Entry::Directory) => {}
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    fn walk_below(&mut self, path: &str, depth: usize, left: &mut u64) -> Result<(), Diagnostic> {
        if depth > self.budget.limits.depth {
            return Err(self.error(path, codes::RELEASE_PATH_DEPTH, "is too deep"));
        }
        for (name, kind) in self.names(path)? {
            *left = left.checked_sub(1).ok_or_else(|| {
                let what = "has too many files in the target of a link";
                self.error(path, codes::RELEASE_ARCHIVE_ENTRIES, what)
            })?;
            let below = join(path, &name);
            if kind.is_dir() {
                self.files.insert(&below, Entry::Directory);
                self.walk_below(&below, depth + 1, left)?;
            } else {
                let data = self
                    .dir
                    .symlink_metadata(&below)
                    .map_err(|error| self.read_error(&below, &error))?;
                self.load(&below, &data)?;
            }
        }
        Ok(())
    }

    fn names(&self, path: &str) -> Result<Vec<(String, cap_std::fs::FileType)>, Diagnostic> {
        let entries = match self.dir.read_dir(if path.is_empty() { "." } else { path }) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(self.read_error(path, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            self.budget.entry(self.files.naming().source())?;
            self.budget.note(path, self.files.naming().source())?;
            let entry = entry.map_err(|error| self.read_error(path, &error))?;
            let kind = entry.file_type().map_err(|error| self.read_error(path, &error))?;
            // Specs cannot refer to names that are not UTF-8.
            if let Ok(name) = entry.file_name().into_string() {
                names.push((name, kind));
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(names)
    }

    fn load(&mut self, path: &str, data: &Metadata) -> Result<(), Diagnostic> {
        let entry = if data.is_symlink() {
            let target = self
                .dir
                .read_link_contents(path)
                .map_err(|error| self.read_error(path, &error))?;
            Entry::Link(target.to_string_lossy().into_owned())
        } else if data.is_dir() {
            Entry::Directory
        } else if !data.is_file() {
            // Not opened: a named pipe would block.
            Entry::Special
        } else if data.len() > self.budget.limits.file {
            Entry::Unread(data.len())
        } else {
            Entry::File(self.read(path, data)?)
        };
        self.files.insert(path, entry);
        Ok(())
    }

    fn read(&self, path: &str, data: &Metadata) -> Result<File, Diagnostic> {
        let document = self.files.document(path);
        self.budget.keep(data.len(), &document)?;
        let bytes = bounded(self.dir, Path::new(path), data.len()).map_err(|error| self.read_error(path, &error))?;
        Ok(File {
            bytes,
            executable: data.mode() & 0o111 != 0,
        })
    }

    fn read_error(&self, path: &str, error: &io::Error) -> Diagnostic {
        read_error(&self.files.document(path), error)
    }

    fn error(&self, path: &str, code: &Code, what: &str) -> Diagnostic {
        let document = self.files.document(path);
        Diagnostic::error(code, format!("'{document}' {what}")).in_document(document)
    }
}

/// The diagnostic for a file that cannot be read.
pub fn read_error(document: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::RELEASE_PATH, format!("'{document}' can't be read: {error}")).in_document(document)
}

/// Opens a regular file.
///
/// # Errors
/// Those of the disk; it is not a regular file.
pub fn open_file(dir: &Dir, path: &str) -> io::Result<cap_std::fs::File> {
    // To open a pipe would wait for its writer.
    if dir.metadata(path)?.is_file() {
        dir.open(path)
    } else {
        Err(io::Error::other("not a file"))
    }
}

/// Reads a file that had `size` bytes a moment ago.
fn bounded(dir: &Dir, path: &Path, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file that grows meanwhile is truncated, so that reading ends.
    dir.open(path)?.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path of a file in a directory; `""` is the root.
pub fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}
