//! The plugins of one deployment: those in use, and shadow plugins beside them.

use super::{Known, Shared};
use boson_pipeline::Diagnostic;
use boson_pipeline::shadow::{Shadow, Shadowed};
use boson_pipeline::stage::SharedStages;
use boson_plugins::codes;
use boson_plugins::host::{Chosen, ResolvedPlugins};
use boson_sandbox::{Account, Plugins, Sandbox};
use std::sync::Arc;
use std::time::Duration;

/// Units of fuel of all calls of a shadow plugin in a conversion: about two seconds.
const MAX_SHADOW_FUEL: u64 = 2_000_000_000;
/// Time of a call of a shadow plugin, and of all calls in a conversion, after which no call of it begins: it delays the
/// conversion by twice this at most.
const SHADOW_TIMEOUT: Duration = Duration::from_secs(5);

/// The deployment that plugins are called for.
#[derive(Clone, Copy)]
pub(super) struct DeploymentRef<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
}

// === impl Shared ===

impl Shared {
    pub(super) fn with(
        &self,
        chosen: &[Chosen],
        shadows: &[Chosen],
        deployment: DeploymentRef<'_>,
    ) -> Result<ResolvedPlugins, Vec<Diagnostic>> {
        let (mut all, mut reported) = (self.built_in.clone(), Vec::new());
        for one in chosen {
            let Some(known) = self.find(one) else {
                let what = format!("plugin '{}' of the stage '{}' is not loaded", one.name, one.stage);
                reported.push(Diagnostic::error(codes::PLUGIN_NOT_FOUND, what));
                continue;
            };
            // Named before, because messages name it.
            let known = known.named(one);
            // A check may take seconds, and this thread has other tasks.
            let checked =
                tokio::task::block_in_place(|| known.verdicts.of(&known.plugin, &self.sandbox, &one.settings));
            reported.extend(checked.unwrap_or_else(|errors| errors));
            if one.stage.has_rule() && !known.plugin.wraps {
                all.retain(|other| other.plugin.stage != one.stage);
            }
            all.push(known);
        }
        if reported.iter().any(Diagnostic::is_error) {
            return Err(reported);
        }
        // By stage; the order within a stage stays.
        all.sort_by_key(|one| one.plugin.stage);
        let beside = shadows.iter().filter_map(|one| self.shadow(one, &all, deployment));
        let beside: Vec<(Shadow, String)> = beside.collect();
        let account = Account::new(deployment.namespace, self.sandbox.limits().conversion_fuel);
        let stages = stages(&self.sandbox, account, &all, deployment)?;
        Ok(resolved(Arc::new(stages), all, beside, reported))
    }

    /// A plugin that runs beside those in use, and a text of what it depends on; none if it is not loaded, or cannot
    /// take its place.
    fn shadow(&self, one: &Chosen, all: &[Known], deployment: DeploymentRef<'_>) -> Option<(Shadow, String)> {
        let shadow = self.find(one)?.named(one);
        let (stage, wraps, digest) = (shadow.plugin.stage, shadow.plugin.wraps, shadow.used.digest.clone());
        let settings = &shadow.plugin.settings;
        let text = format!("shadow {digest}:{}:{settings}\n", settings.len());
        let mut of_stage = all.iter().filter(|one| one.plugin.stage == stage);
        let (mut candidates, nth) = if stage.has_rule() {
            (of_stage.cloned().collect(), None)
        } else {
            (Vec::new(), of_stage.position(|other| other.used.name == one.name))
        };
        // A wrapper replaces the one of its name, and a rule the rule.
        let replaced = |other: &&mut Known| {
            let is_named = other.used.name == one.name;
            other.plugin.wraps == wraps && (is_named || !wraps)
        };
        match candidates.iter_mut().find(replaced) {
            Some(place) => *place = shadow,
            None => candidates.push(shadow),
        }
        let account = Account::new(deployment.namespace, MAX_SHADOW_FUEL).with_timeout(SHADOW_TIMEOUT);
        let sandbox = self.sandbox.clone().with_limits(MAX_SHADOW_FUEL, SHADOW_TIMEOUT);
        let stages = stages(&sandbox, account, &candidates, deployment);
        let stages =
            stages.inspect_err(|failure| tracing::warn!(plugin = one.name, %failure, "a shadow plugin is not run"));
        let shadow = Shadow::new(stage, &one.name, &digest, nth, Arc::new(stages.ok()?));
        Some((shadow, text))
    }
}

/// The stages of these plugins, for calls of a deployment.
fn stages(
    sandbox: &Sandbox,
    account: Account,
    all: &[Known],
    deployment: DeploymentRef<'_>,
) -> Result<Plugins, boson_sandbox::Error> {
    let stages = Plugins::new(sandbox.clone()).with_account(account);
    let mut stages = stages.with_deployment(deployment.name, deployment.namespace);
    for known in all {
        stages.add(known.plugin.clone(), known.is_ordered, known.policy)?;
    }
    Ok(stages)
}

/// The plugins of a deployment, with those that run beside them.
fn resolved(
    stages: SharedStages,
    all: Vec<Known>,
    shadows: Vec<(Shadow, String)>,
    warnings: Vec<Diagnostic>,
) -> ResolvedPlugins {
    let mut texts = String::new();
    for known in &all {
        // Permissions may depend on who installed it.
        texts.push_str(&format!("{:?}\n", known.plugin.author()));
        let parts = [known.plugin.stage.name(), &known.used.digest, &known.plugin.settings];
        let flags = [known.is_ordered, known.policy.is_enforced, known.policy.is_optional];
        let flags = flags.map(|flag| flag.to_string());
        for part in parts.into_iter().chain(flags.iter().map(String::as_str)) {
            texts.push_str(&format!("{}:{part}\n", part.len()));
        }
        if let Some(groups) = known.plugin.groups() {
            texts.push_str(&format!("groups {groups:?}\n"));
        }
    }
    for (_, text) in &shadows {
        texts.push_str(text);
    }
    let shadows: Arc<[Shadow]> = shadows.into_iter().map(|(shadow, _)| shadow).collect();
    ResolvedPlugins {
        stages: if shadows.is_empty() {
            stages
        } else {
            Arc::new(Shadowed::new(stages, shadows.clone()))
        },
        uses: all.into_iter().map(|one| one.used).collect(),
        shadows,
        digest: boson_pipeline::digest::sha256(texts),
        warnings,
    }
}
