//! Stops canaries whose conversions fail, and records that in their ConfigMaps, so that they are stopped also after a
//! restart.

use super::document::PluginDocument;
use super::gather;
use super::marks::STOPPED;
use super::problem::PluginProblem;
use super::registry::{Key, Registry, State};
use crate::codes;
use boson_cluster::client::{Cluster, Error};
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::ConfigMap;
use std::collections::BTreeMap;

/// Canaries that were stopped, until their ConfigMaps say so.
#[derive(Default)]
pub(super) struct StoppedCanaries(BTreeMap<Key, StoppedCanary>);

#[derive(Debug, PartialEq)]
struct StoppedCanary {
    /// Digest of the content of the ConfigMap.
    identity: String,
    why: String,
}

// === impl StoppedCanaries ===

impl StoppedCanaries {
    /// Stops the canaries that fail too often. True if there is one.
    pub(super) fn apply(&mut self, registry: &mut Registry) -> bool {
        let mut is_changed = false;
        for (key, entry) in &mut registry.entries {
            let good = entry.good.as_ref();
            let Some((document, why)) = good.and_then(|good| Some((&good.document, good.verdict()?))) else {
                continue;
            };
            tracing::warn!(plugin = %key, why, "the canary is stopped");
            // Otherwise the ConfigMap has another version by now, which this says nothing about.
            if matches!(entry.state, State::Fine) {
                entry.state = State::Refused(problem(key, document, &why));
                let identity = entry.identity.clone().unwrap_or_default();
                self.0.insert(key.clone(), StoppedCanary { identity, why });
            }
            entry.good = None;
            is_changed = true;
        }
        is_changed
    }

    /// Records them. False if some could not be recorded.
    pub(super) async fn record(&mut self, cluster: &Cluster) -> bool {
        let mut unrecorded = BTreeMap::new();
        for (key, stop) in std::mem::take(&mut self.0) {
            if let Err(error) = annotate(cluster, &key, &stop).await {
                tracing::warn!(plugin = %key, %error, "the stop of a canary cannot be recorded; this is retried");
                unrecorded.insert(key, stop);
            }
        }
        self.0 = unrecorded;
        self.0.is_empty()
    }
}

/// A version that replaced the stopped one meanwhile may be used.
async fn annotate(cluster: &Cluster, key: &Key, stopped: &StoppedCanary) -> Result<(), Error> {
    let StoppedCanary { identity, why } = stopped;
    let map: Option<ConfigMap> = cluster.get(&key.namespace, &key.name).await?;
    match map.filter(|map| gather::identity(map) == *identity) {
        Some(map) => gather::annotate(cluster, &map, STOPPED, &format!("{identity} {why}")).await,
        None => Ok(()),
    }
}

/// The problem of a canary that was stopped.
pub(super) fn problem(key: &Key, document: &PluginDocument, why: &str) -> PluginProblem {
    let what = format!("the canary was stopped, and its deployments use the first version: {why}");
    let help = "fix the version, or delete its ConfigMap; another content of it starts the canary again";
    let error = Diagnostic::error(codes::PLUGIN_CANARY_STOPPED, what).help(help);
    PluginProblem::one(&format!("plugin '{}' (ConfigMap '{key}')", document.name), &error)
}
