//! Machine code: compiled once, cached by the digest of the component and the versions of the engine and of what the
//! compiler adds to components.
//!
//! Machine code is as powerful as the host itself, so it is read from two places only: a directory of our own (see
//! [`store`]), and the installation's plugin folder, which is trusted as the binary beside it is. Never from a path
//! that a user gives.

mod compiler;
mod machine_code;
mod store;

pub use compiler::{MAX_MACHINE_CODE_BYTES, Task};
pub use machine_code::note_answered;
pub(crate) use machine_code::{Loaded, beside, compile, load, write_whole};

use crate::error::{Error, ErrorKind};
use crate::limits::{self, Limits};
use boson_budget::{Budget, Class};
use boson_oci::Digest;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Store;
use wasmtime::Engine;

/// Bytes of machine code that a directory holds. CRuby, the largest component known, has 100 MB; with
/// [`MAX_MACHINE_CODE_BYTES`] of a draft beside it, this fits the operator's volume of 1 GiB.
const MAX_CACHE_BYTES: u64 = 512 << 20;

/// The part of machine code that the system cannot reclaim: measured for CRuby, under a hundredth.
const UNRECLAIMABLE_DIVISOR: u64 = 32;

/// Cache of machine code, and compiler of foreign components.
pub struct Cache {
    store: Option<Store>,
    /// The directory that cannot be used, and why.
    refused: Option<(PathBuf, String)>,
    compiler: Option<PathBuf>,
    /// Version of what the compiler adds to components.
    answers: &'static str,
    deadline: Duration,
}

/// A component to compile.
pub(crate) struct Uncompiled<'a> {
    /// Name for messages.
    pub name: &'a str,
    pub digest: &'a Digest,
    pub bytes: &'a [u8],
}

// === impl Cache ===

impl Cache {
    /// `directory`: created with mode 0700 where missing; one that others can write to is not used. `compiler`: a
    /// program that is called as `<compiler> compile-plugin`, reads a component from standard input, writes machine
    /// code to standard output and limits itself to [`Task::cpu_limit`]; without one, this process compiles.
    pub fn new(directory: Option<PathBuf>, compiler: Option<PathBuf>) -> Self {
        Self::bounded(directory, compiler, MAX_CACHE_BYTES, Task::Compile.deadline())
    }

    /// Creates a cache with a size limit of the directory in bytes, and a wall-clock limit of one compilation.
    pub fn bounded(directory: Option<PathBuf>, compiler: Option<PathBuf>, bound: u64, deadline: Duration) -> Self {
        let (store, refused) = match directory.map(|path| (Store::open(&path, bound), path)) {
            Some((Ok(store), _)) => (Some(store), None),
            Some((Err(error), path)) => (None, Some((path, error.to_string()))),
            None => (None, None),
        };
        Self {
            store,
            refused,
            compiler,
            answers: "",
            deadline,
        }
    }

    /// Uses only machine code that a compiler with this version of answers to WASI has made.
    #[must_use]
    pub fn with_answers(mut self, version: &'static str) -> Self {
        self.answers = version;
        self
    }

    /// No cache, compilation in this process: for tests and one-off use.
    pub fn none() -> Self {
        Self::new(None, None)
    }

    /// The program that handles foreign code and schemas in a process of its own.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.compiler.as_deref()
    }

    /// Bytes of memory that so much machine code takes for as long as it is loaded. The system can reclaim pages of a
    /// file on a disk; changed pages, and the engine's data about functions, remain.
    pub(crate) fn weight(&self, code: u64) -> u64 {
        if self.store.as_ref().is_some_and(Store::is_on_disk) {
            code / UNRECLAIMABLE_DIVISOR
        } else {
            code
        }
    }

    /// The component's machine code, if it is cached.
    pub(crate) fn cached(&self, engine: &Engine, digest: &Digest) -> Option<Loaded> {
        let file = self.store.as_ref()?.get(&self.file_name(engine, digest))?;
        let loaded = machine_code::map(engine, &file);
        loaded
            .inspect_err(|error| tracing::warn!(%digest, %error, "cached machine code does not load; compiling again"))
            .ok()
    }

    /// Compiles a component and passes it to `check`; caches its machine code if the check succeeds. Nothing of a
    /// failed component is stored.
    pub(crate) fn compile<T>(
        &self,
        engine: &Engine,
        limits: &Limits,
        budget: &Budget,
        component: &Uncompiled<'_>,
        check: impl FnOnce(Loaded) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Uncompiled { name, digest, bytes } = component;
        // Only now: an installation's plugins have their machine code beside them, and in a pod there may be no
        // writable directory.
        if let Some((path, error)) = &self.refused {
            tracing::warn!(path = %path.display(), %error, "the cache directory cannot be used; {name} is compiled every time");
        }
        let failed =
            |error: std::io::Error| Error::new(ErrorKind::Refused, name, format!("cannot be compiled: {error}"));
        let draft = self.store.as_ref().and_then(|store| {
            let draft = store.draft();
            draft
                .inspect_err(|error| tracing::warn!(%error, "compiled code is not cached"))
                .ok()
        });
        let file = match &draft {
            Some(draft) => draft.file().try_clone().map_err(failed)?,
            None => {
                File::from(memfd_create("machine-code", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?)
            }
        };
        match &self.compiler {
            Some(program) => {
                let memory = memory_of_compiling(bytes).min(budget.holder_limit(Class::Compiling));
                let share = budget.hold(Class::Compiling, &"".into(), memory);
                let compiled = compiler::run(Task::Compile, program, self.deadline, bytes, &file);
                // Before the check, which takes memory for a call.
                drop(share);
                compiled.map_err(|message| Error::of_compiler(name, &message))?;
            }
            None => (&file).write_all(&compile(engine, name, bytes)?).map_err(failed)?,
        }
        let loaded = machine_code::map(engine, &file).map_err(|error| engine_error(limits, name, &error))?;
        let checked = check(loaded)?;
        if let Some(draft) = draft
            && let Err(error) = draft.keep(&self.file_name(engine, digest))
        {
            tracing::warn!(%error, "compiled code is not cached");
        }
        Ok(checked)
    }

    /// A component that was kept under this key.
    pub fn component(&self, key: &Digest) -> Option<Vec<u8>> {
        let mut component = Vec::new();
        let mut file = self.store.as_ref()?.get(&component_name(key))?;
        file.read_to_end(&mut component).ok()?;
        Some(component)
    }

    /// Keeps a component that was made of something else. `key`: of all that determines its bytes.
    pub fn keep_component(&self, key: &Digest, component: &[u8]) {
        let Some(store) = &self.store else { return };
        let kept = store.draft().and_then(|draft| {
            draft.file().write_all(component)?;
            draft.keep(&component_name(key))
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "a component is not cached");
        }
    }

    /// Removes the cached code of a component.
    pub(crate) fn forget(&self, engine: &Engine, digest: &Digest) {
        if let Some(store) = &self.store {
            store.remove(&self.file_name(engine, digest));
        }
    }

    fn file_name(&self, engine: &Engine, digest: &Digest) -> String {
        let version = machine_code::compiler_hash(engine, self.answers);
        format!("{}-{version:016x}.cwasm", digest.digest())
    }
}

/// Bytes of memory that compiling a component takes, roughly: CRuby's 46 MB take 1.5 GiB, SpiderMonkey's 12 MB 0.6.
fn memory_of_compiling(component: &[u8]) -> u64 {
    (64 << 20) + 40 * component.len() as u64
}

/// Machine code that the engine refuses: compiled without fault, so it is about the engine's limits.
fn engine_error(limits: &Limits, name: &str, error: &wasmtime::Error) -> Error {
    let exceeded = limits::exceeded_limit(limits, error);
    let message = exceeded.unwrap_or_else(|| format!("does not fit the sandbox: {error:#}"));
    Error::new(ErrorKind::Refused, name, message)
}

fn component_name(key: &Digest) -> String {
    format!("{}.wasm", key.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_with_other_answers_has_another_name() {
        let (engine, digest) = (Engine::default(), boson_oci::digest(b"component"));
        let name = |answers| Cache::none().with_answers(answers).file_name(&engine, &digest);
        assert_eq!(name("1"), name("1"));
        assert_ne!(name("1"), name("2"));
    }
}
