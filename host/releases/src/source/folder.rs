//! The repository of a release, through a handle that no path can leave.

use crate::codes;
use crate::directory::{open_file, read_error};
use crate::limits::{Budget, Limits};
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::yaml::{self, Dialect};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, MetadataExt};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of an index or a configuration.
const MAX_DOCUMENT_BYTES: u64 = 8 << 20;

pub struct Folder {
    dir: Dir,
    root: PathBuf,
    /// Its name in messages.
    source: String,
}

/// A file of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    File {
        executable: bool,
    },
    /// A symbolic link and its target, which is not followed.
    Link(String),
}

// === impl Folder ===

impl Folder {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(root: &Path) -> Result<Self, Diagnostic> {
        let source = root.display().to_string();
        let dir = Dir::open_ambient_dir(root, ambient_authority()).map_err(|error| read_error(&source, &error))?;
        Ok(Self {
            dir,
            root: root.to_path_buf(),
            source,
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of a file in messages.
    pub fn document(&self, path: &str) -> String {
        format!("{}/{path}", self.source.trim_end_matches('/'))
    }

    /// Whether there is a file or directory, links followed.
    pub fn has(&self, path: &str) -> bool {
        self.dir.exists(path)
    }

    /// Reads a YAML file; `None` if it is missing.
    ///
    /// # Errors
    /// It cannot be read, or is not YAML.
    pub fn yaml(&self, path: &str) -> Result<Option<Tree>, Diagnostic> {
        let document = self.document(path);
        let mut bytes = Vec::new();
        let read = match self.open_file(path) {
            Ok(file) => file.take(MAX_DOCUMENT_BYTES).read_to_end(&mut bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error),
        };
        read.map_err(|error| read_error(&document, &error))?;
        let read = yaml::read_bytes_as(Dialect::YamlV2, &document, &bytes)?;
        Ok(Some(read.tree))
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// Those of the disk; it is not a regular file.
    pub fn open_file(&self, path: &str) -> io::Result<File> {
        open_file(&self.dir, path)
    }

    /// Whether the file, links followed, or a link itself, has an execute bit.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn is_executable(&self, path: &str) -> io::Result<bool> {
        Ok(self.dir.symlink_metadata(path)?.mode() & 0o111 != 0)
    }

    /// Names of the directories in a directory, links followed, sorted.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn directories(&self, path: &str) -> Result<Vec<String>, Diagnostic> {
        let fail = |error: io::Error| read_error(&self.document(path), &error);
        let mut names = Vec::new();
        if !self.has(path) {
            return Ok(names);
        }
        for entry in self.dir.read_dir(path).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
            let inner = format!("{path}/{name}");
            // `packages/*` of the bosh CLI skips no names with a dot either.
            if self.dir.metadata(inner).is_ok_and(|data| data.is_dir()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// All files and links below a directory, by path. Directories behind links are left out: the bosh CLI packs no
    /// regular files from there.
    ///
    /// # Errors
    /// A directory cannot be read, or there are too many files.
    pub fn files(&self, path: &str) -> Result<BTreeMap<String, Found>, Diagnostic> {
        let mut walk = Walk {
            document: self.document(path),
            budget: Budget::new(REPOSITORY_LIMITS),
            found: BTreeMap::new(),
        };
        match self.dir.open_dir(path) {
            Ok(dir) => walk.below(&dir, "", 0)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(read_error(&walk.document, &error)),
        }
        Ok(walk.found)
    }
}

/// Paths of sources: two million, as for archives, with 1 GiB of names.
const REPOSITORY_LIMITS: Limits = Limits {
    kept: 1 << 30,
    depth: 128,
    ..Limits::usual()
};

struct Walk {
    document: String,
    budget: Budget,
    found: BTreeMap<String, Found>,
}

// === impl Walk ===

impl Walk {
    fn below(&mut self, dir: &Dir, prefix: &str, depth: usize) -> Result<(), Diagnostic> {
        let document = format!("{}/{prefix}", self.document);
        let fail = |error: io::Error| read_error(&document, &error);
        if depth > self.budget.limits.depth {
            return Err(fail(io::Error::other("directories are nested too deeply")));
        }
        for entry in dir.entries().map_err(fail)? {
            let entry = entry.map_err(fail)?;
            self.budget.entry(&self.document)?;
            let name = entry.file_name();
            let name = name
                .to_str()
                .ok_or_else(|| fail(io::Error::other("a name is not UTF-8")))?;
            let path = format!("{prefix}{name}");
            self.budget.note(&path, &self.document)?;
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                let inner = entry.open_dir().map_err(fail)?;
                self.below(&inner, &format!("{path}/"), depth + 1)?;
            } else if kind.is_symlink() {
                let target = dir.read_link_contents(name).map_err(fail)?;
                self.found
                    .insert(path, Found::Link(target.to_string_lossy().into_owned()));
            } else if kind.is_file() {
                let executable = entry.metadata().map_err(fail)?.mode() & 0o111 != 0;
                self.found.insert(path, Found::File { executable });
            }
        }
        Ok(())
    }
}

/// A text, as the bosh CLI reads it into a string: numbers stay as they are written.
pub fn text(value: &Tree) -> Option<String> {
    match value {
        Tree::String(text) => Some(text.clone()),
        Tree::Number(number) => Some(number.text().into()),
        _ => None,
    }
}

pub fn texts(tree: &Tree, key: &str) -> Vec<String> {
    tree.items(key).iter().filter_map(text).collect()
}

/// The error for a file that cannot be read while a release is read.
pub fn source_error(document: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::RELEASE_SOURCE, format!("'{document}' can't be read: {error}")).in_document(document)
}
