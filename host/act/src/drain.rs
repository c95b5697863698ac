//! `--skip-drain`: pods stop without their pre-stop and drain scripts. A program in each pod records the request,
//! because Kubernetes updates files with annotations of a pod up to a minute later.

use crate::containers::{is_running, main_and_sidecars, subcommand};
use crate::remote::{self, MAX_CONCURRENT_PROGRAMS};
use crate::selection::{Selection, SelectionError};
use anyhow::Context;
use boson_look::access::Access;
use boson_look::instances::Instance;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Container, Pod};

/// The subcommand of container-run in the containers that run these scripts.
const SCRIPTS_SUBCOMMAND: &str = "scripts";
/// How long a pod that is not replaced in the end keeps the request, if no command ends it: 12 hours.
const REQUEST_VALID_SECONDS: &str = "43200";

/// A value of `--skip-drain`. Without one, all instances are meant, as in BOSH.
///
/// # Errors
/// It is no selection.
pub fn selection(text: &str) -> Result<Selection, SelectionError> {
    if text == ALL_INSTANCES {
        return Ok(Selection::All);
    }
    text.parse()
}

/// The value of `--skip-drain` that stands for none.
pub const ALL_INSTANCES: &str = "*";

/// The pods of these instances will stop without the scripts.
///
/// # Errors
/// The request cannot be recorded in a pod with such scripts. It is then ended in the others.
pub async fn skip(access: &Access, instances: &[Instance]) -> anyhow::Result<()> {
    let requested = request(access, instances, REQUEST_VALID_SECONDS).await;
    if requested.is_err() {
        end(access, instances).await;
    }
    requested
}

/// Those that still exist will run them again. Errors are ignored, because most of the pods may not exist any more.
pub async fn end(access: &Access, instances: &[Instance]) {
    for instance in instances {
        let _ = request(access, std::slice::from_ref(instance), "0").await;
    }
}

async fn request(access: &Access, instances: &[Instance], seconds: &str) -> anyhow::Result<()> {
    let pods = instances.iter().filter_map(|one| Some((one, one.pod.as_ref()?)));
    let drained = pods.filter_map(|(instance, pod)| Some((instance, pod, sidecar(pod)?)));
    let each = drained.map(async |(instance, pod, name)| {
        let container = access.container(pod.metadata.name.as_deref().unwrap_or_default(), name);
        let arguments = ["skip-drain", "--valid", seconds];
        let done = remote::container_run(access, container, &arguments, None, |_| Ok(())).await;
        done.map(drop)
            .with_context(|| format!("{instance}: its pre-stop and drain scripts cannot be skipped"))
    });
    let all = futures::stream::iter(each).buffer_unordered(MAX_CONCURRENT_PROGRAMS);
    all.try_collect().await
}

/// A container that runs scripts when the pod stops. Without one that runs, no script delays the stop.
fn sidecar(pod: &Pod) -> Option<&str> {
    if pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let runs_scripts = |one: &&Container| subcommand(one) == Some(SCRIPTS_SUBCOMMAND) && is_running(pod, &one.name);
    main_and_sidecars(pod).find(runs_scripts).map(|one| one.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_with_scripts_that_run_at_its_stop_gets_a_request() {
        let pod = |state: &str| -> Pod {
            let command = ["/container-run/bin/container-run", "scripts", "--job", "a"];
            let status = json!({"name": "bosh-scripts-a", "image": "i", "imageID": "i", "ready": true,
                "restartCount": 0, "state": {state: {}}});
            serde_json::from_value(json!({
                "spec": {"containers": [], "initContainers": [
                    {"name": "bosh-scripts-a", "command": command, "restartPolicy": "Always"}]},
                "status": {"initContainerStatuses": [status]},
            }))
            .unwrap()
        };
        assert_eq!(sidecar(&pod("running")), Some("bosh-scripts-a"));
        assert_eq!(sidecar(&pod("waiting")), None);
        assert_eq!(sidecar(&Pod::default()), None);
    }

    #[test]
    fn without_a_value_all_instances_are_meant() {
        assert_eq!(selection(ALL_INSTANCES), Ok(Selection::All));
        assert_eq!(selection("diego_cell"), Ok(Selection::Group("diego-cell".into())));
        assert!(selection("").is_err());
    }
}
