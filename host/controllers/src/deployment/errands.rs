//! The errands of a deployment: how many were started, and what came of them. Pure.

use crate::api::job::{QuarksJobStatus, Strategy};
use crate::api::{ConditionStatus, QuarksJob};
use kube::ResourceExt;

/// Errands of a deployment. One that nobody has started does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Errands {
    pub started: i32,
    pub completed: i32,
    /// Why others never will be by themselves, each with its name.
    pub failed: Vec<String>,
}

// === impl Errands ===

impl Errands {
    /// Of the deployment's QuarksJobs but for those of its conversion.
    pub(super) fn of<'j>(jobs: impl Iterator<Item = &'j QuarksJob>) -> Self {
        let mut errands = Self::default();
        for job in jobs {
            let status = job.status.as_ref();
            let completed = status.is_some_and(|status| status.completed);
            // A manual one is manual again as soon as it has started.
            let ran = status.is_some_and(|status| status.runs > 0);
            if completed || ran || job.spec.trigger.strategy != Strategy::Manual {
                errands.started += 1;
                errands.completed += i32::from(completed);
                let why = status.filter(|_| !completed).and_then(failure);
                errands
                    .failed
                    .extend(why.map(|why| format!("{}: {why}", job.name_any())));
            }
        }
        errands
    }
}

/// Why a QuarksJob does nothing more by itself.
fn failure(status: &QuarksJobStatus) -> Option<&str> {
    let mut conditions = status.conditions.iter();
    let failed = conditions.find(|one| one.kind == "Failed" && one.status == ConditionStatus::True);
    failed.map(|failed| failed.message.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errands_count_once_they_were_started() {
        let job = |strategy: &str, status: serde_json::Value| -> QuarksJob {
            serde_json::from_value(serde_json::json!({
                "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob", "metadata": {"name": "e"},
                "spec": {"trigger": {"strategy": strategy}, "template": {}}, "status": status,
            }))
            .unwrap()
        };
        let jobs = [
            job("manual", serde_json::json!({})),
            job(
                "manual",
                serde_json::json!({"conditions": [{"type": "Complete", "status": "False", "reason": "Idle",
                "message": "nobody has asked for a run", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
            ),
            job("once", serde_json::json!({})),
            job("done", serde_json::json!({"completed": true})),
            job("manual", serde_json::json!({"completed": true})),
        ];
        assert!(Errands::of(jobs.iter()).failed.is_empty());
        let errands = Errands::of(jobs.iter());
        assert_eq!((errands.started, errands.completed), (3, 2));
    }
}
