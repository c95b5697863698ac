//! `host wait`: waits until a condition of a deployment holds for its present specification and documents.
//!
//! `kubectl wait` cannot do that: an edit of a ConfigMap does not change the generation of the BOSHDeployment, so old
//! conditions look current. `status.inputsDigest` tells which documents they are about.

use crate::deployment::digest_now;
use boson_api::{BoshDeployment, Condition, ConditionStatus};
use boson_cluster::client::{Cluster, Error};
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::{Duration, Instant};

/// Between two reads of the deployment.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Between two reads of its documents, while the status is about others.
const DOCUMENT_REREAD_INTERVAL: Duration = Duration::from_secs(3);

/// What to wait for.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Namespace of the deployment.
    pub namespace: String,
    pub deployment: String,
    /// Type of the condition, such as Ready.
    pub condition: String,
    /// Expected status of the condition.
    pub status: ConditionStatus,
    /// Longest time to wait.
    pub timeout: Duration,
}

/// How waiting ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Met,
    /// It cannot hold before a user changes something: why.
    Failed(String),
    /// The timeout is over: the last state.
    TimedOut(String),
}

/// Why waiting is not possible.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    #[error(transparent)]
    Api(#[from] Error),
    /// The deployment does not exist.
    #[error("there is no BOSHDeployment '{0}' in namespace '{1}'")]
    NoDeployment(String, String),
}

/// How waiting ends, or the state of a deployment for which it does not end yet.
type View = ControlFlow<End, String>;

// === impl Waiting ===

impl Waiting {
    /// Waits. `progress` is called with each new state.
    ///
    /// # Errors
    /// See [`WaitError`]. If the server does not answer, the call is retried until the timeout.
    pub async fn run(&self, cluster: &Cluster, progress: &mut dyn FnMut(&str)) -> Result<End, WaitError> {
        let began = Instant::now();
        let mut last = String::new();
        let mut expected: Option<(String, Instant)> = None;
        loop {
            let view = match self.view(cluster, &mut expected).await {
                Ok(view) => view,
                Err(WaitError::Api(error)) if !error.is_lasting() => Continue(error.to_string()),
                Err(error) => return Err(error),
            };
            match view {
                Break(end) => return Ok(end),
                Continue(what) if began.elapsed() >= self.timeout => return Ok(End::TimedOut(what)),
                Continue(what) if what != last => {
                    progress(&what);
                    last = what;
                }
                Continue(_) => {}
            }
            tokio::time::sleep(POLL_INTERVAL.min(self.timeout.saturating_sub(began.elapsed()))).await;
        }
    }

    /// `expected`: the digest of the documents, and when they were read.
    async fn view(&self, cluster: &Cluster, expected: &mut Option<(String, Instant)>) -> Result<View, WaitError> {
        let (namespace, name) = (&self.namespace, &self.deployment);
        let Some(deployment) = cluster.get::<BoshDeployment>(namespace, name).await? else {
            return Err(WaitError::NoDeployment(name.clone(), namespace.clone()));
        };
        let observed = deployment
            .status
            .as_ref()
            .and_then(|status| status.inputs_digest.as_ref());
        let is_about =
            |(digest, at): &(String, Instant)| Some(digest) == observed || at.elapsed() < DOCUMENT_REREAD_INTERVAL;
        if !expected.as_ref().is_some_and(is_about) {
            let digest = digest_now(cluster, namespace, &deployment.spec).await?;
            *expected = Some((digest, Instant::now()));
        }
        let digest = expected.as_ref().map_or("", |(digest, _)| digest.as_str());
        Ok(view(&deployment, digest, &self.condition, self.status))
    }
}

/// `digest`: the digest of the present documents.
fn view(deployment: &BoshDeployment, digest: &str, kind: &str, wanted: ConditionStatus) -> View {
    let Some(status) = &deployment.status else {
        return Continue("no operator has observed the deployment yet".into());
    };
    let generation = deployment.metadata.generation;
    if status.observed_generation != generation {
        return Continue("the operator has not observed the present specification yet".into());
    }
    if status.inputs_digest.as_deref() != Some(digest) {
        return Continue("the operator has not read the present documents yet".into());
    }
    let of = |kind: &str| status.conditions.iter().find(|one| one.kind == kind);
    let is_met = |one: &Condition| one.status == wanted && one.observed_generation == generation;
    if of(kind).is_some_and(is_met) {
        return Break(End::Met);
    }
    let failed = ["Converted", "Applied"].into_iter().filter_map(of);
    let mut failed = failed.filter(|one| one.status == ConditionStatus::False);
    if let (Some(failed), ConditionStatus::True) = (failed.next(), wanted) {
        return Break(End::Failed(format!("{}: {}", failed.reason, failed.message)));
    }
    Continue(match of(kind) {
        Some(one) if !one.message.is_empty() => format!("{}: {}", one.reason, one.message),
        Some(one) => one.reason.clone(),
        None => format!("the deployment has no condition {kind}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn view_of(observed: i64, conditions: &Value) -> View {
        let deployment = json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment",
            "metadata": {"name": "d", "generation": 2},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": observed, "inputsDigest": "now", "conditions": conditions},
        });
        let deployment = serde_json::from_value(deployment).unwrap();
        view(&deployment, "now", "Ready", ConditionStatus::True)
    }

    fn condition(kind: &str, status: &str) -> Value {
        json!({"type": kind, "status": status, "reason": "Why", "message": "words", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 2})
    }

    #[test]
    fn only_conditions_about_the_present_documents_count() {
        let ready = json!([condition("Ready", "True")]);
        assert_eq!(view_of(2, &ready), Break(End::Met));
        assert!(matches!(view_of(1, &ready), Continue(_)));
        let mut deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "d", "generation": 2},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": 2, "inputsDigest": "before", "conditions": ready},
        }))
        .unwrap();
        let of = |deployment: &BoshDeployment| view(deployment, "now", "Ready", ConditionStatus::True);
        assert!(matches!(of(&deployment), Continue(_)), "the ConfigMap was edited");
        deployment.status = None;
        assert!(matches!(of(&deployment), Continue(_)));
    }

    #[test]
    fn a_lasting_failure_ends_the_wait_and_a_temporary_one_does_not() {
        let view = view_of(
            2,
            &json!([condition("Converted", "False"), condition("Ready", "False")]),
        );
        assert_eq!(view, Break(End::Failed("Why: words".into())));
        let view = view_of(2, &json!([condition("Converted", "True"), condition("Ready", "False")]));
        assert_eq!(view, Continue("Why: words".into()));
    }
}
