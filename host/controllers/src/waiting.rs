//! What `host wait` waits for: that a condition of a deployment holds for the specification and the documents as they are now.
//!
//! `kubectl wait` cannot tell that: an edit of a ConfigMap leaves the generation of the BOSHDeployment as it is, so that the conditions of before
//! look current. `status.inputsDigest` says which documents they are about.

use crate::api::{BoshDeployment, Condition, ConditionStatus};
use crate::client::{Cluster, Error};
use crate::deployment::digest_now;
use std::time::{Duration, Instant};

/// Between two reads of the deployment.
const POLL: Duration = Duration::from_secs(1);
/// Between two reads of its documents, while the status is about others.
const REREAD: Duration = Duration::from_secs(3);

/// What to wait for.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Namespace of the deployment.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
    /// Type of the condition, such as Ready.
    pub condition: String,
    /// What it is to be.
    pub status: ConditionStatus,
    /// How long.
    pub timeout: Duration,
}

/// How waiting ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The condition holds.
    Met,
    /// It cannot hold before somebody changes something: why.
    Failed(String),
    /// The time is over: how far the deployment got.
    TimedOut(String),
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// The API server.
    #[error(transparent)]
    Api(#[from] Error),
    /// There is no such deployment.
    #[error("there is no BOSHDeployment '{0}' in namespace '{1}'")]
    NoDeployment(String, String),
}

/// The state of a deployment, seen from somebody who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum View {
    Met,
    Failed(String),
    NotYet(String),
}

// === impl Waiting ===

impl Waiting {
    /// Waits. `progress` hears each time that what is waited for changes.
    ///
    /// # Errors
    /// See [`WaitError`]. A server that does not answer is asked again until the time is over.
    pub async fn run(&self, cluster: &Cluster, progress: &mut dyn FnMut(&str)) -> Result<End, WaitError> {
        let began = Instant::now();
        let mut last = String::new();
        let mut expected: Option<(String, Instant)> = None;
        loop {
            let view = match self.view(cluster, &mut expected).await {
                Ok(view) => view,
                Err(WaitError::Api(error)) if !error.is_lasting() => View::NotYet(error.to_string()),
                Err(error) => return Err(error),
            };
            match view {
                View::Met => return Ok(End::Met),
                View::Failed(why) => return Ok(End::Failed(why)),
                View::NotYet(what) if began.elapsed() >= self.timeout => return Ok(End::TimedOut(what)),
                View::NotYet(what) if what != last => {
                    progress(&what);
                    last = what;
                }
                View::NotYet(_) => {}
            }
            tokio::time::sleep(POLL.min(self.timeout.saturating_sub(began.elapsed()))).await;
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
        let is_about = |(digest, at): &(String, Instant)| Some(digest) == observed || at.elapsed() < REREAD;
        if !expected.as_ref().is_some_and(is_about) {
            let digest = digest_now(cluster, namespace, &deployment.spec).await?;
            *expected = Some((digest, Instant::now()));
        }
        let digest = expected.as_ref().map_or("", |(digest, _)| digest.as_str());
        Ok(view(&deployment, digest, &self.condition, self.status))
    }
}

/// `digest`: of the documents as they are now.
fn view(deployment: &BoshDeployment, digest: &str, kind: &str, wanted: ConditionStatus) -> View {
    let Some(status) = &deployment.status else {
        return View::NotYet("no operator has seen the deployment yet".into());
    };
    let generation = deployment.metadata.generation;
    if status.observed_generation != generation {
        return View::NotYet("the operator has not seen the present specification yet".into());
    }
    if status.inputs_digest.as_deref() != Some(digest) {
        return View::NotYet("the operator has not read the present documents yet".into());
    }
    let of = |kind: &str| status.conditions.iter().find(|one| one.kind == kind);
    let is_met = |one: &Condition| one.status == wanted && one.observed_generation == generation;
    if of(kind).is_some_and(is_met) {
        return View::Met;
    }
    let failed = ["Converted", "Applied"].into_iter().filter_map(of);
    let mut failed = failed.filter(|one| one.status == ConditionStatus::False);
    if let (Some(failed), ConditionStatus::True) = (failed.next(), wanted) {
        return View::Failed(format!("{}: {}", failed.reason, failed.message));
    }
    View::NotYet(match of(kind) {
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
    fn only_conditions_about_what_there_is_now_count() {
        let ready = json!([condition("Ready", "True")]);
        assert_eq!(view_of(2, &ready), View::Met);
        assert!(matches!(view_of(1, &ready), View::NotYet(_)));
        let mut deployment: BoshDeployment = serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "d", "generation": 2},
            "spec": {"manifest": {"type": "configmap", "name": "m"}},
            "status": {"observedGeneration": 2, "inputsDigest": "before", "conditions": ready},
        }))
        .unwrap();
        let of = |deployment: &BoshDeployment| view(deployment, "now", "Ready", ConditionStatus::True);
        assert!(matches!(of(&deployment), View::NotYet(_)), "the ConfigMap was edited");
        deployment.status = None;
        assert!(matches!(of(&deployment), View::NotYet(_)));
    }

    #[test]
    fn a_failure_that_stays_ends_it_and_what_takes_its_time_does_not() {
        let view = view_of(
            2,
            &json!([condition("Converted", "False"), condition("Ready", "False")]),
        );
        assert_eq!(view, View::Failed("Why: words".into()));
        let view = view_of(2, &json!([condition("Converted", "True"), condition("Ready", "False")]));
        assert_eq!(view, View::NotYet("Why: words".into()));
    }
}
