//! Replaces an instance at once, without the order of a rollout.

use anyhow::bail;
use boson_cluster::client::Error;
use boson_cluster::pods::is_ready;
use boson_commands::output;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use k8s_openapi::api::core::v1::Pod;
use std::time::Duration;

/// Between two requests.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

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
            Err(error) if !error.is_race() => return Err(access.explained(error)),
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
pub async fn wait_for_new(access: &Access, found: &Found, instances: &[Instance]) -> anyhow::Result<()> {
    let Some(instance) = instances.first() else {
        return Ok(());
    };
    let old: Vec<&Pod> = instances.iter().filter_map(|one| one.pod.as_ref()).collect();
    let is_new = |pod: &Pod| old.iter().all(|old| old.metadata.uid != pod.metadata.uid);
    let is_same = |one: &Instance| one.group == instance.group && one.index == instance.index;
    output::complain(&format!("{instance}: waiting for its new pod to be ready\n"));
    loop {
        let all = match Instance::all(access, found).await {
            Ok(all) => all,
            Err(error) if error.downcast_ref::<Error>().is_some_and(|error| !error.is_lasting()) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut pods = all.iter().filter(|one| is_same(one)).filter_map(|one| one.pod.as_ref());
        if pods.any(|pod| is_new(pod) && is_ready(pod)) {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
