//! Which Secrets and ConfigMaps the workloads of a namespace refer to anywhere: their pods may need them.

use crate::client::{AnyObject, Cluster, Error, resource};
use boson_manifest::labels;
use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::Value;
use std::collections::BTreeSet;

/// Kinds whose pods mount objects of the controllers, and pods.
const WORKLOAD_KINDS: [(&str, &str); 7] = [
    (labels::API_VERSION, "QuarksStatefulSet"),
    (labels::API_VERSION, "QuarksJob"),
    STATEFUL_SET,
    ("apps/v1", "Deployment"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
];
const STATEFUL_SET: (&str, &str) = ("apps/v1", "StatefulSet");

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
        for (api_version, kind) in WORKLOAD_KINDS {
            let note = |object: Value| used.note(&object, &mut open);
            let kind = resource(api_version, kind);
            cluster.each_any(&kind, namespace, labels, note).await?;
        }
        Ok(used)
    }

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

/// Whether a pod of an older revision of this StatefulSet may be created, or is about to go: its spec names only what
/// the newest revision needs.
fn is_rolling(set: &StatefulSet) -> bool {
    let status = set.status.as_ref();
    // A StatefulSet that its controller has not observed yet has no pods.
    let Some((status, observed)) = status.and_then(|status| Some((status, status.observed_generation?))) else {
        return false;
    };
    let spec = set.spec.as_ref();
    let strategy = spec.and_then(|spec| spec.update_strategy.as_ref()?.type_.as_deref());
    let has_old_pods = if strategy == Some("OnDelete") {
        // The current revision never changes, and pods of an older one may stay as long as nothing differs for them.
        let of = |number: Option<i32>| number.unwrap_or(0);
        let is_resized = spec
            .and_then(|spec| spec.replicas)
            .is_some_and(|wanted| wanted != status.replicas);
        is_resized || of(status.updated_replicas).max(of(status.ready_replicas)) < status.replicas
    } else {
        status.current_revision != status.update_revision
    };
    set.metadata.generation.is_some_and(|generation| observed < generation) || has_old_pods
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
    fn a_stateful_set_rolls_as_long_as_pods_of_an_older_revision_are_created_or_replaced() {
        let set = |generation: i64, status: Value| json!({"kind": "StatefulSet", "metadata": {"generation": generation}, "status": status});
        let status = |observed: i64, current: &str| json!({"observedGeneration": observed, "currentRevision": current, "updateRevision": "b", "replicas": 2});
        let by_user = |replicas: i64, updated: i64, ready: i64| {
            let mut set = set(2, status(2, "a"));
            set["spec"] = json!({"replicas": replicas, "updateStrategy": {"type": "OnDelete"}});
            set["status"]["updatedReplicas"] = updated.into();
            set["status"]["readyReplicas"] = ready.into();
            set
        };
        for (object, wanted) in [
            (set(2, status(2, "b")), false),
            (set(2, status(2, "a")), true),
            (set(2, status(1, "b")), true),
            (set(1, json!({})), false),
            (set(1, json!("unreadable")), true),
            (by_user(2, 1, 1), true),
            (by_user(2, 2, 1), false),
            (by_user(2, 0, 2), false),
            (by_user(0, 2, 2), true),
            (
                json!({"kind": "Job", "metadata": {"generation": 2}, "status": status(1, "a")}),
                false,
            ),
        ] {
            assert_eq!(may_roll(&object), wanted, "{object}");
        }
    }
}
