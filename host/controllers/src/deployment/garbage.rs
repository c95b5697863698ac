//! Deletes versions of Secrets, copies of plugins and job sources that are no longer used, once no pod can start that needs them.

use super::Context;
use super::flow::Flow;
use boson_cluster::client::Error;
use boson_cluster::objects::used::{self, Used};
use boson_cluster::objects::versioned;
use boson_manifest::labels::{self, secret_type};
use boson_manifest::names::Names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

/// Namespace and name of a deployment.
type Key = (String, String);

/// The deployments that have something to delete after a rollout of their StatefulSets.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    later: Mutex<HashSet<Key>>,
}

// === impl Sweeps ===

impl Garbage {
    fn note(&self, key: Key, later: bool) {
        let mut all = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        match later {
            true => all.insert(key),
            false => all.remove(&key),
        };
    }

    /// Whether something is left for later.
    pub(super) fn is_later(&self, key: &Key) -> bool {
        self.later.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    /// The deployment is deleted.
    pub(super) fn forget(&self, namespace: &str, deployment: &str) {
        self.note((namespace.into(), deployment.into()), false);
    }
}

// === impl Context ===

impl Context {
    /// Whether something was left for later and can be deleted now. It must be polled: a rollout changes only the status of a StatefulSet.
    pub(super) async fn can_collect_garbage(&self, key: &Key) -> Result<bool, Error> {
        // Whether the name is valid does not depend on namespace or cluster domain.
        let Ok(names) = Names::new(&key.1, "", "") else {
            return Ok(false);
        };
        if !self.garbage.is_later(key) {
            return Ok(false);
        }
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
        Ok(!used::rolls(&self.cluster, &key.0, &labels).await?)
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// Deletes what no workload refers to. `series`: names of the series that the deployment uses; `objects`: its wanted objects.
    pub(super) async fn collect_garbage(
        &self,
        series: &BTreeSet<String>,
        existing: &[ObjectMeta],
        objects: &[Value],
    ) -> Result<(), Error> {
        let key = (self.namespace.to_string(), self.object.name_any());
        let uid = &self.owner.uid;
        let mut copies = self.old_copies().await?;
        copies.extend(self.old_job_sources(objects).await?);
        // The output of an errand is no document of the conversion.
        let ours = |meta: &&ObjectMeta| secret_type(meta).is_some();
        let mut existing: Vec<ObjectMeta> = existing.iter().filter(ours).cloned().collect();
        let keep = self.context.conversion.keep_versions;
        let garbage = versioned::garbage(&existing, uid, series, keep, |_| false);
        if garbage.is_empty() && copies.is_empty() {
            self.context.garbage.note(key, false);
            return Ok(());
        }
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, self.names.deployment());
        let candidates = garbage.iter().filter_map(|meta| meta.name.as_deref());
        let candidates = candidates.chain(copies.iter().filter_map(|copy| copy.metadata.name.as_deref()));
        let used = Used::of(&self.context.cluster, self.namespace, &labels, candidates).await?;
        if used.rolls {
            existing.retain(is_never_mounted_by_sets);
        }
        for meta in versioned::garbage(&existing, uid, series, keep, |name| used.holds(name)) {
            self.note_write();
            self.context.cluster.delete(&versioned::around(meta)).await?;
        }
        self.context.garbage.note(key, used.rolls);
        match used.rolls {
            true => Ok(()),
            false => self.delete_copies(&copies, &used).await,
        }
    }
}

/// Deleted even during a rollout: else a stuck rollout would retain every manifest from then on.
fn is_never_mounted_by_sets(meta: &ObjectMeta) -> bool {
    secret_type(meta) == Some(secret_type::DESIRED)
}

fn secret_type(meta: &ObjectMeta) -> Option<&str> {
    meta.labels.as_ref()?.get(labels::SECRET_TYPE).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_later_is_remembered_until_it_is_done() {
        let (garbage, key) = (Garbage::default(), ("n".to_string(), "d".to_string()));
        garbage.note(key.clone(), true);
        assert!(garbage.is_later(&key) && !garbage.is_later(&("n".into(), "e".into())));
        garbage.note(key.clone(), false);
        assert!(!garbage.is_later(&key));
        garbage.note(key.clone(), true);
        garbage.forget("n", "d");
        assert!(!garbage.is_later(&key));
    }
}
