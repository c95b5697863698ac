//! Machine code: compiled once, kept by digest of the component and of the engine.
//!
//! Machine code is as powerful as the host itself, so it is read from two places only: a directory of our own (mode 0700, file names that
//! nobody but us writes), and the installation's plugin folder, which is trusted as the binary beside it is. Never from a user.

use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::plugin::Digest;
use boson_budget::Class;
use std::fs;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wasmtime::component::Component;

/// How long a foreign component may take to compile by the clock: a fence for a child that sleeps. The rule is the child's own limit on processor time,
/// which a busy machine does not shorten.
const COMPILE_DEADLINE: Duration = Duration::from_secs(15 * 60);
/// Signal of a process whose processor time is used up.
const SIGXCPU: i32 = 24;

/// Where machine code is kept, and how foreign components are compiled.
pub struct Cache {
    directory: Option<PathBuf>,
    /// The directory that we were given and cannot use, and why.
    refused: Option<(PathBuf, String)>,
    compiler: Option<PathBuf>,
}

// === impl Cache ===

impl Cache {
    /// `directory`: made with mode 0700 where missing; one that others may write to is not used. `compiler`: a program that is called as `<compiler> compile-plugin <component> <output>`
    /// and bounds itself; without one, compilation happens in this process.
    pub fn new(directory: Option<PathBuf>, compiler: Option<PathBuf>) -> Self {
        let (directory, refused) = match directory.map(|path| (private(&path), path)) {
            Some((Ok(()), path)) => (Some(path), None),
            Some((Err(error), path)) => (None, Some((path, error.to_string()))),
            None => (None, None),
        };
        Self {
            directory,
            refused,
            compiler,
        }
    }

    /// No cache, compilation in this process: for tests and one-off use.
    pub fn none() -> Self {
        Self {
            directory: None,
            refused: None,
            compiler: None,
        }
    }

    /// The component's machine code, from the cache or freshly compiled.
    pub(crate) fn component(
        &self,
        sandbox: &Sandbox,
        name: &str,
        digest: &Digest,
        bytes: &[u8],
    ) -> Result<Component, Failure> {
        let file = self
            .directory
            .as_ref()
            .map(|directory| directory.join(file_name(sandbox, digest)));
        if let Some(component) = file.as_deref().and_then(|file| load(sandbox, file)) {
            return Ok(component);
        }
        // Not before: an installation's plugins have their machine code beside them, and in a pod there may be no directory to write to.
        if let Some((path, error)) = &self.refused {
            tracing::warn!(path = %path.display(), %error, "{name} is compiled anew each time: the cache directory cannot be used");
        }
        let code = self.compile(sandbox, name, bytes)?;
        if let Some(file) = &file
            && let Err(error) = write_whole(file, &code)
        {
            tracing::warn!(path = %file.display(), %error, "compiled code was not kept");
        }
        trusted(sandbox, &code)
            .map_err(|error| Failure::new(FailureKind::Refused, name, format!("does not load: {error:#}")))
    }

    /// Removes what is kept of a component.
    pub(crate) fn forget(&self, sandbox: &Sandbox, digest: &Digest) {
        let file = self
            .directory
            .as_ref()
            .map(|directory| directory.join(file_name(sandbox, digest)));
        if let Some(file) = file
            && let Err(error) = fs::remove_file(&file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %file.display(), %error, "compiled code was not removed");
        }
    }

    fn compile(&self, sandbox: &Sandbox, name: &str, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(compiler) = &self.compiler else {
            return sandbox.compile(name, bytes);
        };
        // Also where nothing is kept: foreign code is never compiled in this process. The directory is made new, for us alone, or not at all.
        let directory = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = directory.join(format!("compile-{}", scratch_name()));
        let made = fs::DirBuilder::new().mode(0o700).create(&scratch);
        made.map_err(|error| Failure::new(FailureKind::Refused, name, format!("cannot be compiled: {error}")))?;
        let budget = sandbox.budget();
        let memory = memory_of_compiling(bytes).min(budget.most(Class::Compiling));
        let share = budget.hold(Class::Compiling, &"".into(), memory);
        let result = compile_apart(compiler, &scratch, name, bytes);
        drop(share);
        let _ = fs::remove_dir_all(&scratch);
        result
    }
}

/// Bytes of memory that compiling a component takes, roughly: CRuby's 43 MB take 1.5 GiB, SpiderMonkey's 12 MB 0.6.
fn memory_of_compiling(component: &[u8]) -> u64 {
    (64 << 20) + 40 * component.len() as u64
}

/// Machine code beside a built-in plugin: `<stage>.wasm` -> `<stage>.<engine>.cwasm`. The engine's hash is part of the name, so that code of
/// another version is passed over rather than refused.
pub(crate) fn beside(sandbox: &Sandbox, component: &Path) -> PathBuf {
    component.with_extension(format!("{:016x}.cwasm", engine_hash(sandbox)))
}

/// Loads machine code from a file that only we or the installation could have written.
pub(crate) fn load(sandbox: &Sandbox, file: &Path) -> Option<Component> {
    if !file.exists() {
        return None;
    }
    #[allow(
        unsafe_code,
        reason = "the file lies in our own 0700 directory or in the installation, see the module's doc"
    )]
    // SAFETY: nobody who could not replace this binary itself could have written the file.
    let component = unsafe { Component::deserialize_file(&sandbox.engine, file) };
    component
        .inspect_err(
            |error| tracing::warn!(path = %file.display(), %error, "machine code does not load; compiling anew"),
        )
        .ok()
}

fn trusted(sandbox: &Sandbox, code: &[u8]) -> wasmtime::Result<Component> {
    #[allow(
        unsafe_code,
        reason = "the bytes were compiled just now, by us or by our own child process"
    )]
    // SAFETY: as above.
    unsafe {
        Component::deserialize(&sandbox.engine, code)
    }
}

fn compile_apart(compiler: &Path, scratch: &Path, name: &str, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let refused = |message: String| Failure::new(FailureKind::Refused, name, message);
    let io = |error: std::io::Error| refused(format!("cannot be compiled: {error}"));
    let (input, output) = (scratch.join("in.wasm"), scratch.join("out.cwasm"));
    fs::write(&input, bytes).map_err(io)?;
    let mut child = Command::new(compiler)
        .arg("compile-plugin")
        .args([&input, &output])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        if started.elapsed() > COMPILE_DEADLINE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(refused(format!(
                "takes more than {} s to compile",
                COMPILE_DEADLINE.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if status.success() {
        return fs::read(&output).map_err(io);
    }
    if status.signal() == Some(SIGXCPU) {
        return Err(refused("takes too much processor time to compile".to_string()));
    }
    let said = child
        .wait_with_output()
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
        .unwrap_or_default();
    let said = said
        .lines()
        .last()
        .unwrap_or("the compiler ran out of memory")
        .to_string();
    Err(refused(format!("cannot be compiled: {said}")))
}

fn file_name(sandbox: &Sandbox, digest: &Digest) -> String {
    format!("{}-{:016x}.cwasm", digest.hex(), engine_hash(sandbox))
}

/// Version and settings of the compiler.
fn engine_hash(sandbox: &Sandbox) -> u64 {
    #[allow(
        deprecated,
        reason = "SipHasher::new() is stable over processes, which the default hasher does not promise"
    )]
    let mut hasher = std::hash::SipHasher::new();
    sandbox.engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

fn private(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().mode(0o700).recursive(true).create(path)?;
    let metadata = fs::symlink_metadata(path)?;
    let ours = metadata.uid() == fs::metadata("/proc/self")?.uid();
    if !metadata.is_dir() || !ours {
        return Err(std::io::Error::other("it is not a directory of this user"));
    }
    if metadata.permissions().mode() & 0o022 != 0 {
        return Err(std::io::Error::other("others may write to it"));
    }
    Ok(())
}

/// A file that is there whole or not at all: another process may look for it at the same time.
pub(crate) fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let scratch = file.with_extension(format!("{}.new", scratch_name()));
    let mut out = fs::OpenOptions::new().write(true).create_new(true).open(&scratch)?;
    let written = out
        .write_all(bytes)
        .and_then(|()| out.sync_all())
        .and_then(|()| fs::rename(&scratch, file));
    written.inspect_err(|_| drop(fs::remove_file(&scratch)))
}

/// Another one at each call, in whatever process: containers of a pod share a directory, and the number of each process in them is 1.
fn scratch_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
