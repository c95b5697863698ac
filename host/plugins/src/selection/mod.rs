//! Resolves which plugins a deployment uses, in which order, and which are refused and why. Pure.
//!
//! A plugin is for the deployments that its selector matches: of all namespaces if it is in the operator's namespace,
//! else of its own. A stage has one rule: the one in `spec.conversion.plugins`, else the one that selects the
//! deployment, else the built-in one. Of two plugins that replace one rule, the older one is used and the other is
//! refused. Wrappers of a rule, and plugins of `resources` and `checks`, apply in their order, then those in
//! `spec.conversion.plugins`, in that order. A canary takes the place of the plugin of its name before all that, so a
//! conversion uses one of both.

mod pod_copies;

pub use pod_copies::{Copies, copies, is_unused};

use super::canary::Trial;
use super::document::PluginDocument;
use super::problem::PluginProblem;
use super::registry::{Entry, Good, Key, Packed, Registry, State};
use crate::codes;
use crate::host::{Chosen, Settings};
use boson_api::PluginUse;
use boson_api::deployment::PluginChoice;
use boson_document::{Tree, json};
use boson_oci::{Digest, short_digest};
use boson_pipeline::stage::CheckPolicy;
use boson_pipeline::{Diagnostic, Installer, Stage};
use std::mem;
use std::sync::Arc;
use std::time::Instant;

/// Most plugins that run beside others in a conversion: each may use as much time as [`PluginHost::with`] grants.
///
/// [`PluginHost::with`]: crate::host::PluginHost::with
const MAX_SHADOWS: usize = 2;

/// What the selection depends on.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub choices: &'a [PluginChoice],
    /// The plugins of its last conversion.
    pub used: &'a [PluginUse],
    /// Plugins of this namespace are for others, too.
    pub operator_namespace: &'a str,
}

#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The plugins to use, in order.
    pub chosen: Vec<Pick>,
    /// The plugins to run beside them.
    pub shadows: Vec<Chosen>,
    /// Why plugins for it are refused.
    pub plugin_problems: Vec<PluginProblem>,
    /// Plugins that are being loaded.
    pub waiting: Vec<Waiting>,
    /// Why it cannot be converted now.
    pub errors: Vec<Diagnostic>,
}

/// A plugin that is being loaded for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub name: String,
    pub since: Instant,
}

/// A plugin that a deployment uses.
#[derive(Clone, Debug)]
pub struct Pick {
    /// For the conversion.
    pub chosen: Chosen,
    /// For pods.
    pub packed: Option<Arc<Packed>>,
    /// What is to be reported with the conversion.
    pub warnings: Vec<Diagnostic>,
    /// Where the result of the conversion counts, if it is a canary.
    pub trial: Option<Arc<Trial>>,
}

// === impl Pick ===

impl Pick {
    /// Whether a message is about it: messages have the beginning of the digest.
    pub(super) fn is_named_in(&self, message: &str) -> bool {
        let digest = self.chosen.digest.as_ref();
        digest.is_some_and(|digest| message.contains(short_digest(digest.as_ref())))
    }
}

/// Resolves the plugins. `built_in`: the plugins of the installation.
pub fn select(registry: &Registry, asking: &Asking<'_>, built_in: &[PluginUse]) -> Selection {
    let mut selecting = Selecting {
        asking,
        built_in,
        candidates: Vec::new(),
        shadows: Vec::new(),
        canaries: Vec::new(),
        loading: Vec::new(),
        lost: Vec::new(),
        selection: Selection::default(),
    };
    for (key, entry) in &registry.entries {
        selecting.consider(key, entry);
    }
    selecting.report_lost();
    for candidates in [
        &mut selecting.candidates,
        &mut selecting.shadows,
        &mut selecting.canaries,
    ] {
        candidates.sort_by(|a, b| (a.created, a.key).cmp(&(b.created, b.key)));
    }
    selecting.choose_shadows();
    selecting.wait_for_canaries();
    selecting.apply_canaries();
    for stage in Stage::ALL {
        if stage.has_rule() {
            selecting.choose_rule(stage);
        }
        selecting.choose_ordered(stage);
    }
    selecting.selection
}

/// A plugin that could be used.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    key: &'a Key,
    created: i64,
    good: &'a Good,
    /// The ConfigMap whose place a canary has taken: where it is among the others must not change.
    place: &'a Key,
}

struct Selecting<'a> {
    asking: &'a Asking<'a>,
    built_in: &'a [PluginUse],
    /// Oldest first.
    candidates: Vec<Candidate<'a>>,
    /// Those that run beside others, oldest first.
    shadows: Vec<Candidate<'a>>,
    /// Those that take the place of others, oldest first.
    canaries: Vec<Candidate<'a>>,
    /// Those of them that are being loaded for the first time, and since when.
    loading: Vec<(&'a Key, &'a PluginDocument, Instant)>,
    /// Refused, without an earlier version to use.
    lost: Vec<(&'a Entry, &'a PluginProblem)>,
    selection: Selection,
}

// === impl Selecting ===

impl<'a> Selecting<'a> {
    fn consider(&mut self, key: &'a Key, entry: &'a Entry) {
        let asking = self.asking;
        if key.namespace != asking.namespace && key.namespace != asking.operator_namespace {
            return;
        }
        let serves = |document: &PluginDocument| document.serves(asking.namespace, asking.name);
        let good = entry.good.as_ref().filter(|good| serves(&good.document));
        if let Some(good) = good {
            self.add(key, entry.plugin.created, good);
        }
        let is_shadow = entry.present.as_ref().is_some_and(|present| present.is_shadow);
        // One that cannot be read might be for any deployment.
        let would = entry.present.as_ref().is_none_or(serves);
        if let State::Loading { since } = &entry.state
            && would
            && good.is_none()
            && !is_shadow
        {
            self.wait(key, entry.present.as_ref(), *since);
        }
        if let Some(problem) = entry.problem().filter(|_| would || good.is_some()) {
            self.selection.plugin_problems.push(problem.clone());
            if good.is_none() && !is_shadow {
                self.lost.push((entry, problem));
            }
        }
    }

    fn add(&mut self, key: &'a Key, created: i64, good: &'a Good) {
        let candidate = Candidate {
            key,
            created,
            good,
            place: key,
        };
        match good.document {
            PluginDocument { is_shadow: true, .. } => self.shadows.push(candidate),
            PluginDocument { canary: Some(_), .. } => self.canaries.push(candidate),
            _ => self.candidates.push(candidate),
        }
    }

    /// Waits for a plugin that is being loaded. Whether to wait for a canary depends on its first version.
    fn wait(&mut self, key: &'a Key, present: Option<&'a PluginDocument>, since: Instant) {
        if let Some(canary) = present.filter(|present| present.canary.is_some()) {
            return self.loading.push((key, canary, since));
        }
        let name = present.map_or(&key.name, |present| &present.name).clone();
        self.selection.waiting.push(Waiting { name, since });
    }

    /// After a restart the last working version is lost. Using the built-in plugin instead would change the objects, so
    /// the conversion stops.
    fn report_lost(&mut self) {
        for used in self.asking.used {
            let is_built_in = |one: &PluginUse| one.stage == used.stage && one.name == used.name;
            let is_there = |one: &Candidate<'_>| {
                let document = &one.good.document;
                document.stage == used.stage && document.name == used.name
            };
            if self.built_in.iter().any(is_built_in) || self.candidates.iter().any(is_there) {
                continue;
            }
            let problem = self.lost.iter().find(|(entry, _)| match &entry.present {
                Some(present) => present.name == used.name,
                None => Stage::named(&entry.plugin.label).is_none_or(|stage| stage == used.stage),
            });
            if let Some((entry, problem)) = problem {
                let (what, help) = match entry.state {
                    State::Pending(_) => (
                        "waits for an approval",
                        "approve the version, go back to an approved one with `host plugin rollback`, or delete the \
                         ConfigMap to use the built-in plugin",
                    ),
                    _ => (
                        "cannot be loaded any more",
                        "fix the ConfigMap of the plugin, or delete it to use the built-in plugin",
                    ),
                };
                let what = format!("plugin '{}' was used and {what}; nothing is changed", used.name);
                let error = Diagnostic::error(codes::PLUGIN_LOST, format!("{what}: {}", problem.message));
                self.selection.errors.push(error.help(help));
            }
        }
    }

    /// The plugins that run beside others.
    fn choose_shadows(&mut self) {
        for (nth, one) in self.shadows.clone().into_iter().enumerate() {
            if nth < MAX_SHADOWS {
                let chosen = self.chosen(one, None, true);
                self.selection.shadows.push(chosen);
                continue;
            }
            let what = format!("a deployment runs at most {MAX_SHADOWS} shadow plugins");
            let error = Diagnostic::error(codes::PLUGIN_MANY_SHADOWS, what).help("make their selectors disjoint");
            self.refuse(one, &error);
        }
    }

    /// Waits for canaries that the deployment may have used before a restart: the first version would change its
    /// objects for a moment. A new canary is used once it is loaded.
    fn wait_for_canaries(&mut self) {
        for (key, present, since) in mem::take(&mut self.loading) {
            let Some(first) = self.first_version(key, present).map(|at| self.candidates[at].good) else {
                continue;
            };
            let first = first.document.digest.as_ref();
            let mut used = self.asking.used.iter();
            let used = used.find(|used| used.name == present.name && used.stage == present.stage);
            // Two versions may differ only in their settings, which the status does not have.
            let may_be_used = |used: &PluginUse| {
                Some(used.digest.as_str()) != first.map(Digest::digest) || present.digest.as_ref() == first
            };
            if used.is_some_and(may_be_used) {
                let name = present.name.clone();
                self.selection.waiting.push(Waiting { name, since });
            }
        }
    }

    /// Puts canaries in the place of the first versions, which run beside them for comparison.
    fn apply_canaries(&mut self) {
        for canary in mem::take(&mut self.canaries) {
            let Some(at) = self.first_version(canary.key, &canary.good.document) else {
                let what = "there is no first version for this deployment, or another canary has taken its place";
                let error = Diagnostic::error(codes::PLUGIN_CANARY_ALONE, what);
                let error = error.help("install the first version, or remove `canary` from its plugin.yaml");
                self.refuse(canary, &error);
                continue;
            };
            let place = &mut self.candidates[at];
            let first = *place;
            *place = Candidate {
                place: first.place,
                created: first.created,
                ..canary
            };
            if self.selection.shadows.len() < MAX_SHADOWS {
                let document = &first.good.document;
                let mut choices = self.choices(document.stage).into_iter();
                let choice = choices.find(|choice| choice.name == document.name);
                let chosen = self.chosen(first, choice, true);
                self.selection.shadows.push(chosen);
            }
        }
    }

    /// The place of the first version of a canary.
    fn first_version(&self, key: &Key, canary: &PluginDocument) -> Option<usize> {
        self.candidates.iter().position(|one| {
            let first = &one.good.document;
            let is_same = (&first.name, first.stage, first.wraps) == (&canary.name, canary.stage, canary.wraps);
            is_same && first.canary.is_none() && one.key.namespace == key.namespace
        })
    }

    /// The rule of a stage.
    fn choose_rule(&mut self, stage: Stage) {
        let choice = self
            .choices(stage)
            .into_iter()
            .find(|choice| !self.names_wrapper(choice));
        if let Some(choice) = choice {
            return self.choose(choice);
        }
        let replaces = |one: &Candidate<'_>| one.good.document.stage == stage && !one.good.document.wraps;
        let mut serving = self.candidates.clone().into_iter().filter(replaces);
        let Some(first) = serving.next() else { return };
        for other in serving {
            let error = Diagnostic::error(
                codes::PLUGIN_CONFLICT,
                format!(
                    "the older plugin in ConfigMap '{}' is used for the stage '{stage}'",
                    first.key
                ),
            );
            let error = error.help("make their selectors disjoint, or name one in spec.conversion.plugins");
            self.refuse(other, &error);
        }
        self.choose_candidate(first, None, false);
    }

    /// The wrappers of a rule, or the plugins of a stage without one.
    fn choose_ordered(&mut self, stage: Stage) {
        let choices: Vec<&PluginChoice> = self
            .choices(stage)
            .into_iter()
            .filter(|choice| !stage.has_rule() || self.names_wrapper(choice))
            .collect();
        let mut ordered: Vec<Candidate<'a>> = self
            .candidates
            .iter()
            .filter(|one| one.good.document.stage == stage && one.good.document.wraps == stage.has_rule())
            .filter(|one| !choices.iter().any(|choice| choice.name == one.good.document.name))
            .copied()
            .collect();
        let order = |one: &Candidate<'_>| one.good.document.order;
        ordered.sort_by_key(|one| (order(one).unwrap_or(0), one.place));
        let orders: Vec<Option<i64>> = ordered.iter().map(order).collect();
        for one in ordered {
            // Explicit only if no other plugin has the same order.
            let own = order(&one);
            let is_ordered = own.is_some() && orders.iter().filter(|other| **other == own).count() == 1;
            self.choose_candidate(one, None, is_ordered);
        }
        for choice in choices {
            self.choose(choice);
        }
    }

    fn choices(&self, stage: Stage) -> Vec<&'a PluginChoice> {
        let choices = self.asking.choices.iter();
        choices.filter(|choice| choice.stage == stage).collect()
    }

    /// Whether a choice names a wrapper.
    fn names_wrapper(&self, choice: &PluginChoice) -> bool {
        self.find(choice).is_some_and(|one| one.good.document.wraps)
    }

    /// The plugin that a choice names, of its own namespace or of the operator's.
    fn find(&self, choice: &PluginChoice) -> Option<Candidate<'a>> {
        let stage = choice.stage;
        let named = |one: &&Candidate<'_>| {
            let document = &one.good.document;
            document.stage == stage && document.name == choice.name
        };
        let here = |one: &&Candidate<'_>| one.key.namespace == self.asking.namespace;
        let found = self.candidates.iter().filter(named).find(here);
        found.or_else(|| self.candidates.iter().find(named)).copied()
    }

    /// A plugin that the deployment names: of its own namespace, of the operator's namespace, or built in.
    fn choose(&mut self, choice: &PluginChoice) {
        let stage = choice.stage;
        if let Some(found) = self.find(choice) {
            return self.choose_candidate(found, Some(choice), true);
        }
        let is_built_in = |one: &PluginUse| one.stage == choice.stage && one.name == choice.name;
        if self.built_in.iter().any(is_built_in) && stage.has_rule() {
            let chosen = Chosen {
                stage,
                name: choice.name.clone(),
                installer: Installer::BuiltIn,
                digest: None,
                is_ordered: true,
                policy: CheckPolicy::default(),
                groups: None,
                settings: settings_of(&Tree::object(), choice, String::new()),
            };
            return self.selection.chosen.push(Pick {
                chosen,
                packed: None,
                warnings: Vec::new(),
                trial: None,
            });
        }
        if self.selection.waiting.iter().any(|one| one.name == choice.name) {
            return;
        }
        let error = Diagnostic::error(
            codes::PLUGIN_NOT_FOUND,
            format!(
                "no plugin '{}' of the stage '{stage}' is available to this deployment",
                choice.name
            ),
        );
        let help = "use a plugin of this namespace, of the operator's namespace, or a built-in one";
        let of_stage = self.candidates.iter().map(|one| &one.good.document);
        let names = of_stage
            .filter(|document| document.stage == stage)
            .map(|document| document.name.as_str());
        let error = error.help(help).suggest(&choice.name, names);
        self.selection.errors.push(error);
    }

    /// Reports why a plugin is not used.
    fn refuse(&mut self, one: Candidate<'_>, error: &Diagnostic) {
        let name = format!("plugin '{}' (ConfigMap '{}')", one.good.document.name, one.key);
        self.selection.plugin_problems.push(PluginProblem::one(&name, error));
    }

    fn choose_candidate(&mut self, one: Candidate<'_>, choice: Option<&PluginChoice>, is_ordered: bool) {
        let chosen = self.chosen(one, choice, is_ordered);
        self.selection.chosen.push(Pick {
            chosen,
            packed: one.good.packed.clone(),
            warnings: one.good.warnings.clone(),
            trial: one.good.document.canary.is_some().then(|| one.good.trial.clone()),
        });
    }

    /// A plugin, with the settings of a choice.
    fn chosen(&self, one: Candidate<'_>, choice: Option<&PluginChoice>, is_ordered: bool) -> Chosen {
        let document = &one.good.document;
        let place = format!("configmap/{}/{}", one.key.name, super::marks::DOCUMENT);
        let settings = match choice {
            Some(choice) => settings_of(&document.settings, choice, place),
            None => Settings {
                tree: document.settings.clone(),
                document: place,
            },
        };
        Chosen {
            stage: document.stage,
            name: document.name.clone(),
            installer: Installer::Namespace {
                name: one.key.namespace.clone(),
                is_of_operator: one.key.namespace == self.asking.operator_namespace,
            },
            digest: document.digest.clone(),
            is_ordered,
            policy: document.policy,
            groups: document.selector.instance_groups.clone(),
            settings,
        }
    }
}

/// The settings of the plugin, overridden by those of the deployment.
fn settings_of(own: &Tree, choice: &PluginChoice, document: String) -> Settings {
    let mut tree = own.clone();
    for (key, value) in &choice.settings {
        // What serde writes can be parsed.
        let value = json::parse(&value.to_string()).unwrap_or(Tree::Null);
        tree.set(key, value);
    }
    let document = if choice.settings.is_empty() {
        document
    } else {
        "spec.conversion.plugins".to_string()
    };
    Settings { tree, document }
}
