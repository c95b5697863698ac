//! Reads input files, with size limits and errors that name the file. Output files are written by [`crate::storage`].

use crate::codes;
use anyhow::Context;
use boson_document::Code;
use boson_pipeline::Diagnostic;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Largest input file: far above any real manifest, far below what exhausts the machine.
pub const MAX_BYTES: u64 = 32 << 20;

/// The bytes of a file, or of standard input for `-`.
///
/// # Errors
/// A diagnostic that names the file: missing, a directory, not readable, too large.
pub fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let name = name(path);
    let mut bytes = Vec::new();
    let result = if path == Path::new("-") {
        io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else if path.is_dir() {
        return Err(directory(&name));
    } else {
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    match result {
        Err(error) => Err(unreadable(&name, &error)),
        Ok(_) if bytes.len() as u64 > MAX_BYTES => Err(too_large(&name)),
        Ok(_) => Ok(bytes),
    }
}

/// The bytes of small files.
///
/// # Errors
/// The first file that cannot be read.
pub fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Vec<u8>>> {
    let read = |file: &PathBuf| std::fs::read(file).with_context(|| format!("cannot read '{}'", file.display()));
    paths.iter().map(read).collect()
}

fn file_error(name: &str, code: &Code, message: String, help: &str) -> Diagnostic {
    Diagnostic::error(code, message).in_document(name).help(help)
}

/// The error for a directory in place of a file.
pub fn directory(name: &str) -> Diagnostic {
    let message = format!("'{name}' is a directory, not a file");
    file_error(name, codes::INPUT_IS_DIRECTORY, message, "use a file in it")
}

/// The error for a file with more than [`MAX_BYTES`].
pub fn too_large(name: &str) -> Diagnostic {
    let message = format!("'{name}' is larger than {} MiB", MAX_BYTES >> 20);
    file_error(
        name,
        codes::INPUT_TOO_LARGE,
        message,
        "check the path: no manifest is that large",
    )
}

/// The error for a file that cannot be read.
pub fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    if error.kind() == io::ErrorKind::NotFound {
        let message = format!("there is no file '{name}'");
        let help = "check the path; it is relative to the current directory";
        return file_error(name, codes::INPUT_MISSING, message, help);
    }
    let message = format!("'{name}' cannot be read: {error}");
    file_error(name, codes::INPUT_UNREADABLE, message, "check its permissions")
}

/// The error for files that cannot be written.
pub fn unwritable(error: &anyhow::Error) -> Diagnostic {
    Diagnostic::error(codes::OUTPUT_UNWRITABLE, format!("{error:#}"))
}

/// Expands `~` to the home directory, as BOSH's command line does for the manifest, `--var-file` and `--vars-store`.
pub fn expanded(path: &Path) -> PathBuf {
    let below = path.to_str().and_then(|path| path.strip_prefix('~'));
    match (below, std::env::var_os("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below.trim_start_matches('/')),
        _ => path.to_path_buf(),
    }
}

/// The name of a path in messages.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "(standard input)".to_string()
    } else {
        path.display().to_string()
    }
}

/// The content of a regular file of ours. It follows no link and does not block on a named pipe. `None` if there is no
/// such file.
///
/// # Errors
/// It is something else, it has more than `largest` bytes, or it cannot be read.
pub fn regular(path: &Path, largest: u64) -> io::Result<Option<Vec<u8>>> {
    let error = |what: String| Err(io::Error::other(what));
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return error("it is not a regular file".to_string());
    }
    let mut bytes = Vec::new();
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        error(format!("it is larger than {} MiB", largest >> 20))
    } else {
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_regular_files_within_the_bound_are_read() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(regular(&at("file"), 4).unwrap(), Some(b"text".to_vec()));
        assert_eq!(regular(&at("missing"), 4).unwrap(), None);
        assert!(regular(&at("file"), 3).is_err());
        for name in ["link", "pipe", ".", "/dev/zero"] {
            assert!(regular(&at(name), 4).is_err(), "{name}");
        }
    }
}
