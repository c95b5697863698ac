//! The harness: runs the real `host` binary on folders, and compares what it says with what it should.

pub mod cluster;
pub mod compiled;
pub mod component;
pub mod corpus;
pub mod registry;
pub mod synthetic;
pub mod templates;

use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run of `host` gave.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; -1 for a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    // As cargo says now: checkouts that share a target directory share this library as well, which one of them compiled.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    package
        .as_deref()
        .unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// The `host` binary that was built together with this test.
///
/// # Errors
/// It was not built: `cargo test --workspace` and `make build` do.
pub fn binary() -> Result<PathBuf> {
    let test = std::env::current_exe().context("no path of the running test")?;
    let binary = test
        .ancestors()
        .nth(2)
        .context("the test lies in no target directory")?
        .join("host");
    if binary.is_file() {
        Ok(binary)
    } else {
        bail!("{} is missing: run `make build` first", binary.display())
    }
}

/// A run of `host` that is about to be.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    arguments: Vec<OsString>,
    /// What it finds on standard input.
    pub input: Vec<u8>,
    /// More environment variables.
    pub environment: Vec<(OsString, OsString)>,
}

// === impl Run ===

impl Run {
    /// In `directory`, with nothing on standard input.
    pub fn new<A: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(|one| one.as_ref().to_os_string()).collect();
        Self {
            directory: directory.to_path_buf(),
            arguments,
            input: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Runs to the end. No color, and none of the variables of `host` that are set outside.
    ///
    /// # Errors
    /// The binary is missing or cannot be started.
    pub fn start(self) -> Result<Ran> {
        let mut child = Command::new(binary()?)
            .args(self.arguments)
            .current_dir(self.directory)
            .env_remove("BOSON_PLUGINS_DIR")
            .env_remove("BOSON_OPERATOR_IMAGE")
            .env_remove("BOSON_PLUGIN")
            .env_remove("BOSON_PLUGIN_SETTINGS")
            .env_remove("BOSON_LOG")
            .env_remove("BOSON_LOG_FORMAT")
            .env("NO_COLOR", "1")
            .envs(self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        // On a thread of its own: a child that answers before it has read everything would block both of us.
        let feeder = std::thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, &self.input)));
        let Output { status, stdout, stderr } = child.wait_with_output()?;
        let _ = feeder.join();
        Ok(Ran {
            code: status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }
}

/// Runs `host` in `directory`, with nothing on standard input.
///
/// # Errors
/// As [`Run::start`].
pub fn host<A: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = A>) -> Result<Ran> {
    Run::new(directory, arguments).start()
}

/// The same, with this on standard input.
///
/// # Errors
/// As [`Run::start`].
pub fn host_with_input<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> Result<Ran> {
    let mut run = Run::new(directory, arguments);
    run.input = input.to_vec();
    run.start()
}

/// Compares `text` with the file, or rewrites the file where `BLESS` is set. `None`: as it should be; else what differs.
///
/// # Errors
/// The file cannot be read or written.
pub fn compare(file: &Path, text: &str) -> Result<Option<String>> {
    if std::env::var_os("BLESS").is_some() {
        fs::write(file, text)?;
        return Ok(None);
    }
    let wanted = fs::read_to_string(file).with_context(|| format!("{} (BLESS=1 writes it)", file.display()))?;
    if wanted == text {
        return Ok(None);
    }
    let (line, (want, got)) = (1..)
        .zip(
            wanted
                .lines()
                .chain(std::iter::repeat("(end)"))
                .zip(text.lines().chain(std::iter::repeat("(end)"))),
        )
        .find(|(_, (want, got))| want != got || *want == "(end)")
        .unwrap_or((0, ("", "")));
    Ok(Some(format!(
        "{}:{line}\n  wanted: {want}\n  got:    {got}",
        file.display()
    )))
}

/// The folders directly below `directory`, sorted.
///
/// # Errors
/// The directory cannot be read.
pub fn folders(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Copies a folder with all that is in it.
///
/// # Errors
/// Something of it cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::copy(&path, to)?;
        }
    }
    Ok(())
}
