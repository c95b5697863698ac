//! Waits until the operator has done what a command has asked for.

use crate::containers::is_ready;
use anyhow::bail;
use boson_api::stateful_set::PROGRESSING;
use boson_api::{BoshDeployment, BoshDeploymentStatus, Condition, ConditionStatus, QuarksStatefulSet};
use boson_cluster::client::Error;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::{Access, Found};
use boson_look::instances::Instance;
use boson_manifest::labels;
use boson_pipeline::report::clean;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use std::collections::BTreeSet;
use std::time::Duration;

/// Between two requests.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Condition of a BOSHDeployment: its objects have been made.
const CONVERTED: &str = "Converted";
/// Condition of a BOSHDeployment: they have been written.
const APPLIED: &str = "Applied";

/// A change of a deployment, and the instance groups that it concerns.
pub struct Following {
    /// As it was written.
    pub deployment: BoshDeployment,
    /// Selector of its objects.
    pub selector: String,
    pub groups: BTreeSet<String>,
}

/// How far a change is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    Waits(String),
    Failed(String),
}

// === impl Following ===

impl Following {
    /// # Errors
    /// The change fails, or the cluster cannot be read.
    pub async fn run(&self, access: &Access) -> anyhow::Result<()> {
        let name = self.deployment.name_any();
        let mut last = None;
        loop {
            let progress = match self.read(access, &name).await {
                Ok(progress) => progress,
                Err(error) if error.is_lasting() => return Err(access.explained(error)),
                // The API server may answer again.
                Err(error) => Progress::Waits(error.to_string()),
            };
            match progress {
                Progress::Done => return Ok(()),
                Progress::Failed(why) => bail!(why),
                Progress::Waits(what) if last.as_ref() != Some(&what) => {
                    output::complain(&format!("{}\n", clean::line(&what)));
                    last = Some(what);
                }
                Progress::Waits(_) => {}
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn read(&self, access: &Access, name: &str) -> Result<Progress, Error> {
        let namespace = &access.namespace;
        let Some(deployment) = access.cluster.get::<BoshDeployment>(namespace, name).await? else {
            return Ok(Progress::Failed("the BOSHDeployment was deleted".into()));
        };
        let groups: Vec<QuarksStatefulSet> = access.cluster.list_in_pages(namespace, &self.selector).await?;
        Ok(self.progress(&deployment, &groups))
    }

    fn progress(&self, deployment: &BoshDeployment, groups: &[QuarksStatefulSet]) -> Progress {
        let written = self.deployment.metadata.generation;
        let none = BoshDeploymentStatus::default();
        let status = deployment.status.as_ref().unwrap_or(&none);
        let current = status
            .conditions
            .iter()
            .filter(|one| one.observed_generation >= written);
        let current: Vec<&Condition> = current.collect();
        let is_failed = |one: &&&Condition| {
            [CONVERTED, APPLIED].contains(&one.kind.as_str()) && one.status == ConditionStatus::False
        };
        if let Some(failed) = current.iter().find(is_failed) {
            return Progress::Failed(format!("{}: {}", failed.reason, failed.message));
        }
        let is_applied = |one: &&Condition| one.kind == APPLIED && one.status == ConditionStatus::True;
        if !current.iter().any(is_applied) {
            return Progress::Waits("waiting for the operator".into());
        }
        let of_group = |group: &QuarksStatefulSet| {
            let name = group.labels().get(labels::INSTANCE_GROUP_NAME)?;
            self.groups.contains(name).then(|| of_rollout(name, group))
        };
        let all: Vec<Progress> = groups.iter().filter_map(of_group).collect();
        let failed = all.iter().find(|one| matches!(one, Progress::Failed(_)));
        let waits = all.iter().find(|one| matches!(one, Progress::Waits(_)));
        failed.or(waits).cloned().unwrap_or(Progress::Done)
    }
}

fn of_rollout(name: &str, group: &QuarksStatefulSet) -> Progress {
    let waits = |what: &str| Progress::Waits(format!("{name}: {what}"));
    let status = group.status.as_ref();
    let Some(status) = status.filter(|status| status.observed_generation == group.metadata.generation) else {
        return waits("waiting for the operator");
    };
    let progressing = status.conditions.iter().find(|one| one.kind == PROGRESSING);
    match (progressing, status.rollout()) {
        (Some(one), Some((reason, message))) if one.status == ConditionStatus::False => {
            Progress::Failed(format!("{name}: {reason}: {message}"))
        }
        (_, Some((_, message))) => waits(message),
        (_, None) if !status.ready => waits("not all pods are ready"),
        (_, None) => Progress::Done,
    }
}

/// Waits for the end of some work, or for Ctrl-C. `still`: what goes on without this command.
///
/// # Errors
/// The work fails.
pub async fn unless_interrupted(
    work: impl Future<Output = anyhow::Result<()>>,
    still: &str,
) -> anyhow::Result<Result<(), ExitError>> {
    tokio::select! {
        done = work => done.map(Ok),
        _ = tokio::signal::ctrl_c() => {
            output::complain(&format!("\n{still}\n"));
            Ok(Err(ExitError::Interrupted))
        }
    }
}

/// Deletes the pods of an instance, which its StatefulSet creates again. `waits`: until the instance is ready.
///
/// # Errors
/// There is no pod, or the calls of the API server fail.
pub async fn replace_now(access: &Access, found: &Found, instances: &[Instance], waits: bool) -> anyhow::Result<()> {
    let old: Vec<&Pod> = instances.iter().filter_map(|one| one.pod.as_ref()).collect();
    if old.is_empty() {
        bail!("the instance has no pod");
    }
    for pod in &old {
        access
            .cluster
            .delete(*pod)
            .await
            .map_err(|error| access.explained(error))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn condition(kind: &str, status: &str, reason: &str, generation: i64) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": "why", "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn deployment(observed: i64, conditions: &Value) -> BoshDeployment {
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "BOSHDeployment", "metadata": {"name": "d", "generation": 3},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": observed, "conditions": conditions}
        }))
        .unwrap()
    }

    fn group(observed: i64, is_ready: bool, status: &str, reason: &str) -> QuarksStatefulSet {
        let labels = json!({labels::INSTANCE_GROUP_NAME: "web"});
        from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksStatefulSet",
            "metadata": {"name": "d-web", "generation": 2, "labels": labels}, "spec": {"template": {}},
            "status": {"ready": is_ready, "observedGeneration": observed,
                "conditions": [condition(PROGRESSING, status, reason, observed)]}
        }))
        .unwrap()
    }

    #[test]
    fn a_change_is_done_when_its_groups_are_rolled_out() {
        let following = Following {
            deployment: deployment(2, &json!([])),
            selector: String::new(),
            groups: ["web".to_string()].into(),
        };
        let progress = |observed: i64, groups: &[QuarksStatefulSet]| {
            let old = condition(CONVERTED, "False", "Wrong", 2);
            let applied = condition(APPLIED, "True", "Applied", observed);
            following.progress(&deployment(observed, &json!([old, applied])), groups)
        };
        let waits = |what: &str| Progress::Waits(what.into());
        let done = group(2, true, "True", "RolledOut");
        assert_eq!(progress(2, &[]), waits("waiting for the operator"));
        assert_eq!(progress(3, &[]), Progress::Done, "the group was deleted meanwhile");
        assert_eq!(
            progress(3, &[group(1, true, "True", "RolledOut")]),
            waits("web: waiting for the operator")
        );
        assert_eq!(progress(3, &[group(2, false, "True", "Updating")]), waits("web: why"));
        assert_eq!(
            progress(3, &[group(2, false, "True", "RolledOut")]),
            waits("web: not all pods are ready")
        );
        let failed = Progress::Failed("web: UpdateFailed: why".into());
        assert_eq!(progress(3, &[group(2, false, "False", "UpdateFailed")]), failed);
        assert_eq!(progress(3, std::slice::from_ref(&done)), Progress::Done);
        let wrong = deployment(3, &json!([condition(CONVERTED, "False", "Wrong", 3)]));
        assert_eq!(
            following.progress(&wrong, &[done]),
            Progress::Failed("Wrong: why".into())
        );
    }
}
