//! A plugin: a checked component, ready to be instantiated, and its description.

use crate::account::Account;
use crate::bindings::exports::boson;
use crate::cache;
use crate::call::CallState;
use crate::component;
use crate::engine::Sandbox;
use crate::error::{Failure, FailureKind};
use crate::reply::REQUIRED;
use boson_document::{Tree, json};
use boson_pipeline::packed::MAX_COMPONENT;
use boson_pipeline::{Stage, settings};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

/// sha256 of a component.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

/// Where a plugin came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Ships with the host.
    BuiltIn(PathBuf),
    /// Named by the user.
    File(PathBuf),
    /// Handed over as bytes (a ConfigMap), with a name for messages.
    Bytes(String),
}

/// A diagnostic code that a plugin documents.
#[derive(Clone, Debug)]
pub struct Code {
    /// `ops-missing-key`
    pub name: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub explanation: String,
}

/// The description of a plugin.
#[derive(Clone, Debug)]
pub struct Description {
    /// Name.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// JSON Schema of its settings.
    pub settings_schema: Tree,
    /// Its diagnostics.
    pub codes: Vec<Code>,
}

/// A plugin that can be called. Copies share the code.
#[derive(Clone)]
pub struct Plugin {
    /// Its stage.
    pub stage: Stage,
    /// Digest of the component.
    pub digest: Digest,
    /// Where it came from.
    pub source: Source,
    /// Settings for its calls, as JSON text.
    pub(crate) settings: String,
    pub(crate) pre: InstancePre<CallState>,
    name: String,
}

// === impl Digest ===

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// `sha256:` and twelve digits, for messages.
    pub fn short(&self) -> String {
        let digits: String = self.hex().chars().take(12).collect();
        format!("sha256:{digits}")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl Source ===

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(path) | Self::File(path) => path.display().fmt(f),
            Self::Bytes(name) => f.write_str(name),
        }
    }
}

// === impl Sandbox: loading ===

impl Sandbox {
    /// Loads a plugin of the installation. Its machine code is beside it if the build precompiled it.
    ///
    /// # Errors
    /// As [`Sandbox::load`].
    pub fn load_built_in(&self, stage: Stage, path: &Path) -> Result<Plugin, Failure> {
        let source = Source::BuiltIn(path.to_path_buf());
        let code = cache::beside(self, path);
        if newer(&code, path)
            && let Some(component) = cache::load(self, &code)
        {
            let digest = digest_beside(path).map_or_else(|| read(path).map(|bytes| Digest::of(&bytes)), Ok)?;
            return self.prepare(stage.name().to_string(), component, digest, source);
        }
        self.load(stage.name(), &read(path)?, source)
    }

    /// Loads a component from a file that the user named.
    ///
    /// # Errors
    /// As [`Sandbox::load`], and a file that cannot be read.
    pub fn load_file(&self, path: &Path) -> Result<Plugin, Failure> {
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        self.load(&name, &read(path)?, Source::File(path.to_path_buf()))
    }

    /// Loads a component: checked, then compiled or taken from the cache.
    ///
    /// # Errors
    /// [`FailureKind::Refused`], with the reason.
    pub fn load(&self, name: &str, bytes: &[u8], source: Source) -> Result<Plugin, Failure> {
        let digest = Digest::of(bytes);
        let is_foreign = !matches!(source, Source::BuiltIn(_));
        self.load_as(name, bytes, digest, source).map_err(|failure| Failure {
            digest: is_foreign.then_some(digest),
            ..failure
        })
    }

    fn load_as(&self, name: &str, bytes: &[u8], digest: Digest, source: Source) -> Result<Plugin, Failure> {
        let refused = |message: &str| Err(Failure::new(FailureKind::Refused, name, message));
        if Engine::detect_precompiled(bytes).is_some() {
            return refused("is machine code; give the WebAssembly component that it was made from");
        }
        match bytes.get(..8) {
            Some([0, b'a', b's', b'm', 0x0d, 0, 1, 0]) => {}
            Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => {
                return refused("is a core module; make it a component (`wasm-tools component new`)");
            }
            _ => return refused("is not a WebAssembly component"),
        }
        let prepare = |component| self.prepare(name.to_string(), component, digest, source);
        if let Some(component) = self.cache.cached(self, &digest) {
            return prepare(component);
        }
        self.cache.compile(self, name, &digest, bytes, |component| {
            let plugin = prepare(component)?;
            // A component that cannot be instantiated is refused now, not in every deployment that uses it.
            self.instantiate(&plugin)?;
            Ok(plugin)
        })
    }

    /// Bytes of memory that a plugin's machine code takes for as long as any copy of the plugin is there.
    pub fn code_weight(&self, plugin: &Plugin) -> u64 {
        let code = plugin.pre.component().image_range();
        let bytes = (code.end as usize).saturating_sub(code.start as usize);
        self.cache.weight(bytes as u64)
    }

    /// Removes the machine code of a component from the cache: it was refused, or is no longer used.
    pub fn forget(&self, digest: &Digest) {
        self.cache.forget(self, digest);
    }

    /// Writes machine code beside a built-in plugin, so that loading it takes a millisecond. True if there was none yet.
    ///
    /// # Errors
    /// A component that is refused, or a folder that cannot be written to.
    pub fn precompile(&self, path: &Path) -> Result<bool, Failure> {
        let name = path.display().to_string();
        let bytes = read(path)?;
        let (code_file, digest_file) = (cache::beside(self, path), path.with_extension("sha256"));
        let digest = Digest::of(&bytes).hex();
        if newer(&code_file, path) && std::fs::read_to_string(&digest_file).is_ok_and(|kept| kept.trim() == digest) {
            return Ok(false);
        }
        let code = self.compile(&name, &bytes)?;
        let io = |error: std::io::Error| {
            Failure::new(FailureKind::Refused, &name, format!("cannot be precompiled: {error}"))
        };
        remove_stale(path).map_err(io)?;
        cache::write_whole(&code_file, &code).map_err(io)?;
        cache::write_whole(&digest_file, digest.as_bytes()).map_err(io)?;
        Ok(true)
    }

    fn prepare(&self, name: String, component: Component, digest: Digest, source: Source) -> Result<Plugin, Failure> {
        let stage = component::check(&self.engine, &name, &component)?;
        let pre = Linker::new(&self.engine).instantiate_pre(&component).map_err(|error| {
            let message = format!("does not fit the sandbox: {error:#}");
            Failure::new(FailureKind::Refused, &name, message)
        })?;
        Ok(Plugin {
            stage,
            digest,
            source,
            settings: "{}".to_string(),
            pre,
            name,
        })
    }
}

/// The content of a component's file, which may be endless, such as a device.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |what: String| Failure::new(FailureKind::Refused, &path.display().to_string(), what);
    let mut bytes = Vec::new();
    let bound = u64::try_from(MAX_COMPONENT).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)
        .and_then(|file| file.take(bound).read_to_end(&mut bytes))
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    match bytes.len() > MAX_COMPONENT {
        true => Err(refused(format!("has more than {} MiB", MAX_COMPONENT >> 20))),
        false => Ok(bytes),
    }
}

/// Code that is older than its component is of an earlier one.
fn newer(code: &Path, component: &Path) -> bool {
    let time = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    time(code)
        .zip(time(component))
        .is_some_and(|(code, component)| code >= component)
}

fn digest_beside(path: &Path) -> Option<Digest> {
    let text = std::fs::read_to_string(path.with_extension("sha256")).ok()?;
    let text = text.trim();
    let mut digest = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (index, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(Digest(digest))
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
            std::fs::remove_file(&file)?;
        }
    }
    Ok(())
}

// === impl Plugin ===

impl Plugin {
    /// Name for messages: the stage of a built-in, else the file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it does not ship with the host.
    pub fn is_foreign(&self) -> bool {
        !matches!(self.source, Source::BuiltIn(_))
    }

    /// Its name in messages: its stage, or its name with the digest.
    pub fn called(&self) -> String {
        match self.is_foreign() {
            true => format!("plugin '{}', {}", self.name, self.digest.short()),
            false => self.name.clone(),
        }
    }

    /// Settings for its calls, as JSON text.
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// Under another name in messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// With settings for its calls.
    #[must_use]
    pub fn with_settings(mut self, settings: &Tree) -> Self {
        self.settings = json::to_text(settings);
        self
    }

    /// Calls `describe`.
    ///
    /// # Errors
    /// The plugin failed, or reports another stage than it exports.
    pub fn describe(&self, sandbox: &Sandbox) -> Result<Description, Failure> {
        macro_rules! describe {
            ($interface:path) => {{
                use $interface as interface;
                let (result, _) = sandbox.call(self, &Account::unbounded(), |store, instance| {
                    let guest = interface::GuestIndices::new(&self.pre)?.load(&mut *store, instance)?;
                    guest.call_describe(store)
                });
                result?
            }};
        }
        let said = match self.stage {
            Stage::Ops => describe!(boson::ops::operations),
            Stage::Variables => describe!(boson::variables::interpolation),
            Stage::Links => describe!(boson::links::resolution),
            Stage::Render => describe!(boson::render::templates),
            Stage::Bpm => describe!(boson::bpm::conversion),
            Stage::Resources => describe!(boson::resources::transformation),
        };
        let malformed = |message: String| Failure::new(FailureKind::Malformed, &self.name, message).of(self);
        if let Some((name, _)) = said.extensions.iter().find(|(name, _)| name.starts_with(REQUIRED)) {
            return Err(malformed(format!("requires '{name}', which this host does not know")));
        }
        if said.stage != self.stage.name() {
            return Err(malformed(format!(
                "says that it is of stage '{}' but exports '{}'",
                said.stage, self.stage
            )));
        }
        let settings_schema = json::parse(&said.settings_schema)
            .map_err(|error| malformed(format!("has a settings schema that is not JSON: {error}")))?;
        if let Some(fault) = settings::schema_fault(&settings_schema) {
            return Err(malformed(format!(
                "has a settings schema that is no JSON Schema: {fault}"
            )));
        }
        let codes = said.codes.into_iter().map(|code| Code {
            name: code.name,
            title: code.title,
            explanation: code.explanation,
        });
        Ok(Description {
            name: said.name,
            version: said.version,
            settings_schema,
            codes: codes.collect(),
        })
    }
}
