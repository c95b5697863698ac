//! The resolved plugins of one deployment: those of the installation, and those from ConfigMaps.

use crate::deployment::context::Context;
use crate::deployment::error::DeployError;
use crate::deployment::memory::FALLBACK_INTERVAL;
use crate::deployment::reconcile::ActivePlugins;
use boson_api::BoshDeployment;
use boson_pipeline::report::Sources;
use boson_plugins::host::Chosen;
use boson_plugins::{Asking, PluginProblem, Selection, Waiting, select};
use kube::ResourceExt;
use std::sync::Arc;

/// The result of the selection.
pub struct Resolution {
    /// What is wrong with plugins that are refused.
    pub plugin_problems: Vec<PluginProblem>,
    /// Names of plugins that are being loaded.
    pub loading: Vec<String>,
    /// The plugins to use, or why the deployment cannot be converted now.
    pub active: Result<ActivePlugins, DeployError>,
}

/// Resolves the plugins of a deployment; none while they are not listed or loaded yet, which is not reported.
pub fn resolve(context: &Context, object: &BoshDeployment, namespace: &str) -> Option<Resolution> {
    let registry = context.plugins.now();
    if !registry.covered.contains(namespace) {
        return None;
    }
    let name = object.name_any();
    let choices = object.spec.conversion.as_ref().map(|conversion| &conversion.plugins);
    let used = object.status.as_ref().map(|status| &status.plugins);
    let asking = Asking {
        namespace,
        name: &name,
        choices: choices.map(Vec::as_slice).unwrap_or_default(),
        used: used.map(Vec::as_slice).unwrap_or_default(),
        operator_namespace: &context.plugins.operator_namespace,
    };
    let selection = select(&registry, &asking, &context.conversion.plugin_host.built_in());
    // After a restart the plugins in use are loaded again; the status reports that only if it takes long.
    let again =
        |one: &Waiting| asking.used.iter().any(|used| used.name == one.name) && one.since.elapsed() < FALLBACK_INTERVAL;
    if !selection.waiting.is_empty() && selection.waiting.iter().all(again) {
        return None;
    }
    let resolution = active(context, selection, namespace, asking.name);
    // A plugin that was removed meanwhile is no error of this deployment; its watch event requeues the deployment.
    let outdated = resolution.active.is_err() && !Arc::ptr_eq(&registry, &context.plugins.now());
    (!outdated).then_some(resolution)
}

fn active(context: &Context, selection: Selection, namespace: &str, deployment: &str) -> Resolution {
    let mut plugin_problems = selection.plugin_problems;
    let loading = selection.waiting.iter().map(|one| one.name.clone()).collect();
    let invalid = |errors| DeployError::invalid(errors, &Sources::default());
    let active = if !selection.errors.is_empty() {
        plugin_problems.extend(
            selection
                .errors
                .iter()
                .map(|error| PluginProblem::one("spec.conversion.plugins", error)),
        );
        Err(invalid(selection.errors))
    } else if let [first, ..] = selection.waiting.as_slice() {
        Err(DeployError::Waiting(format!(
            "plugin '{}', which is being loaded",
            first.name
        )))
    } else {
        let chosen: Vec<Chosen> = selection.chosen.iter().map(|pick| pick.chosen.clone()).collect();
        let host = &context.conversion.plugin_host;
        match host.with(&chosen, &selection.shadows, namespace, deployment) {
            Ok(mut resolved) => {
                let warnings = selection.chosen.iter().flat_map(|pick| pick.warnings.clone());
                resolved.warnings.extend(warnings);
                Ok(ActivePlugins {
                    resolved,
                    picks: selection.chosen,
                })
            }
            Err(errors) => {
                plugin_problems.push(PluginProblem::of(
                    "spec.conversion.plugins",
                    &errors,
                    &Sources::default(),
                ));
                Err(invalid(errors))
            }
        }
    };
    Resolution {
        plugin_problems,
        loading,
        active,
    }
}
