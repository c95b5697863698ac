//! The plugins of a conversion: a rule for each stage, with its wrappers, and any number of plugins for `resources` and
//! `checks`.

use crate::engine::Sandbox;
use crate::error::{Error, ErrorKind};
use crate::limits::account::Account;
use crate::limits::measures::Measures;
use crate::plugin::Plugin;
use crate::stages::recorder::Recorder;
use boson_pipeline::Stage;
use boson_pipeline::stage::{Call, CheckPolicy, PluginRef, StageError};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plugins of a conversion.
pub struct Plugins {
    pub(crate) sandbox: Sandbox,
    rules: BTreeMap<Stage, Plugin>,
    resources: Vec<Addition>,
    checks: Vec<Addition>,
    used: Mutex<BTreeMap<Stage, (u32, Measures)>>,
    pub(crate) account: Account,
    /// Name and namespace, if they are known.
    pub(crate) deployment: Option<(String, String)>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
}

/// A plugin of `resources` or `checks`.
pub(crate) struct Addition {
    plugin: Plugin,
    /// `resources`: its place among the others was set explicitly.
    pub is_ordered: bool,
    /// `checks`: what it may stop.
    pub policy: CheckPolicy,
}

// === impl Plugins ===

impl Plugins {
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            rules: BTreeMap::new(),
            resources: Vec::new(),
            checks: Vec::new(),
            used: Mutex::default(),
            account: Account::unbounded(),
            deployment: None,
            recorder: None,
        }
    }

    /// This plugin only; a wrapper with what it wraps.
    pub(crate) fn of_one(sandbox: Sandbox, plugin: Plugin) -> Self {
        let mut plugins = Self::new(sandbox);
        plugins.put(plugin, true, CheckPolicy::ENFORCED);
        plugins
    }

    /// Sets the account of all later calls: that of one conversion.
    #[must_use]
    pub fn with_account(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    /// Sets the deployment that all later calls are made for.
    #[must_use]
    pub fn with_deployment(mut self, name: &str, namespace: &str) -> Self {
        self.deployment = Some((name.to_string(), namespace.to_string()));
        self
    }

    /// Passes all later calls to a recorder. Stages of which there is no plugin record the calls that one would get.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Replaces the rule of a stage; a wrapper is put around the rule. Plugins of `resources` and `checks` are added
    /// after the others. `is_ordered`: the place of a plugin of `resources` was set explicitly. `policy`: what a plugin
    /// of `checks` may stop.
    ///
    /// # Errors
    /// There is no rule to wrap, or it has too many wrappers.
    pub fn add(&mut self, plugin: Plugin, is_ordered: bool, policy: CheckPolicy) -> Result<(), Error> {
        let stage = plugin.stage;
        let plugin = match (plugin.wraps, self.rules.remove(&stage)) {
            (false, _) => plugin,
            (true, Some(rule)) => plugin.wrap(rule)?,
            (true, None) => {
                let message = format!("is a wrapper, but the stage '{stage}' has no rule");
                return Err(plugin.failure(ErrorKind::Refused, message));
            }
        };
        self.put(plugin, is_ordered, policy);
        Ok(())
    }

    fn put(&mut self, plugin: Plugin, is_ordered: bool, policy: CheckPolicy) {
        match plugin.stage {
            Stage::Resources => self.resources.push(Addition {
                plugin,
                is_ordered,
                policy: CheckPolicy::default(),
            }),
            Stage::Checks => self.checks.push(Addition {
                plugin,
                is_ordered: false,
                policy,
            }),
            stage => drop(self.rules.insert(stage, plugin)),
        }
    }

    /// All plugins, in the order of the stages; before a wrapper comes what it wraps.
    pub fn iter(&self) -> impl Iterator<Item = &Plugin> {
        let rules = self.rules.values().flat_map(|rule| {
            let mut chain: Vec<&Plugin> = rule.chain().collect();
            chain.reverse();
            chain
        });
        let resources = self.resources.iter().map(|one| &one.plugin);
        rules.chain(resources).chain(self.checks.iter().map(|one| &one.plugin))
    }

    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Calls made so far, and what they used: fuel and time summed, memory at most.
    pub fn usage(&self) -> BTreeMap<Stage, (u32, Measures)> {
        self.used.lock().clone()
    }

    pub(crate) fn count(&self, stage: Stage, measures: Measures) {
        let mut used = self.used.lock();
        let (calls, sum) = used.entry(stage).or_default();
        *calls += 1;
        sum.fuel += measures.fuel;
        sum.elapsed += measures.elapsed;
        sum.memory = sum.memory.max(measures.memory);
    }

    /// The rule of a stage, with its wrappers.
    fn rule(&self, stage: Stage) -> Result<&Plugin, StageError> {
        self.rules.get(&stage).ok_or_else(|| {
            let error = Error::new(
                ErrorKind::Refused,
                stage.name(),
                "is missing: no plugin of this stage is installed",
            );
            error.stage_error()
        })
    }

    /// None: there is no such plugin of `resources` or `checks`.
    ///
    /// # Errors
    /// There is no rule of the stage.
    pub(crate) fn plugin_of(&self, plugin: PluginRef<'_>) -> Result<Option<Cow<'_, Plugin>>, StageError> {
        Ok(match plugin {
            // A job of any group.
            PluginRef::Rule(Stage::Render, None) => Some(Cow::Borrowed(self.rule(Stage::Render)?)),
            PluginRef::Rule(stage, group) => Some(self.rule(stage)?.serving(group)),
            _ => self.addition(plugin).map(|one| Cow::Borrowed(&one.plugin)),
        })
    }

    /// A plugin of `resources` or `checks`.
    pub(crate) fn addition(&self, plugin: PluginRef<'_>) -> Option<&Addition> {
        match plugin {
            PluginRef::Rule(..) => None,
            PluginRef::Resources(nth) => self.resources.get(nth),
            PluginRef::Check(nth) => self.checks.get(nth),
        }
    }

    /// Name and namespace of the deployment that a call is made for.
    pub(crate) fn deployment_of<'a>(&'a self, call: Call<'a>) -> Option<(&'a str, &'a str)> {
        let of_call = call.deployment().map(|one| (one.name.as_str(), one.namespace.as_str()));
        of_call.or_else(|| {
            self.deployment
                .as_ref()
                .map(|(name, namespace)| (name.as_str(), namespace.as_str()))
        })
    }
}
