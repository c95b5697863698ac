//! The rules of an operator: those of the installation, and components that are added while it runs. Components are
//! cached by digest, once for all deployments that use them.

mod in_use;
mod verdicts;

use crate::cases;
use crate::codes;
use crate::metering::Metering;
use crate::signatures::Signatures;
use crate::unpack;
use boson_api::PluginUse;
use boson_budget::{Class, Share};
use boson_cluster::metrics::{Metrics, Version};
use boson_oci::{Digest, short_digest};
use boson_pipeline::stage::CheckPolicy;
use boson_pipeline::{Diagnostic, Stage, Stages};
use boson_plugins::NO_MEMORY;
use boson_plugins::host::{Chosen, Content, LoadedPlugin, Package, PluginHost, ResolvedPlugins, Settings};
use boson_sandbox::{Plugin, Plugins, Sandbox, Source};
use futures::future::BoxFuture;
use in_use::DeploymentRef;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use verdicts::Verdicts;

pub struct Loaded {
    shared: Arc<Shared>,
    /// One compilation at a time: each takes a processor and up to 1.5 GiB.
    compiling: Arc<tokio::sync::Mutex<()>>,
}

struct Shared {
    /// It counts the calls in `metrics`.
    sandbox: Sandbox,
    metrics: Arc<Metrics>,
    /// Built-in plugins in the order of the stages.
    built_in: Vec<Known>,
    signatures: Arc<Signatures>,
    /// Loaded plugins by digest.
    loaded: Mutex<HashMap<Digest, Known>>,
}

#[derive(Clone)]
struct Known {
    plugin: Plugin,
    used: PluginUse,
    /// Of the settings that were checked last.
    verdicts: Arc<Verdicts>,
    /// `resources`: its place among the others was set explicitly.
    is_ordered: bool,
    /// Of the stage `checks`: what it may stop.
    policy: CheckPolicy,
    /// Memory for its machine code, charged to the namespace that loaded it first; `None` for plugins of the
    /// installation.
    _code: Option<Arc<Share>>,
}

// === impl Loaded ===

impl Loaded {
    /// Starts with the built-in plugins of the installation. `signatures`: what is required of others. The calls of all
    /// plugins are counted in `metrics`.
    ///
    /// # Errors
    /// One of them does not describe itself.
    pub fn new(
        plugins: Plugins,
        signatures: Arc<Signatures>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, boson_sandbox::Error> {
        let sandbox = plugins.sandbox().clone();
        let sandbox = sandbox.with_meter(Arc::new(Metering(metrics.clone())));
        let mut built_in = Vec::new();
        for plugin in plugins.iter() {
            let known = Known::of(plugin.clone(), &sandbox)?;
            known.count(&known.used.name, &metrics);
            built_in.push(known);
        }
        let checks = built_in.iter_mut().filter(|known| known.plugin.stage == Stage::Checks);
        for (known, info) in checks.zip(plugins.checks()) {
            known.policy = info.policy;
        }
        Ok(Self {
            shared: Arc::new(Shared {
                built_in,
                sandbox,
                signatures,
                metrics,
                loaded: Mutex::default(),
            }),
            compiling: Arc::default(),
        })
    }

    /// The metrics in which calls are counted.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.shared.metrics.clone()
    }
}

impl PluginHost for Loaded {
    fn built_in(&self) -> Vec<PluginUse> {
        self.shared.built_in.iter().map(|known| known.used.clone()).collect()
    }

    fn load(&self, package: Package) -> BoxFuture<'_, Result<LoadedPlugin, Vec<Diagnostic>>> {
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

    fn keep(&self, digests: &HashSet<Digest>) {
        let mut loaded = self.shared.loaded.lock();
        loaded.retain(|digest, known| {
            let kept = digests.contains(digest);
            if !kept {
                self.shared.sandbox.forget(&known.plugin.digest);
            }
            kept
        });
        let is_built_in = |digest: &str| self.shared.built_in.iter().any(|one| one.used.digest == digest);
        let metrics = &self.shared.metrics.plugins;
        metrics.retain(|digest| is_built_in(digest) || loaded.keys().any(|one| one.digest() == digest));
    }

    fn with(
        &self,
        chosen: &[Chosen],
        shadows: &[Chosen],
        namespace: &str,
        deployment: &str,
    ) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        let deployment = DeploymentRef {
            namespace,
            name: deployment,
        };
        self.shared.with(chosen, shadows, deployment)
    }
}

// === impl Shared ===

impl Shared {
    fn load(&self, package: &Package) -> Result<LoadedPlugin, Vec<Diagnostic>> {
        let unpacked = match &package.content {
            Content::Packed { parts, compressed } => Cow::Owned(unpack::unpack(parts, *compressed)?),
            Content::Whole(bytes) => Cow::Borrowed(bytes.as_slice()),
        };
        let bytes: &[u8] = &unpacked;
        let digest = boson_oci::digest(bytes);
        if let Some(wanted) = package.digest.as_ref().filter(|wanted| **wanted != digest) {
            let what = format!("the component has the digest {digest}, but its description contains {wanted}");
            return Err(vec![Diagnostic::error(codes::PLUGIN_DIGEST, what)]);
        }
        // Before anything else is done with it.
        let mut warnings = self.signatures.check(bytes, &package.signed)?;
        for warning in &mut warnings {
            warning.message = format!("plugin '{}': {}", package.name, warning.message);
        }
        let found = self.loaded.lock().get(&digest).cloned();
        let is_new = found.is_none();
        let known = match found {
            Some(known) => Ok(known),
            None => self.prepare(package, bytes).map_err(|error| vec![error]),
        };
        let checked = known
            .and_then(|known| known.fits(&self.sandbox, package))
            .and_then(|known| self.passes(known, package));
        // Not used: its machine code would only take space in the cache.
        if checked.is_err() && is_new {
            self.sandbox.forget(&digest);
        }
        let known = checked?;
        let mut loaded = self.loaded.lock();
        known.count(&package.name, &self.metrics);
        loaded.insert(digest.clone(), known);
        Ok(LoadedPlugin { digest, warnings })
    }

    fn prepare(&self, package: &Package, bytes: &[u8]) -> Result<Known, Diagnostic> {
        let source = Source::Bytes(package.name.clone());
        let plugin = self.sandbox.load(&package.name, bytes, source)?;
        let (weight, budget) = (self.sandbox.code_weight(&plugin), self.sandbox.budget());
        let share = budget.try_hold(Class::Code, &package.namespace, weight);
        let share = share.ok_or_else(|| no_memory(weight, budget.holder_limit(Class::Code)))?;
        let mut known = Known::of(plugin, &self.sandbox)?;
        known._code = Some(Arc::new(share));
        Ok(known)
    }

    /// The plugin, if it passes the cases of the package, and an update does not fail in every call. A wrapper calls
    /// the rule of the installation.
    fn passes(&self, known: Known, package: &Package) -> Result<Known, Vec<Diagnostic>> {
        if package.cases.is_none() && !package.is_update {
            return Ok(known);
        }
        let Settings { tree, document } = &package.settings;
        let mut plugin = known.plugin.clone().named(&package.name).with_settings(tree, document);
        let stage = plugin.stage;
        let mut rules = self.built_in.iter().filter(|rule| rule.plugin.stage == stage);
        if let Some(rule) = rules.next().filter(|_| plugin.wraps) {
            plugin = plugin.wrap(rule.plugin.clone())?;
        }
        let account = cases::account(&package.namespace);
        if package.is_update {
            cases::replies_at_all(&self.sandbox, &plugin, &account)?;
        }
        if let Some(packed) = &package.cases {
            let cases = cases::packed::unpack(packed)?;
            let cases = cases::packed::of_stage(cases, stage);
            cases::pass(&self.sandbox, &plugin, &cases, &account)?;
        }
        Ok(known)
    }

    fn find(&self, chosen: &Chosen) -> Option<Known> {
        match &chosen.digest {
            Some(digest) => self.loaded.lock().get(digest).cloned(),
            None => {
                let of_stage = |known: &&Known| known.plugin.stage == chosen.stage && known.used.name == chosen.name;
                self.built_in.iter().find(of_stage).cloned()
            }
        }
    }
}

// === impl Known ===

impl Known {
    fn of(plugin: Plugin, sandbox: &Sandbox) -> Result<Self, boson_sandbox::Error> {
        let description = plugin.describe(sandbox)?.clone();
        let used = PluginUse {
            stage: plugin.stage,
            name: description.name,
            version: description.version,
            digest: plugin.digest.digest().to_string(),
            runs: plugin.answered.as_ref().map(|digest| digest.digest().to_string()),
            instance_groups: plugin.groups().map(<[String]>::to_vec),
        };
        Ok(Self {
            verdicts: Arc::default(),
            is_ordered: true,
            policy: CheckPolicy::default(),
            plugin,
            used,
            _code: None,
        })
    }

    /// Counts its calls under this name from now on.
    fn count(&self, name: &str, metrics: &Metrics) {
        let version = Version {
            stage: self.plugin.stage.name(),
            plugin: name.to_string(),
            digest: short_digest(self.plugin.digest.as_ref()).to_string(),
        };
        metrics.plugins.add(&self.used.digest, version, self.plugin.compiled);
    }

    /// The plugin, if it is one of the package's stage and accepts its settings.
    fn fits(self, sandbox: &Sandbox, package: &Package) -> Result<Self, Vec<Diagnostic>> {
        if self.plugin.stage != package.stage {
            let what = format!(
                "it is a plugin of the stage '{}', not '{}'",
                self.plugin.stage, package.stage
            );
            return Err(vec![Diagnostic::error(codes::PLUGIN_OTHER_STAGE, what)]);
        }
        if self.plugin.wraps != package.wraps {
            let stage = package.stage;
            let [is, key] = if self.plugin.wraps {
                ["a wrapper", "wraps"]
            } else {
                ["a rule", "replaces"]
            };
            let error = Diagnostic::error(codes::PLUGIN_OTHER_STAGE, format!("it is {is} of the stage '{stage}'"));
            return Err(vec![error.help(format!("write `{key}: {stage}` in plugin.yaml"))]);
        }
        let reported = self.verdicts.of(&self.plugin, sandbox, &package.settings)?;
        if reported.iter().any(Diagnostic::is_error) {
            Err(reported)
        } else {
            Ok(self)
        }
    }

    /// Under the name of its `plugin.yaml`, with its settings and in its place.
    fn named(mut self, chosen: &Chosen) -> Self {
        self.used.name.clone_from(&chosen.name);
        (self.is_ordered, self.policy) = (chosen.is_ordered, chosen.policy);
        let Settings { tree, document } = &chosen.settings;
        self.plugin = self.plugin.with_settings(tree, document);
        // Another ConfigMap may have the same component under another name.
        if self.plugin.is_foreign() {
            self.plugin = self.plugin.named(&chosen.name).with_installer(chosen.installer.clone());
        }
        if let Some(groups) = &chosen.groups {
            self.plugin = self.plugin.for_groups(groups);
            self.used.instance_groups = Some(groups.clone());
        }
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
