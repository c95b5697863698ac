//! Files in and out: bounded reading with errors that name the file, and writing that leaves all or nothing.

use anyhow::{Context, Result};
use boson_pipeline::Diagnostic;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Largest input file: far above any real manifest, far below what exhausts the machine.
pub const MAX_BYTES: u64 = 32 << 20;

/// The bytes of a file, or of standard input for `-`.
///
/// # Errors
/// A diagnostic that names the file: missing, a directory, not readable, too large.
pub fn read(path: &Path) -> Result<Vec<u8>, Box<Diagnostic>> {
    let name = name(path);
    let refuse = |code: &str, message: String, help: &str| {
        Err(Box::new(Diagnostic::error(code, message).in_document(&name).help(help)))
    };
    let mut bytes = Vec::new();
    let result = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        if path.is_dir() {
            return refuse(
                "input-is-directory",
                format!("'{name}' is a directory, not a file"),
                "give the file inside it",
            );
        }
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => refuse(
            "input-missing",
            format!("there is no file '{name}'"),
            "check the path; it is relative to the directory you are in",
        ),
        Err(error) => refuse(
            "input-unreadable",
            format!("'{name}' cannot be read: {error}"),
            "check its permissions",
        ),
        Ok(_) if bytes.len() as u64 > MAX_BYTES => refuse(
            "input-too-large",
            format!("'{name}' is larger than {} MiB", MAX_BYTES >> 20),
            "no manifest is that large; is it the right file?",
        ),
        Ok(_) => Ok(bytes),
    }
}

/// A path as BOSH's command line takes those of the manifest, of `--var-file` and of `--vars-store`: after `~` from the home directory.
pub fn expanded(path: &Path) -> PathBuf {
    let below = path.to_str().and_then(|path| path.strip_prefix('~'));
    match (below, std::env::var_os("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below.trim_start_matches('/')),
        _ => path.to_path_buf(),
    }
}

/// How a path is called in messages.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "(standard input)".to_string()
    } else {
        path.display().to_string()
    }
}

/// Writes a file under a temporary name beside it, syncs it and renames it: after a crash the old content is there, or the new one.
///
/// # Errors
/// The directory is missing or not writable, or the disk is full.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let scratch = scratch(path)?;
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&scratch)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&scratch, path));
    if written.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    written.with_context(|| format!("cannot write '{}'", path.display()))
}

/// Writes several files into a directory: all under temporary names first, then renamed, so that a full disk leaves no half of them.
///
/// # Errors
/// As [`write`].
pub fn write_all(directory: &Path, files: &[(String, String)]) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make the directory '{}'", directory.display()))?;
    // What a rename would refuse is found before the first one.
    if let Some((name, _)) = files.iter().find(|(name, _)| directory.join(name).is_dir()) {
        anyhow::bail!(
            "cannot write '{}': a directory is in its place",
            directory.join(name).display()
        );
    }
    let mut written: Vec<(PathBuf, PathBuf)> = Vec::new();
    let result = files.iter().try_for_each(|(name, text)| {
        let path = directory.join(name);
        let scratch = scratch(&path)?;
        written.push((scratch.clone(), path));
        write(&scratch, text.as_bytes(), 0o600)
    });
    let result = result.and_then(|()| {
        written.iter().try_for_each(|(scratch, path)| {
            fs::rename(scratch, path).with_context(|| format!("cannot write '{}'", path.display()))
        })
    });
    if result.is_err() {
        written.iter().for_each(|(scratch, _)| drop(fs::remove_file(scratch)));
    }
    result
}

fn scratch(path: &Path) -> Result<PathBuf> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = path
        .file_name()
        .with_context(|| format!("'{}' is no file name", path.display()))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Ok(path.with_file_name(format!(
        ".{}.{}-{number}.new",
        name.to_string_lossy(),
        std::process::id()
    )))
}
