//! Replaces an instance at once, without the order of a rollout.

use anyhow::bail;
use boson_cluster::client::Error;
use boson_cluster::pods::is_ready;
use boson_commands::output;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use std::time::{Duration, Instant};

/// Between two requests.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// For a new pod, which may pull large images and run pre-start scripts.
const READY_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Deletes the pods of an instance, which its StatefulSet creates again. `waits`: until the instance is ready.
///
/// # Errors
/// There is no pod, or the calls of the API server fail.
pub async fn replace_now(access: &Access, found: &Found, instances: &[Instance], waits: bool) -> anyhow::Result<()> {
    let old: Vec<&Pod> = instances.iter().filter_map(|one| one.pod.as_ref()).collect();
    if old.is_empty() {
        bail!("the instance has no pod");
    }
    for pod in old {
        let mut pod = pod.clone();
        // Whatever it has reported since it was read.
        pod.metadata.resource_version = None;
        match access.cluster.delete(&pod).await {
            Err(error) if !error.is_race() => return Err(access.explain(error)),
            // A race: it has been replaced already.
            _ => {}
        }
    }
    if waits {
        wait_for_new(access, found, instances).await
    } else {
        Ok(())
    }
}

/// Waits until an instance has another pod than these, which is ready.
///
/// # Errors
/// It has none in time, or the calls of the API server fail.
pub async fn wait_for_new(access: &Access, found: &Found, instances: &[Instance]) -> anyhow::Result<()> {
    let Some(instance) = instances.first() else {
        return Ok(());
    };
    let old: Vec<&Pod> = instances.iter().filter_map(|one| one.pod.as_ref()).collect();
    let is_new = |pod: &Pod| old.iter().all(|old| old.metadata.uid != pod.metadata.uid);
    let is_same = |one: &Instance| one.group == instance.group && one.index == instance.index;
    output::eprint(&format!("{instance}: waiting for its new pod to be ready\n"));
    let check = async || {
        let all = match Instance::all(access, found).await {
            Ok(all) => all,
            Err(error) if error.downcast_ref::<Error>().is_some_and(|error| !error.is_lasting()) => {
                return Ok(Some(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let pods = all.iter().filter(|one| is_same(one)).filter_map(|one| one.pod.as_ref());
        Ok(missing_text(pods.filter(|pod| is_new(pod))))
    };
    match wait_until_ready(READY_TIMEOUT, check).await? {
        None => Ok(()),
        Some(what) => bail!(
            "{instance}: waited {} minutes for its new pod to be ready: {what}",
            READY_TIMEOUT.as_secs() / 60
        ),
    }
}

/// Why none of these pods is a ready one; none: one is.
fn missing_text<'p>(pods: impl Iterator<Item = &'p Pod>) -> Option<String> {
    let mut why = "there is no new pod".to_string();
    for pod in pods {
        if is_ready(pod) {
            return None;
        }
        why = format!("pod '{}' is not ready", pod.name_any());
    }
    Some(why)
}

/// Repeats a check until nothing is missing, or for this time. Returns what is missing then.
async fn wait_until_ready(
    limit: Duration,
    check: impl AsyncFn() -> anyhow::Result<Option<String>>,
) -> anyhow::Result<Option<String>> {
    let began = Instant::now();
    loop {
        let missing = check().await?;
        if missing.is_none() || began.elapsed() >= limit {
            return Ok(missing);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_wait_ends_and_says_what_is_missing() {
        let pod = |name: &str, ready: &str| -> Pod {
            let conditions = json!([{"type": "Ready", "status": ready}]);
            serde_json::from_value(json!({"metadata": {"name": name}, "status": {"conditions": conditions}})).unwrap()
        };
        for (pods, wanted) in [
            (vec![], Some("there is no new pod")),
            (vec![pod("a", "False")], Some("pod 'a' is not ready")),
            (vec![pod("a", "False"), pod("b", "True")], None),
        ] {
            let found = wait_until_ready(Duration::ZERO, async || Ok(missing_text(pods.iter()))).await;
            assert_eq!(found.unwrap().as_deref(), wanted);
        }
    }
}
