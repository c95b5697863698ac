//! Loads machine code, and finds it beside the components of an installation.

use crate::component::sealed;
use crate::error::{Error, ErrorKind};
use boson_oci::{Digest, parse_hex_digest};
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Follows machine code of a component with answers to WASI; then comes the digest of that component, in bytes.
const ANSWERED: &[u8; 8] = b"answered";
const DIGEST_BYTES: usize = 32;

/// Machine code that is loaded.
pub(crate) struct Loaded {
    pub component: Component,
    /// Digest of the component that it was compiled from, if that is the given one with answers to WASI.
    pub answered: Option<Digest>,
}

/// Notes in machine code that it was compiled from this component, not from the given one.
pub fn note_answered(code: &mut Vec<u8>, component: &[u8]) {
    code.extend_from_slice(ANSWERED);
    code.extend_from_slice(&Sha256::digest(component));
}

/// What [`note_answered`] has noted at the end of the file.
fn answered_digest(file: &File) -> Option<Digest> {
    let mut end = [0; ANSWERED.len() + DIGEST_BYTES];
    let begin = file.metadata().ok()?.len().checked_sub(end.len() as u64)?;
    file.read_exact_at(&mut end, begin).ok()?;
    let digest = end.strip_prefix(ANSWERED)?;
    parse_hex_digest(&HEXLOWER.encode(digest))
}

/// Compiles a component to machine code.
///
/// # Errors
/// Not a valid component, or not a sealed one of one stage.
pub(crate) fn compile(engine: &Engine, name: &str, component: &[u8]) -> Result<Vec<u8>, Error> {
    // First, because compiling a component that is refused anyway can take minutes.
    sealed::check(name, component)?;
    let code = engine.precompile_component(component);
    code.map_err(|error| {
        let message = format!("is not a valid component: {error:#}");
        Error::new(ErrorKind::Refused, name, message)
    })
}

/// Machine code beside a built-in plugin: `<stage>.wasm` -> `<stage>.<engine>.cwasm`. The engine's hash is part of the
/// name, so that code of another version is ignored, not refused.
pub(crate) fn beside(engine: &Engine, component: &Path) -> PathBuf {
    component.with_extension(format!("{:016x}.cwasm", compiler_hash(engine, "")))
}

/// Loads machine code from the installation.
pub(crate) fn load(engine: &Engine, file: &Path) -> Option<Loaded> {
    if !file.exists() {
        return None;
    }
    #[allow(
        unsafe_code,
        reason = "the file is part of the installation, see the documentation of `cache`"
    )]
    // SAFETY: only users who can replace this binary can write the file.
    let component = unsafe { Component::deserialize_file(engine, file) };
    component
        .inspect_err(
            |error| tracing::warn!(path = %file.display(), %error, "machine code does not load; compiling again"),
        )
        .ok()
        .map(|component| Loaded {
            component,
            answered: None,
        })
}

/// Maps machine code of an open file: one of our store, or one that our compiler has just written. Takes the open file
/// and not its path, so that the checked file is the mapped one.
pub(super) fn map(engine: &Engine, file: &File) -> wasmtime::Result<Loaded> {
    let answered = answered_digest(file);
    map_component(engine, file).map(|component| Loaded { component, answered })
}

fn map_component(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
    #[allow(unsafe_code, reason = "only this user can have written the file, see `store`")]
    // SAFETY: the store checks owner and mode of what it opens; drafts are new files that only this process and its
    // compiler have open.
    let mapped = unsafe { Component::deserialize_file(engine, handle) };
    if mapped.is_ok() {
        return mapped;
    }
    // A file system that is mounted `noexec`: code of it can be copied, not mapped.
    let (mut file, mut code) = (file.try_clone()?, Vec::new());
    file.rewind()?;
    file.read_to_end(&mut code)?;
    #[allow(unsafe_code, reason = "the same file")]
    // SAFETY: as above.
    let copied = unsafe { Component::deserialize(engine, &code) };
    copied
}

/// Version and settings of the compiler, and the version of what it adds.
pub(super) fn compiler_hash(engine: &Engine, answers: &str) -> u64 {
    #[allow(
        deprecated,
        reason = "SipHasher::new() is stable over processes, which the default hasher does not promise"
    )]
    let mut hasher = std::hash::SipHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    answers.hash(&mut hasher);
    hasher.finish()
}

/// Writes a file of an installation atomically: another process may read it at the same time. It gets the time of the
/// component that it is about.
pub(crate) fn write_whole(file: &Path, bytes: &[u8], modified: SystemTime) -> std::io::Result<()> {
    let scratch = file.with_extension(format!("{}.new", scratch_name()));
    let mut out = fs::OpenOptions::new().write(true).create_new(true).open(&scratch)?;
    let written = out
        .write_all(bytes)
        .and_then(|()| out.set_modified(modified))
        .and_then(|()| out.sync_all())
        .and_then(|()| fs::rename(&scratch, file));
    written.inspect_err(|_| drop(fs::remove_file(&scratch)))
}

/// Different for each call in any process: containers of a pod share a directory, and all have the process id 1.
pub(super) fn scratch_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_with_answers_is_noted_behind_the_code() {
        let file = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            file
        };
        let mut code = b"code".to_vec();
        assert_eq!(answered_digest(&file(&code)), None);
        note_answered(&mut code, b"component");
        assert!(code.starts_with(b"code"));
        assert_eq!(answered_digest(&file(&code)), Some(boson_oci::digest(b"component")));
        assert_eq!(answered_digest(&file(&code[..code.len() - 1])), None);
    }
}
