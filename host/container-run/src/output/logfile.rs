//! A log file under BOSH's name: appended to, rotated, and never a reason for a process to stop.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::say::say;
use crate::files::open_shared;

/// How often a file that could not be opened is tried again.
const OPEN_RETRY_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// A file is at most this large, in bytes.
    pub size: u64,
    /// Older files that are retained: `.1` is the youngest.
    pub files: u32,
}

/// Whose file it is.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub mode: u32,
    /// Owner and group, where this program runs as root.
    pub owner: Option<(u32, u32)>,
}

#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    access: Access,
    rotation: Rotation,
    file: Option<File>,
    size: u64,
    tried: Instant,
    lost: u64,
}

// === impl LogFile ===

impl LogFile {
    /// Opens the file; if that fails, reports it once and tries again later.
    pub fn open(path: PathBuf, access: Access, rotation: Rotation) -> Self {
        let mut log = Self {
            path,
            access,
            rotation,
            file: None,
            size: 0,
            tried: Instant::now(),
            lost: 0,
        };
        if let Err(error) = log.reopen() {
            log.report_error(&error);
        }
        log
    }

    /// Appends. What the disk does not take is dropped and counted.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.file.is_none() && self.tried.elapsed() >= OPEN_RETRY_INTERVAL {
            // The same error, which was logged already.
            self.tried = Instant::now();
            drop(self.reopen());
        }
        if self.size > 0 && self.size.saturating_add(bytes.len() as u64) > self.rotation.size {
            self.rotate();
        }
        let Some(file) = &mut self.file else {
            self.lost += bytes.len() as u64;
            return;
        };
        let (written, error) = append(file, bytes);
        self.size += written as u64;
        let missing = (bytes.len() - written) as u64;
        match error {
            None if self.lost > 0 => self.report_recovery(),
            None => {}
            Some(error) if self.lost == 0 => {
                self.lost = missing;
                self.report_error(&error);
            }
            Some(_) => self.lost += missing,
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        let file = open(&self.path, self.access)?;
        self.size = file.metadata()?.len();
        self.file = Some(file);
        Ok(())
    }

    fn report_error(&self, error: &io::Error) {
        say(&format!(
            "{}: {error}: output is not stored there until this works again",
            self.path.display()
        ));
    }

    fn report_recovery(&mut self) {
        say(&format!(
            "{}: written again; {} bytes of output are missing there",
            self.path.display(),
            self.lost
        ));
        self.lost = 0;
    }

    /// `.log` becomes `.log.1`, and so on. A file that cannot be renamed is emptied, to keep the size limit.
    fn rotate(&mut self) {
        let shifted = shift(&self.path, self.rotation.files);
        // One that another program has renamed or removed is not at this path any more, and must not be emptied.
        if shifted.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            if let Some(file) = &self.file {
                drop(file.set_len(0));
            }
            self.size = 0;
            return;
        }
        // Nothing to rotate, should it not be opened now.
        (self.file, self.size) = (None, 0);
        self.tried = Instant::now();
        if let Err(error) = self.reopen() {
            self.report_error(&error);
        }
    }
}

/// A process must not make root write elsewhere.
fn open(path: &Path, access: Access) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = open_shared(options.append(true).create(true).mode(access.mode), path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if let Some((user, group)) = access.owner {
        fchown(&file, Some(user), Some(group))?;
        if metadata.permissions().mode() & 0o777 != access.mode {
            file.set_permissions(fs::Permissions::from_mode(access.mode))?;
        }
    }
    Ok(file)
}

fn append(file: &mut File, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Some(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}

fn shift(path: &Path, files: u32) -> io::Result<()> {
    if files == 0 {
        return fs::remove_file(path);
    }
    // Without it, older files stay as they are: `.1` may be the one that another program has just renamed.
    fs::symlink_metadata(path)?;
    make_room(path, files)?;
    fs::rename(path, numbered(path, 1))
}

/// Retains a copy of a file and empties it: for a file that another process has open.
pub fn copy_and_empty(path: &Path, files: u32) -> io::Result<()> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default())
        .open(path)?;
    if files > 0 {
        make_room(path, files)?;
        let copy = numbered(path, 1);
        let copied = File::create_new(&copy).and_then(|mut to| {
            // On a full disk, half a copy would use more space. One that another program has made here stays.
            io::copy(&mut &file, &mut to).inspect_err(|_| drop(fs::remove_file(&copy)))
        });
        // On a full disk, the file is emptied anyway, so that writing continues.
        if let Err(error) = copied
            && error.kind() != io::ErrorKind::StorageFull
        {
            return Err(error);
        }
    }
    file.set_len(0)
}

/// `.1` becomes `.2`, and so on; the oldest is replaced.
fn make_room(path: &Path, files: u32) -> io::Result<()> {
    for number in (1..files).rev() {
        match fs::rename(numbered(path, number), numbered(path, number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // With one file only, nothing was renamed.
    match fs::remove_file(numbered(path, 1)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_program_renamed_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let renamed = numbered(&path, 1);
        let access = Access {
            mode: 0o600,
            owner: None,
        };
        let mut log = LogFile::open(path.clone(), access, Rotation { size: 4, files: 1 });
        log.write(b"one\n");
        fs::rename(&path, &renamed).unwrap();
        log.write(b"two\n");
        assert_eq!(fs::read(renamed).unwrap(), b"one\n");
        assert_eq!(fs::read(path).unwrap(), b"two\n");
        drop(directory);
        log.write(b"three\n");
        assert_eq!((log.size, log.lost), (0, 6), "there is nothing to rotate again");
    }
}
