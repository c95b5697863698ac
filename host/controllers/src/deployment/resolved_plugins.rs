//! The resolved plugins of one deployment: those of the installation, and those from ConfigMaps.

use super::Context;
use super::flow::Flow;
use super::stop::Stop;
use super::{MANAGER, plugins};
use crate::conversion::{Chosen, ResolvedPlugins};
use crate::plugins::{Asking, COPY, Fault, Pick, Selection, Waiting, select};
use boson_api::BoshDeployment;
use boson_cluster::client::Error;
use boson_cluster::objects;
use boson_cluster::objects::used::Used;
use boson_manifest::labels;
use boson_pipeline::report::Sources;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use std::sync::Arc;

/// The result of the selection.
pub(super) struct Resolution {
    /// What is wrong with plugins that are refused.
    pub faults: Vec<Fault>,
    /// Names of plugins that are being loaded.
    pub loading: Vec<String>,
    /// The plugins to use, or why the deployment cannot be converted now.
    pub active: Result<ActivePlugins, Stop>,
}

/// The plugins that convert a deployment.
pub(super) struct ActivePlugins {
    /// The stages to call.
    pub resolved: ResolvedPlugins,
    /// Those of them that come from ConfigMaps.
    pub picks: Vec<Pick>,
}

// === impl Context ===

impl Context {
    /// Resolves the plugins of a deployment; none while they are not listed or loaded yet, which is not reported.
    pub(super) fn resolve_plugins(&self, object: &BoshDeployment, namespace: &str) -> Option<Resolution> {
        let registry = self.plugins.now();
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
            operator_namespace: &self.plugins.operator_namespace,
        };
        let selection = select(&registry, &asking, &self.conversion.plugin_host.built_in());
        // After a restart the plugins in use are loaded again; the status reports that only if it takes long.
        let again =
            |one: &Waiting| asking.used.iter().any(|used| used.name == one.name) && one.since.elapsed() < super::WAIT;
        if !selection.waiting.is_empty() && selection.waiting.iter().all(again) {
            return None;
        }
        let resolution = self.active_plugins(selection, namespace);
        // A plugin that was removed meanwhile is no error of this deployment; its watch event requeues the deployment.
        let outdated = resolution.active.is_err() && !Arc::ptr_eq(&registry, &self.plugins.now());
        (!outdated).then_some(resolution)
    }

    fn active_plugins(&self, selection: Selection, namespace: &str) -> Resolution {
        let mut faults = selection.faults;
        let loading = selection.waiting.iter().map(|one| one.name.clone()).collect();
        let wrong = |errors| Stop::wrong(errors, &Sources::default());
        let active = if !selection.errors.is_empty() {
            faults.extend(
                selection
                    .errors
                    .iter()
                    .map(|error| Fault::one("spec.conversion.plugins", error)),
            );
            Err(wrong(selection.errors))
        } else if let [first, ..] = selection.waiting.as_slice() {
            Err(Stop::Waiting(format!("plugin '{}', which is being loaded", first.name)))
        } else {
            let chosen: Vec<Chosen> = selection.chosen.iter().map(|pick| pick.chosen.clone()).collect();
            match self.conversion.plugin_host.with(&chosen, namespace) {
                Ok(resolved) => Ok(ActivePlugins {
                    resolved,
                    picks: selection.chosen,
                }),
                Err(errors) => {
                    faults.push(Fault::of("spec.conversion.plugins", &errors, &Sources::default()));
                    Err(wrong(errors))
                }
            }
        };
        Resolution {
            faults,
            loading,
            active,
        }
    }
}

// === impl Flow: copies for pods ===

impl Flow<'_> {
    /// Creates the copies that pods are about to mount.
    pub(super) async fn copy_plugins(&self) -> Result<(), Error> {
        for copy in &self.copies.maps {
            let name = copy.metadata.name.as_deref().unwrap_or_default();
            let live: Option<ConfigMap> = self.context.cluster.get(self.namespace, name).await?;
            // A copy is immutable and named by its content, so an existing one is up to date.
            if live.is_none() {
                self.note_write();
                self.context.cluster.create(MANAGER, copy).await?;
            }
        }
        Ok(())
    }

    /// Copies that the deployment no longer mounts.
    pub(super) async fn old_copies(&self) -> Result<Vec<ConfigMap>, Error> {
        let labels = format!("{}={},{COPY}=true", labels::DEPLOYMENT_NAME, self.names.deployment());
        let mut all: Vec<ConfigMap> = self.context.cluster.list(self.namespace, &labels).await?;
        all.retain(|copy| objects::has_owner(copy, &self.owner.uid) && plugins::is_unused(copy, &self.copies));
        Ok(all)
    }

    /// Deletes those of them that no workload refers to.
    pub(super) async fn delete_copies(&self, copies: &[ConfigMap], used: &Used) -> Result<(), Error> {
        for copy in copies.iter().filter(|copy| !used.holds(&copy.name_any())) {
            self.note_write();
            self.context.cluster.delete(copy).await?;
        }
        Ok(())
    }
}
