//! What to do about a QuarksJob of the conversion. Pure.

use super::object::INPUTS_ANNOTATION;
use crate::job::{ending, is_alive};
use boson_api::QuarksJob;
use boson_api::job::Strategy;
use boson_cluster::objects::annotation;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Reason of a template that cannot become a Job.
const REFUSED_REASON: &str = "Refused";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// Apply it: it does not exist, or has ended with other inputs.
    Make,
    /// Delete it: it runs with other inputs, and must not write after the next one.
    End,
    Wait,
    Done,
    /// It has failed, with the message of its condition.
    Failed(String),
}

/// What to do. `live`: the existing QuarksJob. `digest`: the digest of the present inputs.
pub fn todo(live: Option<&QuarksJob>, digest: &str) -> Todo {
    let Some(live) = live else { return Todo::Make };
    if live.metadata.deletion_timestamp.is_some() {
        return Todo::Wait;
    }
    let is_current = inputs(live).as_deref() == Some(digest);
    match (run_result(live), is_current) {
        (None, true) => Todo::Wait,
        (None, false) => Todo::End,
        (Some(_), false) => Todo::Make,
        (Some(Ok(())), true) => Todo::Done,
        (Some(Err(why)), true) => Todo::Failed(why),
    }
}

fn inputs(job: &QuarksJob) -> Option<String> {
    let template = job.spec.template.members();
    let annotations = template.get("spec")?.pointer("/template/metadata/annotations")?;
    Some(annotations.get(INPUTS_ANNOTATION)?.as_str()?.to_string())
}

/// The result of the run that its spec asks for; none if it has not ended.
fn run_result(job: &QuarksJob) -> Option<Result<(), String>> {
    let status = job.status.as_ref()?;
    if status.observed_generation != job.metadata.generation {
        return None;
    }
    match (status.failure(), job.spec.trigger.strategy) {
        // The API server refuses its Job; the trigger waits for another template.
        (Some(failed), _) if failed.reason == REFUSED_REASON => Some(Err(failed.message.clone())),
        (_, Strategy::Manual | Strategy::Now | Strategy::Changed | Strategy::Once) => None,
        (_, Strategy::Done) if status.completed => Some(Ok(())),
        (failed, Strategy::Done) => failed.map(|failed| Err(failed.message.clone())),
    }
}

/// Whether an object is of the run with these inputs: a pod, or its output.
pub fn is_of_run(meta: &ObjectMeta, digest: &str) -> bool {
    annotation(meta, INPUTS_ANNOTATION) == Some(digest)
}

/// Whether something of an earlier run may still write: a Job that has not ended, or a running pod.
pub fn has_earlier_run(jobs: &[Job], pods: &[Pod], digest: &str) -> bool {
    let job_lingers = jobs.iter().any(|job| {
        let template = job.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
        template.is_none_or(|meta| !is_of_run(meta, digest)) && ending(job).is_none()
    });
    let mut alive = pods.iter().filter(|pod| is_alive(pod));
    job_lingers || alive.any(|pod| !is_of_run(&pod.metadata, digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn job(digest: &str, strategy: &str, generation: i64, status: Value) -> QuarksJob {
        serde_json::from_value(json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "QuarksJob",
            "metadata": {"name": "j", "generation": generation},
            "spec": {
                "trigger": {"strategy": strategy},
                "template": {"spec": {"template": {"metadata": {"annotations": {INPUTS_ANNOTATION: digest}}}}},
            },
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_job_runs_once_for_its_inputs_and_again_for_others() {
        let failed = json!({"completed": false, "observedGeneration": 2, "conditions": [
            {"type": "Failed", "status": "True", "reason": "X", "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z"}]});
        let refused = json!({"completed": true, "observedGeneration": 2, "conditions": [
            {"type": "Failed", "status": "True", "reason": "Refused", "message": "r", "lastTransitionTime": "2020-01-01T00:00:00Z"}]});
        let done = json!({"completed": true, "observedGeneration": 2});
        let works = json!({"completed": false, "observedGeneration": 2});
        for (live, wanted) in [
            (None, Todo::Make),
            (Some(job("a", "once", 1, json!({}))), Todo::Wait),
            (Some(job("a", "done", 2, works.clone())), Todo::Wait),
            (Some(job("a", "done", 2, done.clone())), Todo::Done),
            (Some(job("a", "done", 2, failed.clone())), Todo::Failed("m".into())),
            // Its status is about an earlier run.
            (Some(job("a", "once", 3, done.clone())), Todo::Wait),
            (Some(job("a", "done", 3, done.clone())), Todo::Wait),
            (Some(job("a", "once", 2, done.clone())), Todo::Wait),
            (Some(job("a", "once", 2, refused.clone())), Todo::Failed("r".into())),
            (Some(job("b", "once", 2, refused)), Todo::Make),
            (Some(job("b", "done", 2, works)), Todo::End),
            (Some(job("b", "done", 2, done)), Todo::Make),
            (Some(job("b", "done", 2, failed)), Todo::Make),
        ] {
            assert_eq!(todo(live.as_ref(), "a"), wanted, "{live:?}");
        }
    }

    #[test]
    fn a_new_run_waits_for_what_an_earlier_one_may_still_write() {
        let pod = |digest: &str, phase: &str| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"annotations": {INPUTS_ANNOTATION: digest}},
                "status": {"phase": phase},
            }))
            .unwrap()
        };
        let job = |digest: &str, conditions: Value| -> Job {
            serde_json::from_value(json!({
                "spec": {"template": {"metadata": {"annotations": {INPUTS_ANNOTATION: digest}}}},
                "status": {"conditions": conditions},
            }))
            .unwrap()
        };
        let complete = json!([{"type": "Complete", "status": "True"}]);
        assert!(!has_earlier_run(&[], &[], "a"));
        assert!(!has_earlier_run(&[job("a", json!([]))], &[pod("a", "Running")], "a"));
        assert!(has_earlier_run(&[], &[pod("b", "Running")], "a"));
        assert!(has_earlier_run(&[], &[pod("b", "Pending")], "a"));
        assert!(!has_earlier_run(
            &[job("b", complete)],
            &[pod("b", "Succeeded"), pod("b", "Failed")],
            "a"
        ));
        assert!(has_earlier_run(&[job("b", json!([]))], &[], "a"));
    }
}
