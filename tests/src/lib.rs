//! The harness: runs the real `host` binary on folders, and compares its output with the expected one.

pub mod cf_deployment;
pub mod cluster;
pub mod compiled;
pub mod component;
pub mod corpus;
pub mod default_builds;
pub mod golden;
pub mod page;
pub mod patcher;
pub mod ports;
pub mod random;
pub mod registry;
mod runtime;
pub mod signing;
pub mod sigstore;
pub mod sources;
pub mod synthetic;
pub mod templates;
pub mod up;
pub mod wait;
pub mod web;
pub mod wit_changes;
pub mod wit_reference;
pub mod wrapper;

pub use wait::{
    QUIET_DURATION, WAIT_TIMEOUT, is_quiet, quiet, try_wait_for_value, try_wait_until, wait_for_value, wait_until,
    wait_until_ok,
};

use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Result of a run of `host`.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; -1 for a signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn root() -> PathBuf {
    // Read at run time: checkouts that share a target directory also share this library, which was compiled in one of
    // them.
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
/// It was not built (`cargo test --workspace` and `make build` build it).
pub fn binary() -> Result<PathBuf> {
    let running = std::env::current_exe().context("no path of the running test")?;
    // Beside this program, or beside the directory of a test.
    let mut places = running.ancestors().skip(1).take(2).map(|place| place.join("host"));
    places
        .find(|place| place.is_file())
        .with_context(|| format!("`host` is missing near {}: run `make build` first", running.display()))
}

/// The component of a built-in plugin: `ops.wasm`.
///
/// # Errors
/// It was not built.
pub fn built_in(file: &str) -> Result<PathBuf> {
    let binary = binary()?;
    let places = binary.ancestors().skip(1).take(2);
    let mut plugins = places.map(|directory| directory.join("plugins").join(file));
    plugins
        .find(|path| path.is_file())
        .with_context(|| format!("plugins/{file} is missing: run `make build` first"))
}

/// A prepared run of `host`.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    arguments: Vec<OsString>,
    /// Its standard input.
    pub input: Vec<u8>,
    /// Additional environment variables.
    pub environment: Vec<(OsString, OsString)>,
}

// === impl Run ===

impl Run {
    /// Runs in `directory`, with an empty standard input.
    pub fn new<A: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(|one| one.as_ref().to_os_string()).collect();
        Self {
            directory: directory.to_path_buf(),
            arguments,
            input: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Runs to the end, without color, and without the variables of `host` from outside.
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
        // On its own thread: a child that answers before it has read everything would block both.
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

/// Runs `host` in `directory`, with an empty standard input.
///
/// # Errors
/// As [`Run::start`].
pub fn host<A: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = A>) -> Result<Ran> {
    Run::new(directory, arguments).start()
}

/// Runs `host` with this standard input.
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

/// Compares `text` with the file, or rewrites the file if `BLESS` is set.
///
/// # Errors
/// They differ, or the file cannot be read or written.
pub fn compare(file: &Path, text: &str) -> Result<()> {
    if std::env::var_os("BLESS").is_some() {
        return Ok(fs::write(file, text)?);
    }
    let wanted = fs::read_to_string(file).with_context(|| format!("{} (BLESS=1 writes it)", file.display()))?;
    if wanted == text {
        return Ok(());
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
    bail!(
        "{}:{line} (BLESS=1 rewrites it)\n  wanted: {want}\n  got:    {got}",
        file.display()
    )
}

/// Writes a script that will be executed, by another process: a program that another thread of this one starts at this
/// moment holds the files that are open here until it is executed, and a file that is open for writing cannot be
/// executed.
///
/// # Errors
/// It cannot be written.
pub fn write_script(file: &Path, text: &str) -> Result<()> {
    let status = Command::new("sh")
        .args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(file)
        .arg(text)
        .status()?;
    ensure!(status.success(), "{} cannot be written", file.display());
    Ok(())
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

/// Copies a folder with all its content.
///
/// # Errors
/// Something in it cannot be read or written.
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
