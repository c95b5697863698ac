//! The QuarksJob that a name means, and its runs. Pure.

use boson_api::job::Strategy;
use boson_api::{QuarksJob, instance_group};
use boson_cluster::objects::{self, TRIGGER};
use boson_manifest::labels;
use boson_manifest::names::{self, Names};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use serde_json::Value;

/// An errand of a deployment.
#[derive(Clone, Debug)]
pub struct Errand {
    pub group: String,
    /// Name of its QuarksJob.
    pub name: String,
    pub uid: String,
    /// Containers of its jobs; the operator may add others.
    pub containers: Vec<String>,
}

/// Whether a run starts at once if a user asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// With this number.
    Free(i64),
    /// This run is in progress, or requested.
    Busy(i64),
}

// === impl Errand ===

impl Errand {
    /// The errand whose instance group has this name, or else one with a job of this name.
    ///
    /// # Errors
    /// It does not exist; the names of those that do.
    pub fn find(jobs: &[QuarksJob], names: &Names, wanted: &str) -> Result<Self, Vec<String>> {
        let all: Vec<&QuarksJob> = jobs
            .iter()
            .filter(|job| !names.is_conversion(&job.name_any()))
            .collect();
        let group = names::label_value(wanted);
        let found = all.iter().find(|job| instance_group(**job) == group);
        let found = found.or_else(|| all.iter().find(|job| runs_job(job, wanted)));
        found.map(|job| Self::of(job)).ok_or_else(|| {
            let mut known: Vec<String> = all.iter().map(|job| instance_group(*job)).collect();
            known.sort();
            known
        })
    }

    fn of(job: &QuarksJob) -> Self {
        let names = containers(job).into_iter();
        Self {
            group: instance_group(job),
            name: job.name_any(),
            uid: job.uid().unwrap_or_default(),
            containers: names
                .filter_map(|one| one["name"].as_str().map(str::to_string))
                .collect(),
        }
    }

    /// An errand has one instance.
    pub fn instance(&self) -> String {
        format!("{}/0", self.group)
    }

    pub fn job_of<'j>(&self, jobs: &'j [Job], number: i64) -> Option<&'j Job> {
        let mut ours = jobs.iter().filter(|job| objects::has_owner(*job, &self.uid));
        let number = number.to_string();
        ours.find(|job| job.annotations().get(labels::RUN) == Some(&number))
    }

    /// `jobs`: read after the QuarksJob. The operator creates the Job of a run before it resets the trigger, and counts
    /// the run after that.
    pub fn readiness(&self, object: &QuarksJob, jobs: &[Job]) -> Readiness {
        let (runs, ended_runs) = object.status.as_ref().map_or((0, 0), |one| (one.runs, one.ended_runs));
        if runs > ended_runs {
            return Readiness::Busy(runs);
        }
        let is_asked = !matches!(object.spec.trigger.strategy, Strategy::Manual | Strategy::Done);
        if is_asked || self.job_of(jobs, runs + 1).is_some() {
            Readiness::Busy(runs + 1)
        } else {
            Readiness::Free(runs + 1)
        }
    }
}

/// The strategy that starts a run. None: nothing has changed; the operator reruns an auto-errand itself after a change.
pub fn trigger_strategy(object: &QuarksJob, when_changed: bool) -> Option<Strategy> {
    let is_auto = object.annotations().get(TRIGGER).is_some_and(|asked| asked == "once");
    let has_succeeded = object.status.as_ref().is_some_and(|status| status.completed);
    match (is_auto, when_changed) {
        (true, true) if has_succeeded => None,
        (true, _) => Some(Strategy::Once),
        (false, true) => Some(Strategy::Changed),
        (false, false) => Some(Strategy::Now),
    }
}

/// Whether a command of container-run in it is for this job.
fn runs_job(job: &QuarksJob, wanted: &str) -> bool {
    let is_for_it = |command: &Vec<Value>| command.windows(2).any(|pair| pair[0] == "--job" && pair[1] == wanted);
    let containers = containers(job);
    let mut commands = containers.iter().filter_map(|one| one["command"].as_array());
    commands.any(is_for_it)
}

fn containers(job: &QuarksJob) -> Vec<Value> {
    let template = Value::Object(job.spec.template.members());
    let containers = template.pointer("/spec/template/spec/containers");
    containers.and_then(Value::as_array).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn quarks_job(group: &str, asked: &str, status: Value) -> QuarksJob {
        let command = ["/container-run/bin/container-run", "errand", "--job", "tests"];
        let container = json!({"name": format!("tests-{group}"), "command": command});
        serde_json::from_value(json!({
            "apiVersion": labels::API_VERSION, "kind": "QuarksJob",
            "metadata": {
                "name": format!("nats-{group}"), "uid": "u",
                "labels": {labels::INSTANCE_GROUP_NAME: group}, "annotations": {TRIGGER: asked},
            },
            "spec": {
                "trigger": {"strategy": "manual"},
                "template": {"spec": {"template": {"spec": {"containers": [container]}}}},
            },
            "status": status,
        }))
        .unwrap()
    }

    fn job(number: &str) -> Job {
        let owner = json!({"apiVersion": "v1", "kind": "QuarksJob", "name": "nats-smoke-tests", "uid": "u"});
        let metadata = json!({"name": "j", "annotations": {labels::RUN: number}, "ownerReferences": [owner]});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    #[test]
    fn an_errand_is_found_by_its_group_and_by_a_job() {
        let names = Names::new("nats", "n", "").unwrap();
        let jobs = ["load", "smoke-tests"].map(|group| quarks_job(group, "manual", Value::Null));
        let find = |name: &str| Errand::find(&jobs, &names, name);
        let found = find("smoke_tests").unwrap();
        assert_eq!(
            (found.name.as_str(), found.instance().as_str()),
            ("nats-smoke-tests", "smoke-tests/0")
        );
        assert_eq!(found.containers, ["tests-smoke-tests"]);
        assert_eq!(find("tests").unwrap().group, "load");
        assert_eq!(find("smoke").unwrap_err(), ["load", "smoke-tests"]);
    }

    #[test]
    fn a_run_that_is_in_progress_or_requested_is_noticed_at_every_step_of_the_operator() {
        let mut object = quarks_job("smoke-tests", "manual", json!({"runs": 2, "endedRuns": 2}));
        let errand = Errand::of(&object);
        let readiness = |object: &QuarksJob, jobs: &[Job]| errand.readiness(object, jobs);
        assert_eq!(readiness(&object, &[job("2")]), Readiness::Free(3));
        object.spec.trigger.strategy = Strategy::Now;
        assert_eq!(readiness(&object, &[job("2")]), Readiness::Busy(3));
        object.spec.trigger.strategy = Strategy::Manual;
        assert_eq!(readiness(&object, &[job("2"), job("3")]), Readiness::Busy(3));
        object.status.as_mut().unwrap().runs = 3;
        assert_eq!(readiness(&object, &[job("3")]), Readiness::Busy(3));
        let new = quarks_job("smoke-tests", "manual", Value::Null);
        assert_eq!(readiness(&new, &[]), Readiness::Free(1));
    }

    #[test]
    fn an_auto_errand_stays_one() {
        let triggers = |asked: &str, completed: bool| {
            let object = quarks_job("a", asked, json!({"completed": completed}));
            [false, true].map(|when_changed| trigger_strategy(&object, when_changed))
        };
        for completed in [false, true] {
            assert_eq!(
                triggers("manual", completed),
                [Some(Strategy::Now), Some(Strategy::Changed)]
            );
        }
        assert_eq!(triggers("once", false), [Some(Strategy::Once); 2]);
        assert_eq!(triggers("once", true), [Some(Strategy::Once), None]);
    }
}
