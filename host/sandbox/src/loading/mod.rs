//! Loads components: from the installation, from a file, or from bytes.

mod describe;
mod fit;
pub(crate) mod interfaces;
pub mod settings;

use crate::cache::{self, Loaded, Uncompiled};
use crate::call::wrapping;
use crate::component::{self, Kind};
use crate::engine::Sandbox;
use crate::error::{CANNOT_BE_READ, Error, ErrorKind};
use crate::limits::call_state::CallState;
use crate::plugin::{Plugin, Source};
use crate::telemetry::console;
use boson_oci::{Digest, parse_hex_digest};
use boson_pipeline::Stage;
use boson_pipeline::packed::MAX_COMPONENT_BYTES;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

// === impl Sandbox ===

impl Sandbox {
    /// Loads a plugin of the installation. Its machine code is beside it if the build precompiled it.
    ///
    /// # Errors
    /// As [`Sandbox::load`].
    pub fn load_built_in(&self, stage: Stage, path: &Path) -> Result<Plugin, Error> {
        let source = Source::BuiltIn(path.to_path_buf());
        let code = cache::beside(&self.engine, path);
        let digest = read_digest(path);
        if is_newer(&code, path)
            && let Some(loaded) = cache::load(&self.engine, &code)
            // Otherwise the code is replaced at this moment, and the digest may be of the earlier one.
            && read_digest(path) == digest
        {
            let digest = digest.map_or_else(|| read(path).map(|bytes| boson_oci::digest(&bytes)), Ok)?;
            return self.prepare(stage.name().to_string(), loaded, digest, source);
        }
        self.load(stage.name(), &read(path)?, source)
    }

    /// Loads a component from a file that the user named.
    ///
    /// # Errors
    /// As [`Sandbox::load`], and a file that cannot be read.
    pub fn load_file(&self, path: &Path) -> Result<Plugin, Error> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        self.load(&name, &read(path)?, Source::File(path.to_path_buf()))
    }

    /// Loads a component: checked, then compiled or taken from the cache.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`], with the reason.
    pub fn load(&self, name: &str, bytes: &[u8], source: Source) -> Result<Plugin, Error> {
        let digest = boson_oci::digest(bytes);
        let is_foreign = !matches!(source, Source::BuiltIn(_));
        self.load_as(name, bytes, &digest, source).map_err(|error| Error {
            digest: is_foreign.then_some(digest),
            ..error
        })
    }

    fn load_as(&self, name: &str, bytes: &[u8], digest: &Digest, source: Source) -> Result<Plugin, Error> {
        let refused = |message: &str| Err(Error::new(ErrorKind::Refused, name, message));
        if Engine::detect_precompiled(bytes).is_some() {
            return refused("is machine code; use the WebAssembly component that it was compiled from");
        }
        match bytes.get(..8) {
            Some([0, b'a', b's', b'm', 0x0d, 0, 1, 0]) => {}
            Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => {
                return refused("is a core module; `host plugin component` makes a component of it");
            }
            _ => return refused("is not a WebAssembly component"),
        }
        let prepare = |loaded| self.prepare(name.to_string(), loaded, digest.clone(), source);
        if let Some(loaded) = self.cache.cached(&self.engine, digest) {
            return prepare(loaded);
        }
        let new = Uncompiled { name, digest, bytes };
        let started = Instant::now();
        self.cache
            .compile(&self.engine, &self.limits, &self.budget, &new, |loaded| {
                let mut plugin = prepare(loaded)?;
                plugin.compiled = Some(started.elapsed());
                self.try_out(&plugin)?;
                Ok(plugin)
            })
    }

    /// Bytes of memory that a plugin's machine code takes for as long as any copy of the plugin is there.
    pub fn code_weight(&self, plugin: &Plugin) -> u64 {
        self.cache.weight(plugin.code_bytes())
    }

    /// Removes the machine code of a component from the cache: it was refused, or is no longer used.
    pub fn forget(&self, digest: &Digest) {
        self.cache.forget(&self.engine, digest);
    }

    /// Writes machine code beside a built-in plugin, so that loading it takes a millisecond. True if there was none
    /// yet.
    ///
    /// # Errors
    /// A component that is refused, or a folder that cannot be written to.
    pub fn precompile(&self, path: &Path) -> Result<bool, Error> {
        let name = path.display().to_string();
        let io =
            |error: std::io::Error| Error::new(ErrorKind::Refused, &name, format!("cannot be precompiled: {error}"));
        // Before it is read: the code of one that is replaced meanwhile must be older than the new one.
        let modified = modified(path);
        let bytes = read(path)?;
        let (code_file, digest_file) = (cache::beside(&self.engine, path), path.with_extension("sha256"));
        let digest = boson_pipeline::digest::sha256(&bytes);
        if is_newer(&code_file, path) && std::fs::read_to_string(&digest_file).is_ok_and(|kept| kept.trim() == digest) {
            return Ok(false);
        }
        let code = self.compile(&name, &bytes)?;
        let modified = modified.map_err(io)?;
        // First: code without a digest is read with that of the component.
        remove(&digest_file).map_err(io)?;
        remove_stale(path).map_err(io)?;
        cache::write_whole(&code_file, &code, modified).map_err(io)?;
        cache::write_whole(&digest_file, digest.as_bytes(), modified).map_err(io)?;
        Ok(true)
    }

    fn prepare(&self, name: String, loaded: Loaded, digest: Digest, source: Source) -> Result<Plugin, Error> {
        let Loaded { component, answered } = loaded;
        let kind = component::check(&self.engine, &name, &component)?;
        let pre = link(&self.engine, kind, &component).map_err(|error| {
            let message = format!("does not fit the sandbox: {error:#}");
            Error::new(ErrorKind::Refused, &name, message)
        })?;
        Ok(Plugin {
            stage: kind.stage,
            wraps: kind.wraps,
            groups: None,
            digest,
            answered,
            source,
            settings: "{}".to_string(),
            settings_document: None,
            pre,
            name,
            below: None,
            description: Arc::default(),
            installer: None,
            names: Vec::new(),
            compiled: None,
        })
    }
}

/// A component with its imports.
fn link(engine: &Engine, kind: Kind, component: &Component) -> wasmtime::Result<InstancePre<CallState>> {
    let mut linker = Linker::new(engine);
    if kind.wraps {
        wrapping::connect(&mut linker, kind.stage)?;
    }
    if kind.prints {
        console::connect(&mut linker)?;
    }
    linker.instantiate_pre(component)
}

/// The content of a component's file, which may be endless, such as a device.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let refused = |what: String| Error::new(ErrorKind::Refused, &path.display().to_string(), what);
    let mut bytes = Vec::new();
    let bound = u64::try_from(MAX_COMPONENT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)
        .and_then(|file| file.take(bound).read_to_end(&mut bytes))
        .map_err(|error| refused(format!("{CANNOT_BE_READ}{error}")))?;
    if bytes.len() > MAX_COMPONENT_BYTES {
        Err(refused(format!("has more than {} MiB", MAX_COMPONENT_BYTES >> 20)))
    } else {
        Ok(bytes)
    }
}

/// Code that is older than its component is of an earlier one.
fn is_newer(code: &Path, component: &Path) -> bool {
    modified(code).is_ok_and(|code| modified(component).is_ok_and(|component| code >= component))
}

fn modified(path: &Path) -> std::io::Result<SystemTime> {
    std::fs::metadata(path)?.modified()
}

fn read_digest(path: &Path) -> Option<Digest> {
    let text = std::fs::read_to_string(path.with_extension("sha256")).ok()?;
    parse_hex_digest(text.trim())
}

/// Code of other engine versions or older builds of the plugin.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    let (Some(folder), Some(stem)) = (path.parent(), path.file_stem().and_then(|stem| stem.to_str())) else {
        return Ok(());
    };
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(&format!("{stem}.")) && name.ends_with(".cwasm") {
            remove(&file)?;
        }
    }
    Ok(())
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        // Another process has just removed it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Limits};
    use std::time::Duration;

    fn component(extra: &str) -> Vec<u8> {
        let text = format!(
            r#"(module
                {extra}
                (memory (export "memory") 2)
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
                (func (export "boson:types/about@1.0.0#describe") (result i32) unreachable)
                (func (export "boson:ops/operations@1.0.0#apply") (param i32) (result i32) unreachable)
                (func (export "boson:ops/operations@1.0.0#find") (param i32) (result i32) unreachable))"#
        );
        boson_componentize::component(&wat::parse_str(text).unwrap()).unwrap()
    }

    #[test]
    fn code_of_a_component_that_is_replaced_while_it_is_compiled_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ops.wasm");
        let write = |bytes: &[u8], seconds| {
            std::fs::write(&path, bytes).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
                .unwrap();
        };
        let sandbox = Sandbox::new(Limits::default(), Cache::none()).unwrap();
        write(&component(""), 1);
        assert!(sandbox.precompile(&path).unwrap());
        assert!(!sandbox.precompile(&path).unwrap());
        // Before the code was written.
        let replaced = component("(global i32 (i32.const 0))");
        assert_ne!(replaced, component(""));
        write(&replaced, 2);
        let plugin = sandbox.load_built_in(Stage::Ops, &path).unwrap();
        assert_eq!(plugin.digest, boson_oci::digest(&replaced));
    }
}
