//! What to report about a deployment while a call to the API server fails.

use super::status::{Observed, Outcome};
use crate::plugins::Fault;
use boson_api::BoshDeploymentStatus;

// === impl Seen ===

impl Observed {
    /// The state last observed, with the outcome of this reconcile, which ended before its first step.
    pub(super) fn as_before(
        old: &BoshDeploymentStatus,
        generation: Option<i64>,
        outcome: Outcome,
        faults: Vec<Fault>,
    ) -> Self {
        Self {
            generation,
            outcome,
            wrote: false,
            steps: 0,
            errands: None,
            groups: None,
            ready: old.deployed_instance_groups.unwrap_or(0),
            troubles: Vec::new(),
            inputs_digest: None,
            inputs: None,
            outdated: None,
            removed: None,
            post_deploy: None,
            warned: old.warned.clone(),
            plugins: Vec::new(),
            faults,
            loading: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::status::after;
    use super::*;
    use boson_api::{Condition, ConditionStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    #[test]
    fn a_change_that_cannot_be_applied_is_reported_and_nothing_else_changes() {
        let old = BoshDeploymentStatus {
            observed_generation: Some(1),
            total_job_count: Some(4),
            completed_job_count: Some(4),
            total_instance_groups: Some(2),
            deployed_instance_groups: Some(2),
            warned: Some("digest".into()),
            ..BoshDeploymentStatus::default()
        };
        let observed = Observed::as_before(&old, Some(2), Outcome::Waiting("an answer".into()), Vec::new());
        let new = after(&old, &observed, &Time(Timestamp::UNIX_EPOCH));
        assert_eq!(new.message.as_deref(), Some("waiting for an answer"));
        let applied = |one: &&Condition| one.kind == "Applied";
        assert_eq!(
            new.conditions.iter().find(applied).unwrap().status,
            ConditionStatus::Unknown
        );
        assert_eq!((new.total_job_count, new.completed_job_count), (Some(4), Some(1)));
        assert_eq!((new.deployed_instance_groups, &new.warned), (Some(2), &old.warned));
    }
}
