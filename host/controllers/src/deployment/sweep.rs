//! Versions of Secrets and copies of plugins that nobody needs any more go, once no pod can start that does.

use super::Context;
use super::flow::Flow;
use crate::client::{Error, resource};
use crate::versioned;
use boson_deployment::labels::{self, secret_type};
use boson_deployment::names::Names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

/// Kinds whose pods mount versioned Secrets. Pods themselves are of one of these, or are on their way out.
const WORKLOADS: [(&str, &str); 4] = [
    (labels::API_VERSION, "QuarksStatefulSet"),
    (labels::API_VERSION, "QuarksJob"),
    STATEFUL_SET,
    ("batch/v1", "Job"),
];
const STATEFUL_SET: (&str, &str) = ("apps/v1", "StatefulSet");

/// Namespace and name of a deployment.
type Key = (String, String);

/// The deployments that have something to delete when their StatefulSets have rolled.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    later: Mutex<HashSet<Key>>,
}

// === impl Sweeps ===

impl Sweeps {
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

    /// The deployment is gone.
    pub(super) fn forget(&self, namespace: &str, deployment: &str) {
        self.note((namespace.into(), deployment.into()), false);
    }
}

// === impl Context ===

impl Context {
    /// Whether something was left for later, and can go by now. Nothing else tells: what rolls changes its status only.
    pub(super) async fn can_sweep(&self, key: &Key) -> Result<bool, Error> {
        // What has a name for its objects has one without a cluster, too.
        let Ok(names) = Names::new(&key.1, "", "") else {
            return Ok(false);
        };
        if !self.sweeps.is_later(key) {
            return Ok(false);
        }
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
        let sets = resource(STATEFUL_SET.0, STATEFUL_SET.1);
        let sets = self.cluster.list_any(&sets, &key.0, &labels).await?;
        Ok(!sets.iter().any(is_rolling))
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// Deletes what no workload names any more. `series`: names of those that the deployment has.
    pub(super) async fn sweep(&self, series: &BTreeSet<String>, existing: &[ObjectMeta]) -> Result<(), Error> {
        let key = (self.namespace.to_string(), self.object.name_any());
        let uid = &self.owner.uid;
        let copies = self.old_copies().await?;
        // What an errand left is not a document of the conversion.
        let ours = |meta: &&ObjectMeta| secret_type(meta).is_some();
        let mut existing: Vec<ObjectMeta> = existing.iter().filter(ours).cloned().collect();
        let garbage = versioned::garbage(&existing, uid, series, |_| false);
        if garbage.is_empty() && copies.is_empty() {
            self.context.sweeps.note(key, false);
            return Ok(());
        }
        let labels = format!("{}={}", labels::DEPLOYMENT_NAME, self.names.deployment());
        let (mut workloads, mut rolls) = (String::new(), false);
        for (api_version, kind) in WORKLOADS {
            let kind = resource(api_version, kind);
            for object in self.context.cluster.list_any(&kind, self.namespace, &labels).await? {
                rolls |= is_rolling(&object);
                workloads.push_str(&object.to_string());
            }
        }
        if rolls {
            existing.retain(is_never_mounted_by_sets);
        }
        let is_used = |name: &str| workloads.contains(&format!("\"{name}\""));
        for meta in versioned::garbage(&existing, uid, series, is_used) {
            self.note_write();
            self.context.cluster.delete(&versioned::around(meta)).await?;
        }
        self.context.sweeps.note(key, rolls);
        match rolls {
            true => Ok(()),
            false => self.sweep_copies(&copies, &workloads).await,
        }
    }
}

/// Whether pods of an older revision of this StatefulSet may run, or start again: its spec names what the newest needs only.
fn is_rolling(object: &Value) -> bool {
    if object["kind"] != STATEFUL_SET.1 {
        return false;
    }
    let status = &object["status"];
    // One that nobody has looked at yet has no pods.
    let Some(observed) = status["observedGeneration"].as_i64() else {
        return false;
    };
    // Where the user deletes pods, the current revision stays what it was for ever.
    let by_user = object["spec"]["updateStrategy"]["type"] == "OnDelete";
    let replaced = by_user && status["updatedReplicas"] == status["replicas"];
    observed < object["metadata"]["generation"].as_i64().unwrap_or_default()
        || (status["currentRevision"] != status["updateRevision"] && !replaced)
}

/// Or a rollout that is stuck would keep every manifest from then on.
fn is_never_mounted_by_sets(meta: &ObjectMeta) -> bool {
    secret_type(meta) == Some(secret_type::DESIRED)
}

fn secret_type(meta: &ObjectMeta) -> Option<&str> {
    meta.labels.as_ref()?.get(labels::SECRET_TYPE).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stateful_set_rolls_until_all_of_its_pods_are_of_its_newest_revision() {
        let set = |generation: i64, status: Value| json!({"kind": "StatefulSet", "metadata": {"generation": generation}, "status": status});
        let status = |observed: i64, current: &str| json!({"observedGeneration": observed, "currentRevision": current, "updateRevision": "b"});
        let by_user = |updated: i64| {
            let mut set = set(2, status(2, "a"));
            set["spec"] = json!({"updateStrategy": {"type": "OnDelete"}});
            set["status"]["replicas"] = 2.into();
            set["status"]["updatedReplicas"] = updated.into();
            set
        };
        for (object, wanted) in [
            (set(2, status(2, "b")), false),
            (set(2, status(2, "a")), true),
            (set(2, status(1, "b")), true),
            (set(1, json!({})), false),
            (by_user(1), true),
            (by_user(2), false),
            (
                json!({"kind": "Job", "metadata": {"generation": 2}, "status": status(1, "a")}),
                false,
            ),
        ] {
            assert_eq!(is_rolling(&object), wanted, "{object}");
        }
    }

    #[test]
    fn what_is_left_for_later_is_remembered_until_it_is_done() {
        let (sweeps, key) = (Sweeps::default(), ("n".to_string(), "d".to_string()));
        sweeps.note(key.clone(), true);
        assert!(sweeps.is_later(&key) && !sweeps.is_later(&("n".into(), "e".into())));
        sweeps.note(key.clone(), false);
        assert!(!sweeps.is_later(&key));
        sweeps.note(key.clone(), true);
        sweeps.forget("n", "d");
        assert!(!sweeps.is_later(&key));
    }
}
