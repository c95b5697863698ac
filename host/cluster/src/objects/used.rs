//! Which Secrets and ConfigMaps the workloads of a namespace refer to anywhere: their pods may need them.

use crate::client::{AnyObject, Cluster, Error, resource};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::Value;
use std::collections::BTreeSet;

/// Kinds whose pods mount objects of the controllers, and pods.
const WORKLOADS: [(&str, &str); 7] = [
    (labels::API_VERSION, "QuarksStatefulSet"),
    (labels::API_VERSION, "QuarksJob"),
    STATEFUL_SET,
    ("apps/v1", "Deployment"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
];
const STATEFUL_SET: (&str, &str) = ("apps/v1", "StatefulSet");

/// The objects in use.
#[derive(Debug, Default)]
pub struct Used {
    names: BTreeSet<String>,
    /// Whether pods of an older revision may restart and need objects that no workload refers to.
    pub rolls: bool,
}

// === impl Used ===

impl Used {
    /// Which of `candidates` the workloads with these labels refer to.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn of<'n>(
        cluster: &Cluster,
        namespace: &str,
        labels: &str,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, Error> {
        let mut open: BTreeSet<String> = candidates.into_iter().map(str::to_string).collect();
        let mut used = Self::default();
        for (api_version, kind) in WORKLOADS {
            let note = |object: Value| used.note(&object, &mut open);
            let kind = resource(api_version, kind);
            cluster.each_any(&kind, namespace, labels, note).await?;
        }
        Ok(used)
    }

    /// Whether this is among them.
    pub fn holds(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn note(&mut self, object: &Value, open: &mut BTreeSet<String>) {
        self.rolls |= may_roll(object);
        let text = object.to_string();
        let (named, rest) = std::mem::take(open)
            .into_iter()
            .partition(|name| text.contains(&format!("\"{name}\"")));
        self.names.extend::<BTreeSet<String>>(named);
        *open = rest;
    }
}

/// Whether a StatefulSet with these labels is rolling.
///
/// # Errors
/// See [`Error`].
pub async fn rolls(cluster: &Cluster, namespace: &str, labels: &str) -> Result<bool, Error> {
    let (sets, mut rolls) = (resource(STATEFUL_SET.0, STATEFUL_SET.1), false);
    let note = |set: Value| rolls |= may_roll(&set);
    cluster.each_any(&sets, namespace, labels, note).await?;
    Ok(rolls)
}

/// Whether this is a StatefulSet that is rolling. One that cannot be read may be rolling, too: then nothing is garbage.
fn may_roll(object: &Value) -> bool {
    object.kind() == Some(STATEFUL_SET.1) && object.typed().map_or(true, |set| is_rolling(&set))
}

/// Whether pods of an older revision of this StatefulSet may run or restart: its spec names only what the newest
/// revision needs.
fn is_rolling(set: &StatefulSet) -> bool {
    let status = set.status.as_ref();
    // A StatefulSet that its controller has not observed yet has no pods.
    let Some((status, observed)) = status.and_then(|status| Some((status, status.observed_generation?))) else {
        return false;
    };
    // With OnDelete, the current revision never changes.
    let strategy = set
        .spec
        .as_ref()
        .and_then(|spec| spec.update_strategy.as_ref()?.type_.as_deref());
    let replaced = strategy == Some("OnDelete") && status.updated_replicas.unwrap_or(0) == status.replicas;
    set.metadata.generation.is_some_and(|generation| observed < generation)
        || (status.current_revision != status.update_revision && !replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_any_object_refers_to_is_used() {
        let mut open: BTreeSet<String> = ["s-v1", "s-v2", "s-v10"].map(String::from).into();
        let mut used = Used::default();
        used.note(
            &json!({"spec": {"volumes": [{"secret": {"secretName": "s-v10"}}]}}),
            &mut open,
        );
        used.note(&json!({"kind": "Pod", "spec": {"a": "s-v2"}}), &mut open);
        let held = ["s-v1", "s-v2", "s-v10"].map(|name| used.holds(name));
        assert_eq!((held, used.rolls), ([false, true, true], false));
        assert_eq!(open, ["s-v1".to_string()].into());
    }

    #[test]
    fn a_stateful_set_rolls_until_all_of_its_pods_are_of_its_newest_revision() {
        let set = |generation: i64, status: Value| json!({"kind": "StatefulSet", "metadata": {"generation": generation}, "status": status});
        let status = |observed: i64, current: &str| json!({"observedGeneration": observed, "currentRevision": current, "updateRevision": "b", "replicas": 2});
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
            (set(1, json!("unreadable")), true),
            (by_user(1), true),
            (by_user(2), false),
            (
                json!({"kind": "Job", "metadata": {"generation": 2}, "status": status(1, "a")}),
                false,
            ),
        ] {
            assert_eq!(may_roll(&object), wanted, "{object}");
        }
    }
}
