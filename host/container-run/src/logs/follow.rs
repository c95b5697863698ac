//! One log file that grows, is emptied, or is replaced by another of its name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::open_shared;
use crate::output::logfile::{Rotation, copy_and_empty};

/// What is read of a file at once: the others have their turn, too.
const MAX_READ_BYTES: usize = 64 << 10;
/// A longer line is sent in pieces.
const MAX_LINE_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    file: File,
    inode: u64,
    offset: u64,
    /// A line without its end.
    line: Vec<u8>,
    /// Whether its end was reached.
    read: bool,
}

// === impl Followed ===

impl Followed {
    /// Opens a file at its beginning, or at its end.
    pub fn open(path: PathBuf, end: bool) -> io::Result<Self> {
        let (file, inode) = open(&path)?;
        let offset = if end { file.metadata()?.len() } else { 0 };
        Ok(Self {
            path,
            file,
            inode,
            offset,
            line: Vec::new(),
            read: false,
        })
    }

    /// Whether everything in it was sent.
    pub fn is_read(&self) -> bool {
        self.read && self.line.is_empty()
    }

    /// The next lines, each with this name before it; and whether there is more.
    pub fn read(&mut self, name: &str) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        // Emptied: it starts again.
        if self.file.metadata().is_ok_and(|metadata| metadata.len() < self.offset) {
            self.offset = 0;
        }
        let mut piece = vec![0; MAX_READ_BYTES];
        let seek = self.file.seek(SeekFrom::Start(self.offset));
        let count = seek.and_then(|_| self.file.read(&mut piece)).unwrap_or(0);
        self.offset += count as u64;
        self.cut(&piece[..count], name, &mut out);
        self.read = count < MAX_READ_BYTES;
        let replaced = count == 0 && self.reopen();
        if replaced && !self.line.is_empty() {
            self.end_line(name, &mut out);
        }
        (out, count == MAX_READ_BYTES || replaced)
    }

    /// Rotates the file like logrotate with `copytruncate`: the program continues to write to the same file.
    pub fn rotate(&mut self, rotation: Rotation) {
        let large = self.read && self.offset > rotation.size;
        // If this container has no permission, the container that writes must rotate.
        if large && copy_and_empty(&self.path, rotation.files).is_ok() {
            self.offset = 0;
        }
    }

    fn cut(&mut self, bytes: &[u8], name: &str, out: &mut Vec<u8>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            for piece in text.chunks(MAX_LINE_BYTES) {
                self.line.extend_from_slice(piece);
                if self.line.len() >= MAX_LINE_BYTES {
                    self.end_line(name, out);
                }
            }
            if whole {
                self.end_line(name, out);
            }
        }
    }

    fn end_line(&mut self, name: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.append(&mut self.line);
        out.push(b'\n');
    }

    /// Whether there is another file of this name now.
    fn reopen(&mut self) -> bool {
        let is_other = fs::symlink_metadata(&self.path).is_ok_and(|now| now.is_file() && now.ino() != self.inode);
        if !is_other {
            return false;
        }
        let Ok((file, inode)) = open(&self.path) else {
            return false;
        };
        self.file = file;
        self.inode = inode;
        self.offset = 0;
        true
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = open_shared(OpenOptions::new().read(true), path)?;
    let inode = file.metadata()?.ino();
    Ok((file, inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(file: &mut Followed) -> String {
        let mut text = Vec::new();
        loop {
            let (more, unfinished) = file.read("j/f.log");
            text.extend(more);
            if !unfinished {
                return String::from_utf8(text).unwrap();
            }
        }
    }

    #[test]
    fn a_file_is_followed_while_it_grows_is_emptied_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.log");
        fs::write(&path, "one\ntw").unwrap();
        let mut file = Followed::open(path.clone(), false).unwrap();
        assert_eq!(all(&mut file), "j/f.log: one\n");
        let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
        writer.write_all(b"o\n").unwrap();
        assert_eq!(all(&mut file), "j/f.log: two\n");
        writer.set_len(0).unwrap();
        writer.write_all(b"3\n").unwrap();
        assert_eq!(all(&mut file), "j/f.log: 3\n");
        writer.write_all(b"last of the old\n").unwrap();
        fs::rename(&path, directory.path().join("f.log.1")).unwrap();
        fs::write(&path, "first of the new\n").unwrap();
        assert_eq!(all(&mut file), "j/f.log: last of the old\n");
        assert_eq!(all(&mut file), "j/f.log: first of the new\n");
        assert_eq!(all(&mut file), "");
    }

    #[test]
    fn a_large_file_is_copied_and_emptied_and_a_long_line_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.log");
        fs::write(&path, "x".repeat(3 * MAX_LINE_BYTES)).unwrap();
        let mut file = Followed::open(path.clone(), false).unwrap();
        let text = all(&mut file);
        assert_eq!(text.matches("j/f.log: ").count(), text.lines().count());
        assert_eq!(text.matches('x').count(), 3 * MAX_LINE_BYTES);
        file.rotate(Rotation { size: 10, files: 2 });
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        assert_eq!(
            fs::metadata(directory.path().join("f.log.1")).unwrap().len(),
            3 * MAX_LINE_BYTES as u64
        );
    }

    #[test]
    fn after_a_restart_only_what_is_new_is_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.log");
        fs::write(&path, "old\n").unwrap();
        let mut file = Followed::open(path.clone(), true).unwrap();
        assert_eq!(all(&mut file), "");
    }
}
