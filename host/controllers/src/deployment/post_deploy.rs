//! Starts the post-deploy scripts: once for each change of a deployment, when all of its instance groups are ready, on all instances at the same time.
//! The scripts wait for an annotation of their pod.

use super::outcome::{Observed, Outcome};
use super::{Context, MANAGER};
use boson_api::BoshDeployment;
use boson_cluster::cache::Says;
use boson_cluster::client::{Error, Fault};
use boson_manifest::labels;
use boson_manifest::names::{LABEL_LIMIT, cut, label};
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::json;

/// Writes at a time.
const CALLS: usize = 8;

/// What to start.
#[derive(Debug, PartialEq, Eq)]
struct Start<'s> {
    /// The value of the annotation.
    version: String,
    /// Labels of the groups that have scripts.
    groups: Vec<&'s str>,
}

// === impl Context ===

impl Context {
    /// Annotates the pods that have post-deploy scripts, if it is time. The version that they got.
    pub(super) async fn post_deploy(
        &self,
        object: &BoshDeployment,
        observed: &Observed,
        namespace: &str,
    ) -> Result<Option<String>, Error> {
        let groups = self.cache.says("QuarksStatefulSet", &object.uid().unwrap_or_default());
        let status = object.status.as_ref();
        let done = status.and_then(|status| status.post_deploy.as_deref());
        let total = observed
            .groups
            .or(status.and_then(|status| status.total_instance_groups));
        let is_up = observed.outcome == Outcome::Applied && total == Some(observed.ready);
        let all: Vec<&Says> = groups.iter().map(|(_, says)| says).collect();
        let Some(start) = start(&all, is_up, done) else {
            return Ok(None);
        };
        let deployment = cut(&label(&object.name_any()), "", LABEL_LIMIT);
        let selector = format!(
            "{}={deployment},{} in ({})",
            labels::DEPLOYMENT_NAME,
            labels::INSTANCE_GROUP_NAME,
            start.groups.join(",")
        );
        let pods = self.cluster.list_metadata::<Pod>(namespace, &selector).await?;
        let lacking = pods.iter().filter(|pod| lacks(pod, &start.version));
        let writes: Vec<_> = lacking.map(|pod| self.annotate(pod, &start.version).boxed()).collect();
        let written: Vec<_> = stream::iter(writes).buffer_unordered(CALLS).collect().await;
        // The version is recorded when all have it: what failed is tried again.
        written.into_iter().collect::<Result<Vec<()>, _>>()?;
        tracing::info!(version = start.version, "the post-deploy scripts start");
        Ok(Some(start.version))
    }

    async fn annotate(&self, pod: &ObjectMeta, version: &str) -> Result<(), Error> {
        // Without its version: the status of a pod changes often, and the UID is enough to patch no other one.
        let identity = Pod {
            metadata: ObjectMeta {
                name: pod.name.clone(),
                namespace: pod.namespace.clone(),
                uid: pod.uid.clone(),
                ..ObjectMeta::default()
            },
            ..Pod::default()
        };
        let members = json!({ "metadata": { "annotations": { labels::POST_DEPLOY: version } } });
        match self.cluster.merge(MANAGER, &identity, members).await {
            Ok(_) => Ok(()),
            // It was deleted. As in BOSH, an instance that is created again runs no post-deploy script.
            Err(error) if error.is_race() || error.fault == Fault::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What to start now. `done`: the version for which scripts were started last.
fn start<'s>(groups: &[&'s Says], is_up: bool, done: Option<&str>) -> Option<Start<'s>> {
    let version = groups.iter().filter_map(|says| says.version).max()?.to_string();
    let scripts: Vec<&str> = groups.iter().filter_map(|says| says.post_deploy.as_deref()).collect();
    let is_due = is_up && !scripts.is_empty() && groups.iter().all(|says| says.ready) && done != Some(&version);
    is_due.then_some(Start {
        version,
        groups: scripts,
    })
}

fn lacks(pod: &ObjectMeta, version: &str) -> bool {
    let annotations = pod.annotations.as_ref();
    let says = annotations.and_then(|all| all.get(labels::POST_DEPLOY));
    pod.deletion_timestamp.is_none() && says.map(String::as_str) != Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(ready: bool, version: Option<u32>, script: Option<&str>) -> Says {
        Says {
            ready,
            version,
            post_deploy: script.map(str::to_string),
            ..Says::default()
        }
    }

    #[test]
    fn scripts_start_once_for_each_change_when_all_groups_are_ready() {
        let [a, b] = [says(true, Some(3), Some("a")), says(true, Some(5), None)];
        let of = |groups: &[&Says], is_up, done| {
            let start = start(groups, is_up, done);
            start.map(|start| format!("{} {}", start.version, start.groups.join(",")))
        };
        assert_eq!(of(&[&a, &b], true, None).as_deref(), Some("5 a"));
        assert_eq!(of(&[&a, &b], true, Some("4")).as_deref(), Some("5 a"));
        assert_eq!(of(&[&a, &b], true, Some("5")), None);
        assert_eq!(of(&[&a, &b], false, None), None, "not all objects are applied");
        let starting = says(false, Some(6), None);
        assert_eq!(of(&[&a, &starting], true, Some("5")), None);
        assert_eq!(of(&[&b], true, None), None, "no group has a script");
        let earlier = says(true, None, Some("a"));
        assert_eq!(of(&[&earlier], true, None), None, "unchanged since an earlier operator");
    }

    #[test]
    fn a_pod_gets_each_version_once() {
        let mut pod = ObjectMeta::default();
        assert!(lacks(&pod, "5"));
        pod.annotations = Some([(labels::POST_DEPLOY.to_string(), "5".to_string())].into());
        assert!(!lacks(&pod, "5") && lacks(&pod, "6"));
    }
}
