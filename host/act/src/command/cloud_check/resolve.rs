//! Carries out resolutions. Each call names the version of the object that was checked, so that what has changed since
//! is left alone.

use super::problem::{Problem, Resolution, Subject};
use crate::recorded;
use crate::replace;
use boson_cluster::client::recorded::RecordedEvent;
use boson_cluster::client::{Error, FieldManager};
use boson_commands::output;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::jiff::Timestamp;
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
    let mut replaced = Vec::new();
    let done = match &problem.subject {
        Subject::Pod(pod) => {
            if resolution == Resolution::RecreateVm {
                replaced = Instance::all(access, found).await?;
                replaced.retain(|one| one.pod.as_ref().is_some_and(|own| own.metadata.uid == pod.metadata.uid));
            }
            // Kubernetes creates it again.
            access.cluster.delete_now(pod.as_ref()).await
        }
        Subject::Claim(claim, pods) => delete_disk(access, claim, pods).await,
        Subject::Fields(object, pointers) => remove_fields(access, object, pointers).await,
        Subject::Nothing => Ok(()),
    };
    match done {
        Ok(()) => {
            replace::wait_for_new(access, found, &replaced).await?;
            let event = RecordedEvent::about(&found.deployment, &resolution.name(), Timestamp::now());
            recorded::write(access, event.with_context(&problem.description)).await
        }
        Err(error) if error.is_race() => {
            output::eprint("it has changed since it was checked: nothing was done\n");
            Ok(())
        }
        Err(error) => Err(access.explain(error)),
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
async fn remove_fields(access: &Access, object: &Value, pointers: &[String]) -> Result<(), Error> {
    access.cluster.remove_any(MANAGER, object, pointers, true).await?;
    access.cluster.remove_any(MANAGER, object, pointers, false).await?;
    Ok(())
}
