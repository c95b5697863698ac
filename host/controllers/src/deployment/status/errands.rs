//! The errands of a deployment: how many were started, and their results. Pure.
//!
//! A deployment is not finished before its auto-errands. Manual errands run on request, on a finished deployment.

use boson_api::job::Strategy;
use boson_api::{QuarksJob, QuarksJobStatus};
use boson_cluster::objects::is_manual;
use kube::ResourceExt;

/// Errands of a deployment. Manual errands that were never started do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errands {
    pub auto: Runs,
    pub manual: Runs,
}

/// Results of the errands of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    pub started: i32,
    pub completed: i32,
    /// Failed ones, each with its name and the cause; they are not retried automatically.
    pub failed: Vec<String>,
}

// === impl Runs ===

impl Runs {
    fn count(&mut self, job: &QuarksJob) {
        let status = job.status.as_ref();
        let completed = status.is_some_and(|status| status.completed);
        self.started += 1;
        self.completed += i32::from(completed);
        let why = status.filter(|_| !completed).and_then(QuarksJobStatus::failure);
        self.failed
            .extend(why.map(|why| format!("{}: {}", job.name_any(), why.message)));
    }

    pub fn running(&self) -> i32 {
        self.started - self.completed - i32::try_from(self.failed.len()).unwrap_or(i32::MAX)
    }

    pub fn are_completed(&self) -> bool {
        self.started == self.completed
    }
}

// === impl Errands ===

impl Errands {
    /// From the QuarksJobs of the deployment, without those of its conversion.
    pub fn of<'j>(jobs: impl Iterator<Item = &'j QuarksJob>) -> Self {
        let mut errands = Self::default();
        for job in jobs {
            if !is_manual(job) {
                errands.auto.count(job);
            } else if has_started(job) {
                errands.manual.count(job);
            }
        }
        errands
    }

    /// All of them, automatic or manual.
    pub fn all(&self) -> Runs {
        Runs {
            started: self.auto.started + self.manual.started,
            completed: self.auto.completed + self.manual.completed,
            failed: [self.auto.failed.clone(), self.manual.failed.clone()].concat(),
        }
    }
}

fn has_started(job: &QuarksJob) -> bool {
    let status = job.status.as_ref();
    // The strategy of a manual errand is `manual` again as soon as it has started.
    status.is_some_and(|status| status.completed || status.runs > 0) || job.spec.trigger.strategy != Strategy::Manual
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::objects::TRIGGER;
    use serde_json::json;

    fn job(strategy: &str, asked: Option<&str>, status: serde_json::Value) -> QuarksJob {
        let annotations = asked.map(|asked| json!({ TRIGGER: asked }));
        serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob",
            "metadata": {"name": "e", "annotations": annotations},
            "spec": {"trigger": {"strategy": strategy}, "template": {}}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn errands_count_once_they_were_started() {
        let idle = json!({"conditions": [{"type": "Complete", "status": "False", "reason": "Idle",
            "message": "no run was requested", "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
        let jobs = [
            job("manual", None, json!({})),
            job("manual", None, idle),
            job("once", None, json!({})),
            job("done", None, json!({"completed": true})),
            job("manual", None, json!({"completed": true})),
        ];
        let errands = Errands::of(jobs.iter());
        let counts = |runs: &Runs| (runs.started, runs.completed, runs.failed.len());
        assert_eq!(counts(&errands.auto), (2, 1, 0));
        assert_eq!(counts(&errands.manual), (1, 1, 0));
        assert_eq!(counts(&errands.all()), (3, 2, 0));
        assert_eq!(errands.all().running(), 1);
    }

    #[test]
    fn the_manifest_decides_whether_an_errand_is_manual() {
        let jobs = [
            job("now", Some("manual"), json!({"runs": 1})),
            // An auto-errand that a user runs again.
            job("now", Some("once"), json!({"runs": 1})),
        ];
        let errands = Errands::of(jobs.iter());
        assert_eq!((errands.auto.started, errands.manual.started), (1, 1));
    }
}
