//! The rules of an operator: those of the installation, and components that are added while it runs. Components are
//! cached by digest, once for all deployments that use them.

use crate::codes;
use crate::signatures::Signatures;
use crate::unpack;
use boson_api::PluginUse;
use boson_budget::{Class, Share};
use boson_controllers::codes as controllers_codes;
use boson_controllers::conversion::{Chosen, Content, LoadedPlugin, Package, PluginHost, ResolvedPlugins, Settings};
use boson_controllers::plugins::NO_MEMORY;
use boson_document::{Tree, json};
use boson_pipeline::settings;
use boson_pipeline::yaml::{Document, Mark};
use boson_pipeline::{Diagnostic, Stage, Stages};
use boson_sandbox::{Account, Digest, Failure, Plugin, Plugins, Sandbox, Source};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rules of an operator.
pub struct Loaded {
    shared: Arc<Shared>,
    /// One compilation at a time: each takes a processor and up to 1.5 GiB.
    compiling: Arc<tokio::sync::Mutex<()>>,
}

struct Shared {
    sandbox: Sandbox,
    /// Built-in plugins in the order of the stages.
    built_in: Vec<Known>,
    signatures: Arc<Signatures>,
    /// Loaded plugins by digest, 64 hexadecimal digits.
    loaded: Mutex<BTreeMap<String, Known>>,
}

/// A plugin with its description.
#[derive(Clone)]
struct Known {
    plugin: Plugin,
    used: PluginUse,
    /// Settings for its calls, as JSON text.
    settings: String,
    /// JSON Schema of them.
    schema: Tree,
    /// Of the stage `checks`: its errors fail the conversion.
    is_enforced: bool,
    /// Memory for its machine code, charged to the namespace that loaded it first; `None` for plugins of the
    /// installation.
    _code: Option<Arc<Share>>,
}

// === impl Loaded ===

impl Loaded {
    /// Starts with the built-in plugins of the installation. `signatures`: what is required of others.
    ///
    /// # Errors
    /// One of them does not describe itself.
    pub fn new(plugins: Plugins, signatures: Arc<Signatures>) -> Result<Self, Failure> {
        let sandbox = plugins.sandbox().clone();
        let mut built_in = Vec::new();
        for plugin in plugins.iter() {
            built_in.push(Known::of(plugin.clone(), &sandbox)?);
        }
        let checks = built_in.iter_mut().filter(|known| known.plugin.stage == Stage::Checks);
        for (nth, known) in checks.enumerate() {
            known.is_enforced = plugins.is_enforced(nth);
        }
        Ok(Self {
            shared: Arc::new(Shared {
                built_in,
                sandbox,
                signatures,
                loaded: Mutex::default(),
            }),
            compiling: Arc::default(),
        })
    }
}

impl PluginHost for Loaded {
    fn built_in(&self) -> Vec<PluginUse> {
        self.shared.built_in.iter().map(|known| known.used.clone()).collect()
    }

    fn load(
        &self,
        package: Package,
    ) -> Pin<Box<dyn Future<Output = Result<LoadedPlugin, Vec<Diagnostic>>> + Send + '_>> {
        let (shared, compiling) = (self.shared.clone(), self.compiling.clone());
        Box::pin(async move {
            let _one = compiling.lock().await;
            let work = tokio::task::spawn_blocking(move || shared.load(&package));
            work.await.unwrap_or_else(|_| {
                let error = Diagnostic::error(boson_sandbox::codes::PLUGIN_REFUSED, "loading it was interrupted");
                Err(vec![error.help(
                    "this is a defect of the operator; report it together with the plugin",
                )])
            })
        })
    }

    fn keep(&self, digests: &BTreeSet<String>) {
        let mut loaded = self.shared.loaded();
        loaded.retain(|digest, known| {
            let kept = digests.contains(digest);
            if !kept {
                self.shared.sandbox.forget(&known.plugin.digest);
            }
            kept
        });
    }

    fn with(&self, chosen: &[Chosen], namespace: &str, deployment: &str) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        self.shared.with(chosen, namespace, deployment)
    }
}

// === impl Shared ===

impl Shared {
    fn loaded(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self, package: &Package) -> Result<LoadedPlugin, Vec<Diagnostic>> {
        let unpacked = match &package.content {
            Content::Packed { parts, compressed } => {
                Cow::Owned(unpack::unpack(parts, *compressed).map_err(|error| vec![*error])?)
            }
            Content::Whole(bytes) => Cow::Borrowed(bytes.as_slice()),
        };
        let bytes: &[u8] = &unpacked;
        let digest = Digest::of(bytes).hex();
        if let Some(wanted) = package.digest.as_ref().filter(|wanted| **wanted != digest) {
            let what =
                format!("the component has the digest sha256:{digest}, but its description contains sha256:{wanted}");
            return Err(vec![Diagnostic::error(codes::PLUGIN_DIGEST, what)]);
        }
        // Before anything else is done with it.
        let mut warnings = self
            .signatures
            .check(bytes, &package.signed)
            .map_err(|error| vec![*error])?;
        for warning in &mut warnings {
            warning.message = format!("plugin '{}': {}", package.name, warning.message);
        }
        let found = self.loaded().get(&digest).cloned();
        let is_new = found.is_none();
        let checked = match found {
            Some(known) => known.fits(package),
            None => self
                .prepare(package, bytes)
                .map_err(|error| vec![*error])
                .and_then(|known| known.fits(package)),
        };
        // Not used: its machine code would only take space in the cache.
        if checked.is_err() && is_new {
            self.sandbox.forget(&Digest::of(bytes));
        }
        self.loaded().insert(digest.clone(), checked?);
        Ok(LoadedPlugin { digest, warnings })
    }

    fn prepare(&self, package: &Package, bytes: &[u8]) -> Result<Known, Box<Diagnostic>> {
        let source = Source::Bytes(package.name.clone());
        let plugin = self
            .sandbox
            .load(&package.name, bytes, source)
            .map_err(|failure| failure.diagnostic())?;
        let (weight, budget) = (self.sandbox.code_weight(&plugin), self.sandbox.budget());
        let share = budget.try_hold(Class::Code, &package.namespace, weight);
        let share = share.ok_or_else(|| no_memory(weight, budget.most(Class::Code)))?;
        let mut known = Known::of(plugin, &self.sandbox).map_err(|failure| failure.diagnostic())?;
        known._code = Some(Arc::new(share));
        Ok(known)
    }

    fn with(&self, chosen: &[Chosen], namespace: &str, deployment: &str) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        let mut all: Vec<(Known, Option<&Chosen>)> = self.built_in.iter().map(|known| (known.clone(), None)).collect();
        let mut reported = Vec::new();
        for one in chosen {
            let Some(known) = self.find(one) else {
                let what = format!("plugin '{}' of the stage '{}' is not loaded", one.name, one.stage);
                reported.push(Diagnostic::error(controllers_codes::PLUGIN_NOT_FOUND, what));
                continue;
            };
            reported.extend(known.check(&one.settings));
            let known = known.named(one);
            if one.stage.has_rule() && !known.plugin.wraps {
                all.retain(|(other, _)| other.plugin.stage != one.stage);
            }
            all.push((known, Some(one)));
        }
        if reported.iter().any(Diagnostic::is_error) {
            return Err(reported);
        }
        // By stage; the order within a stage stays.
        all.sort_by_key(|(known, _)| known.plugin.stage);
        self.resolved(all, reported, namespace, deployment)
    }

    fn find(&self, chosen: &Chosen) -> Option<Known> {
        match &chosen.digest {
            Some(digest) => self.loaded().get(digest).cloned(),
            None => {
                let of_stage = |known: &&Known| known.plugin.stage == chosen.stage && known.used.name == chosen.name;
                self.built_in.iter().find(of_stage).cloned()
            }
        }
    }

    fn resolved(
        &self,
        all: Vec<(Known, Option<&Chosen>)>,
        warnings: Vec<Diagnostic>,
        namespace: &str,
        deployment: &str,
    ) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        let account = Account::new(namespace, self.sandbox.limits().conversion_fuel);
        let stages = Plugins::new(self.sandbox.clone()).with_account(account);
        let mut stages = stages.with_deployment(deployment, namespace);
        let (mut uses, mut texts) = (Vec::new(), String::new());
        for (known, chosen) in all {
            let parts = [
                known.plugin.stage.name(),
                known.used.digest.as_str(),
                known.settings.as_str(),
            ];
            // Permissions may depend on who installed it.
            let author = known.plugin.author();
            texts.push_str(&format!("{author:?}\n"));
            let is_ordered = chosen.is_none_or(|one| one.is_ordered);
            let flags = [is_ordered, known.is_enforced].map(|flag| flag.to_string());
            for part in parts.into_iter().chain(flags.iter().map(String::as_str)) {
                texts.push_str(&format!("{}:{part}\n", part.len()));
            }
            uses.push(known.used);
            match known.plugin.stage {
                Stage::Resources => stages.add_resources(known.plugin, is_ordered),
                Stage::Checks => stages.add_check(known.plugin, known.is_enforced),
                _ => stages
                    .insert_rule(known.plugin)
                    .map_err(|failure| vec![failure.diagnostic()])?,
            }
        }
        Ok(ResolvedPlugins {
            stages: Arc::new(stages),
            uses,
            digest: Digest::of(texts.as_bytes()).hex(),
            warnings,
        })
    }
}

// === impl Known ===

impl Known {
    fn of(plugin: Plugin, sandbox: &Sandbox) -> Result<Self, Failure> {
        let description = plugin.describe(sandbox)?.clone();
        let used = PluginUse {
            stage: plugin.stage.into(),
            name: description.name,
            version: description.version,
            digest: plugin.digest.hex(),
        };
        Ok(Self {
            settings: plugin.settings().to_string(),
            schema: description.settings_schema,
            is_enforced: false,
            plugin,
            used,
            _code: None,
        })
    }

    /// The plugin, if it is one of the package's stage and accepts its settings.
    fn fits(self, package: &Package) -> Result<Self, Vec<Diagnostic>> {
        if self.plugin.stage != package.stage {
            let what = format!(
                "it is a plugin of the stage '{}', not '{}'",
                self.plugin.stage, package.stage
            );
            return Err(vec![Diagnostic::error(codes::PLUGIN_OTHER_STAGE, what)]);
        }
        if self.plugin.wraps != package.wraps {
            let (stage, [is, key]) = (
                package.stage,
                match self.plugin.wraps {
                    true => ["a wrapper", "wraps"],
                    false => ["a rule", "replaces"],
                },
            );
            let error = Diagnostic::error(codes::PLUGIN_OTHER_STAGE, format!("it is {is} of the stage '{stage}'"));
            return Err(vec![error.help(format!("write `{key}: {stage}` in plugin.yaml"))]);
        }
        let reported = self.check(&package.settings);
        match reported.iter().any(Diagnostic::is_error) {
            true => Err(reported),
            false => Ok(self),
        }
    }

    /// The errors in these settings.
    fn check(&self, settings: &Settings) -> Vec<Diagnostic> {
        settings::check(&document(settings), &self.schema, &self.used.name)
    }

    /// Under the name of its `plugin.yaml`, with its settings.
    fn named(mut self, chosen: &Chosen) -> Self {
        self.used.name.clone_from(&chosen.name);
        self.is_enforced = chosen.is_enforced;
        let Settings { tree, document } = &chosen.settings;
        self.plugin = self.plugin.with_settings(tree, document);
        // Another ConfigMap may have the same component under another name.
        if self.plugin.is_foreign() {
            self.plugin = self.plugin.named(&chosen.name).with_installer(chosen.installer.clone());
        }
        self.settings = json::to_text(&chosen.settings.tree);
        self
    }
}

/// The error for a plugin whose machine code takes `weight` bytes, in a namespace that may use `most` for all of its
/// plugins.
fn no_memory(weight: u64, most: u64) -> Diagnostic {
    let what = format!(
        "its machine code needs {} MiB of memory, which is not available: all plugins of a namespace may use {} MiB, and those of all namespaces twice that",
        weight.div_ceil(1 << 20),
        most >> 20
    );
    Diagnostic::error(NO_MEMORY, what)
        .help("delete unused plugins, raise the operator's memory limit, or put its cache directory on a disk")
}

/// Settings as a document without source lines.
fn document(settings: &Settings) -> Document {
    Document {
        name: settings.document.clone(),
        text: "".into(),
        tree: Tree::clone(&settings.tree),
        marks: Mark::default(),
        warnings: Vec::new(),
    }
}
