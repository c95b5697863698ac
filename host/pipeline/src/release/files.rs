//! The files of a release in memory: a tree of paths, its symbolic links, and the names that users know for them.
//!
//! The readers of all formats of releases fill it; other code only reads files by path. A path has no empty, `.` or
//! `..` component and no leading `/`, so it cannot leave the tree, and links are followed only inside the tree.

use super::paths::{Naming, parent_length, push};
use super::weight;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

/// Limit on the links followed on the way to one file, as in Linux. More is a loop.
const MAX_LINKS: usize = 40;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File(File),
    /// A symbolic link and its target, relative to the directory that the link is in.
    Link(String),
    /// A directory, possibly empty.
    Directory,
    /// A file over the limit, which was not read; its size in bytes.
    Unread(u64),
    /// A device, a socket or a named pipe.
    Special,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    pub bytes: Vec<u8>,
    /// Has an execute bit.
    pub executable: bool,
}

/// Why the file at a path cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileError {
    /// There is nothing.
    Missing,
    /// The link at this path leads out of the release.
    Escapes(String),
    /// The links form a loop.
    Loop,
    Directory,
    /// It is over the limit; its size in bytes.
    TooLarge(u64),
    /// It is a device, a socket or a named pipe.
    Special,
    /// The files read before it use all the memory that a release may use.
    OverBudget,
}

#[derive(Clone, Debug)]
pub struct Files {
    entries: BTreeMap<String, Entry>,
    naming: Naming,
    /// Memory that data built from the files may still use, in bytes.
    room: Cell<u64>,
}

// === impl Files ===

impl Files {
    pub fn new(naming: Naming) -> Self {
        Self {
            entries: BTreeMap::new(),
            naming,
            room: Cell::new(weight::MAX_RELEASE_BYTES),
        }
    }

    /// Adds an entry. `path` must be `clean`.
    pub fn insert(&mut self, path: impl Into<String>, entry: Entry) {
        self.entries.insert(path.into(), entry);
    }

    /// Removes the entry and everything below it.
    pub fn remove(&mut self, path: &str) {
        self.entries.remove(path);
        self.remove_below(path);
    }

    /// Removes everything below this path.
    pub fn remove_below(&mut self, path: &str) {
        let below: Vec<String> = self.iter_below(path).map(|(path, _)| path.to_owned()).collect();
        for path in below {
            self.entries.remove(&path);
        }
    }

    pub fn naming(&self) -> &Naming {
        &self.naming
    }

    /// The name of the file at `path`, for diagnostics.
    pub fn document(&self, path: &str) -> String {
        self.naming.document(path)
    }

    /// The entry at exactly this path; links are not followed.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Every entry, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Every entry below this path, sorted by path. Links are not followed.
    pub fn iter_below<'f>(&'f self, path: &str) -> impl Iterator<Item = (&'f str, &'f Entry)> + use<'f> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        self.entries
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// Names in the directory at `path` (links followed), sorted.
    pub fn names(&self, path: &str) -> Vec<&str> {
        let Ok(path) = self.follow(path) else { return Vec::new() };
        let skip = if path.is_empty() { 0 } else { path.len() + 1 };
        let mut names: Vec<&str> = self
            .iter_below(&path)
            .filter_map(|(path, _)| path.get(skip..)?.split('/').next())
            .collect();
        // The order of paths is not the order of their first components: `a-b/c` sorts before `a/b`.
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether there is a directory at `path`, links followed.
    pub fn is_directory(&self, path: &str) -> bool {
        self.follow(path).is_ok_and(|path| self.holds_directory(&path))
    }

    /// Whether there is an entry at exactly this path.
    pub fn holds(&self, path: &str) -> bool {
        self.entries.contains_key(path) || self.holds_directory(path)
    }

    /// The file at `path`, links followed.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn file(&self, path: &str) -> Result<&File, FileError> {
        let path = self.follow(path)?;
        match self.entries.get(&path) {
            Some(Entry::File(file)) => Ok(file),
            Some(Entry::Unread(size)) => Err(FileError::TooLarge(*size)),
            Some(Entry::Special) => Err(FileError::Special),
            Some(Entry::Link(_)) => Err(FileError::Loop),
            Some(Entry::Directory) => Err(FileError::Directory),
            None if self.holds_directory(&path) => Err(FileError::Directory),
            None => Err(FileError::Missing),
        }
    }

    /// Like [`Self::file`], for a file from which data is built that stays in memory: `weight` computes the size of
    /// that data in bytes. The sizes of the files alone say little: with links, a small release can name one file many
    /// times.
    ///
    /// # Errors
    /// As [`Self::file`], and [`FileError::OverBudget`].
    pub fn counted(&self, path: &str, weight: impl Fn(&[u8]) -> u64) -> Result<&File, FileError> {
        let file = self.file(path)?;
        let left = self
            .room
            .get()
            .checked_sub(weight(&file.bytes))
            .ok_or(FileError::OverBudget)?;
        self.room.set(left);
        Ok(file)
    }

    /// The target of `path`, links followed. It may not exist. Unlike the paths of entries, `path` may hold `..`.
    ///
    /// # Errors
    /// Links that form a loop or lead out of the tree.
    pub fn follow(&self, path: &str) -> Result<String, FileError> {
        let mut here = String::new();
        let mut ahead: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut links = 0;
        let mut last_link = path.to_owned();
        while let Some(part) = ahead.pop_front() {
            match part.as_str() {
                "" | "." => continue,
                ".." if here.is_empty() => return Err(FileError::Escapes(last_link)),
                ".." => {
                    here.truncate(parent_length(&here));
                    continue;
                }
                _ => push(&mut here, &part),
            }
            let Some(Entry::Link(target)) = self.entries.get(&here) else {
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(FileError::Loop);
            }
            last_link.clone_from(&here);
            if target.starts_with('/') {
                return Err(FileError::Escapes(last_link));
            }
            here.truncate(parent_length(&here));
            for part in target.rsplit('/') {
                ahead.push_front(part.to_owned());
            }
        }
        Ok(here)
    }

    fn holds_directory(&self, path: &str) -> bool {
        matches!(self.entries.get(path), Some(Entry::Directory)) || self.iter_below(path).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, Entry)]) -> Files {
        let mut files = Files::new(Naming::Directory("r".into()));
        for (path, entry) in entries {
            files.insert(*path, entry.clone());
        }
        files
    }

    fn text(text: &str) -> Entry {
        Entry::File(File {
            bytes: text.into(),
            executable: false,
        })
    }

    fn link(target: &str) -> Entry {
        Entry::Link(target.into())
    }

    #[test]
    fn links_are_followed_inside_the_tree_only() {
        let files = tree(&[
            ("a/file", text("x")),
            ("a/up", link("../b/there")),
            ("b/there", link("./again")),
            ("b/again", link("../a/file")),
            ("dir", link("a")),
            ("out", link("../a/file")),
            ("root", link("/a/file")),
            ("deep/out", link("../../etc/passwd")),
            ("one", link("two")),
            ("two", link("one")),
            ("missing", link("nowhere")),
            ("big", Entry::Unread(7)),
            ("pipe", Entry::Special),
        ]);
        for path in ["a/file", "a/up", "dir/file", "dir/up", "a/../a/file", "./a//file"] {
            assert_eq!(files.file(path).unwrap().bytes, b"x", "{path}");
        }
        for (path, error) in [
            ("out", FileError::Escapes("out".into())),
            ("root", FileError::Escapes("root".into())),
            ("deep/out", FileError::Escapes("deep/out".into())),
            ("../a/file", FileError::Escapes("../a/file".into())),
            ("one", FileError::Loop),
            ("missing", FileError::Missing),
            ("a", FileError::Directory),
            ("dir", FileError::Directory),
            ("big", FileError::TooLarge(7)),
            ("pipe", FileError::Special),
        ] {
            assert_eq!(files.file(path), Err(error), "{path}");
        }
    }

    #[test]
    fn a_file_behind_several_links_counts_each_time() {
        let files = tree(&[("a", text("x")), ("b", link("a")), ("c", link("a"))]);
        let half = |_: &[u8]| weight::MAX_RELEASE_BYTES / 2;
        assert!(files.counted("a", half).is_ok() && files.counted("b", half).is_ok());
        assert_eq!(files.counted("c", half), Err(FileError::OverBudget));
        assert!(files.file("c").is_ok() && files.counted("c", |_| 0).is_ok());
    }

    #[test]
    fn a_bomb_of_links_ends() {
        let mut entries = vec![("l0".to_owned(), text("x"))];
        for n in 1..64 {
            let below = n - 1;
            entries.push((format!("l{n}"), link(&format!("l{below}/../l{below}/../l{below}"))));
        }
        let mut files = Files::new(Naming::Directory("r".into()));
        for (path, entry) in entries {
            files.insert(path, entry);
        }
        assert_eq!(files.file("l63"), Err(FileError::Loop));
    }

    #[test]
    fn names_are_those_of_one_directory() {
        let files = tree(&[
            ("a/b/c", text("")),
            ("a-b/c", text("")),
            ("a/d", Entry::Directory),
            ("z", link("a")),
        ]);
        assert_eq!(files.names(""), ["a", "a-b", "z"]);
        assert_eq!(files.names("a"), ["b", "d"]);
        assert_eq!(files.names("z"), ["b", "d"]);
        assert!(files.is_directory("z/d") && files.is_directory("a/b") && !files.is_directory("a/b/c"));
    }

    #[test]
    fn an_entry_is_removed_with_everything_below_it() {
        let mut files = tree(&[
            ("a", Entry::Directory),
            ("a/b", text("")),
            ("ab", text("")),
            ("a-", text("")),
        ]);
        files.remove("a");
        assert_eq!(files.names(""), ["a-", "ab"]);
    }
}
