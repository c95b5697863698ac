//! Carries out resolutions. Each call names the version of the object that was checked, so that what has changed since
//! is left alone.

use super::problem::{Problem, Resolution, Subject};
use crate::recorded;
use crate::replace;
use boson_cluster::client::{Error, FieldManager};
use boson_commands::output;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde_json::Value;

const MANAGER: FieldManager = FieldManager("host-cloud-check");

/// Resolves a problem.
///
/// # Errors
/// The API server refuses it.
pub async fn resolve(access: &Access, found: &Found, problem: &Problem, resolution: Resolution) -> anyhow::Result<()> {
    if resolution == Resolution::Ignore {
        return Ok(());
    }
    output::print(&format!("{} {}\n", problem.description, resolution.plan()))?;
    let done = match (&problem.subject, resolution) {
        (Subject::Pod(pod), Resolution::RecreateVm) => replace(access, found, pod).await?,
        // Kubernetes creates it again.
        (Subject::Pod(pod), _) => access.cluster.delete_now(pod.as_ref()).await,
        (Subject::Claim(claim, pods), _) => delete_disk(access, claim, pods).await,
        (Subject::Fields(object, pointers), _) => remove(access, object, pointers).await,
        (Subject::Nothing, _) => Ok(()),
    };
    match done {
        Ok(()) => recorded::of_deployment(access, &found.deployment, &resolution.name(), &problem.description).await,
        Err(error) if error.is_race() => {
            output::complain("it has changed since it was checked: nothing was done\n");
            Ok(())
        }
        Err(error) => Err(access.explained(error)),
    }
}

/// Deletes a claim, and the pods that use it: it exists until none does, and is created again with the next pod.
async fn delete_disk(access: &Access, claim: &PersistentVolumeClaim, pods: &[Pod]) -> Result<(), Error> {
    access.cluster.delete(claim).await?;
    for pod in pods {
        let mut pod = pod.clone();
        // Whatever it has reported since: its claim is going.
        pod.metadata.resource_version = None;
        access.cluster.delete(&pod).await?;
    }
    Ok(())
}

/// Removes fields, if the API server accepts the object without them.
async fn remove(access: &Access, object: &Value, pointers: &[String]) -> Result<(), Error> {
    access.cluster.remove_any(MANAGER, object, pointers, true).await?;
    access.cluster.remove_any(MANAGER, object, pointers, false).await?;
    Ok(())
}

/// Replaces a pod of a node that does not exist, and waits until the new one is ready.
async fn replace(access: &Access, found: &Found, pod: &Pod) -> anyhow::Result<Result<(), Error>> {
    let all = Instance::all(access, found).await?;
    let is_it = |one: &Instance| one.pod.as_ref().is_some_and(|own| own.metadata.uid == pod.metadata.uid);
    let instance: Vec<Instance> = all.into_iter().filter(is_it).collect();
    if let Err(error) = access.cluster.delete_now(pod).await {
        return Ok(Err(error));
    }
    replace::wait_for_new(access, found, &instance).await.map(Ok)
}
