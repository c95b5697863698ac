//! `host cancel` and `host resume`: hold a rollout, and let it go on.

use crate::states;
use anyhow::bail;
use boson_api::BoshDeployment;
use boson_cluster::client::FieldManager;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::DeploymentArguments;
use boson_manifest::labels;
use kube::ResourceExt;
use serde_json::{Value, json};

/// Text after the options.
pub const EXAMPLES: &str = "\
As `bosh cancel-task` does, `host cancel` lets updates of instances that have begun end, and begins no others. What was updated stays so; nothing is \
rolled back. It pauses the deployment (spec.paused). The next `host deploy` or `host rollback` ends the pause, also with the same inputs, and so does \
`host resume`, after which the rollout goes on.

The command needs the permissions get and patch for BOSHDeployments.

Examples:
  host cancel -d nats
  host resume -d nats -n messaging";
/// Who owns `spec.paused` from then on.
const MANAGER: FieldManager = FieldManager("host-cancel");

/// # Errors
/// See [`ExitError`].
pub fn cancel(arguments: &DeploymentArguments) -> Result<(), ExitError> {
    arguments.run(async |access, found| {
        let name = found.deployment.name_any();
        if !found.deployment.spec.paused && found.deployment.is("Ready") {
            bail!("deployment '{name}' has no rollout in progress; to hold later changes, set spec.paused");
        }
        states::merge(&access, &name, MANAGER, pause_patch).await?;
        Ok(output::print(&format!(
            "deployment '{name}' is paused: updates of instances that have begun end, and no others begin\n"
        ))?)
    })
}

/// # Errors
/// See [`ExitError`].
pub fn resume(arguments: &DeploymentArguments) -> Result<(), ExitError> {
    arguments.run(async |access, found| {
        let name = found.deployment.name_any();
        states::merge(&access, &name, MANAGER, resume_patch).await?;
        Ok(output::print(&format!("deployment '{name}' is not paused\n"))?)
    })
}

/// None: it is paused. A pause that a user has set stays that of the user.
fn pause_patch(deployment: &BoshDeployment) -> Option<Value> {
    let cancelled = json!({"metadata": {"annotations": {labels::CANCELLED: "true"}}, "spec": {"paused": true}});
    (!deployment.spec.paused).then_some(cancelled)
}

/// None: it is not paused.
fn resume_patch(deployment: &BoshDeployment) -> Option<Value> {
    let resumed = json!({"metadata": {"annotations": {labels::CANCELLED: null}}, "spec": {"paused": false}});
    deployment.spec.paused.then_some(resumed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::from_value;

    fn deployment(paused: bool, ready: &str, observed: i64) -> BoshDeployment {
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "d", "generation": 2},
            "spec": {"manifest": {"type": "configmap", "name": "m"}, "paused": paused},
            "status": {"conditions": [{"type": "Ready", "status": ready, "reason": "r", "message": "m",
                "observedGeneration": observed, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }))
        .unwrap()
    }

    #[test]
    fn only_what_is_in_progress_can_be_cancelled() {
        assert!(deployment(false, "True", 2).is("Ready"));
        assert!(
            !deployment(false, "True", 1).is("Ready"),
            "a change that was not read yet"
        );
        assert!(!deployment(false, "False", 2).is("Ready"));
    }

    #[test]
    fn a_pause_is_set_and_ended_once() {
        let (paused, runs) = (deployment(true, "False", 2), deployment(false, "False", 2));
        assert_eq!((pause_patch(&paused), resume_patch(&runs)), (None, None));
        assert_eq!(pause_patch(&runs).unwrap()["spec"], json!({"paused": true}));
        assert_eq!(
            resume_patch(&paused).unwrap()["metadata"]["annotations"],
            json!({labels::CANCELLED: null})
        );
    }
}
