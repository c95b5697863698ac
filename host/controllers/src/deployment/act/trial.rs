//! The workloads that other controllers will create for objects of the deployment, for a dry run under free names: what
//! the API server would refuse must be known before any object is written. Pure.

use boson_cluster::client::{AnyObject, Error};
use boson_document::json;
use boson_manifest::names::{MAX_STATEFUL_SET_LENGTH, cut_again};
use boson_pipeline::plain::job::{Run, job};
use boson_pipeline::plain::stateful_set::stateful_sets;
use serde_json::Value;

/// End of the names. No object has such a name: names of StatefulSets end in a version, those of Jobs in a digest.
const TRIAL_SUFFIX: &str = "-trial";

/// The workload of this object: the StatefulSet of its first zone, for all have the same template, or the Job.
pub(super) fn workload(object: &Value) -> Option<Value> {
    let tree = json::parse(&object.to_string()).ok()?;
    let name = cut_again(object.name()?, TRIAL_SUFFIX, MAX_STATEFUL_SET_LENGTH);
    let made = match object.get("kind")?.as_str()? {
        // Errors are reported by the controller.
        "QuarksStatefulSet" => stateful_sets(&tree, 1).ok()?.into_iter().next()?,
        "QuarksJob" => job(&tree, &name, Run::Later),
        _ => return None,
    };
    let mut trial: Value = serde_json::to_value(&made).ok()?;
    trial.set_name(&name);
    Some(trial)
}

/// The refusal of a trial as one of its object; `None` if the workload itself would not be refused.
pub(super) fn refusal(error: Error, object: &Value) -> Option<Error> {
    // It would be one of those that exist.
    (!error.exceeds_quota()).then(|| Error {
        name: object.name().unwrap_or_default().into(),
        ..error
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_cluster::client::ErrorKind;
    use serde_json::json;

    fn object(kind: &str) -> Value {
        json!({"apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": kind, "metadata": {"name": "d-g", "namespace": "n"},
            "spec": {"zones": ["a", "b"], "trigger": {"strategy": "manual"}, "template": {"metadata": {}, "spec": {
                "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}}})
    }

    #[test]
    fn a_workload_has_the_template_and_a_free_name() {
        for (kind, of) in [("QuarksStatefulSet", "StatefulSet"), ("QuarksJob", "Job")] {
            let trial = workload(&object(kind)).unwrap();
            assert_eq!(trial["kind"], of);
            assert_eq!(
                (&trial["metadata"]["name"], &trial["metadata"]["namespace"]),
                (&json!("d-g-trial"), &json!("n"))
            );
            assert_eq!(trial["spec"]["template"]["spec"]["containers"][0]["image"], "i");
        }
        assert_eq!(workload(&json!({"kind": "Service", "metadata": {"name": "a"}})), None);
    }

    #[test]
    fn a_quota_refuses_the_trial_and_not_the_workload() {
        let error = |words: &str| Error {
            verb: "apply",
            object_kind: "StatefulSet".into(),
            resource: String::new(),
            name: "d-g-trial".into(),
            kind: ErrorKind::Refused(Some(words.into())),
        };
        assert_eq!(refusal(error("exceeded quota: few"), &object("QuarksJob")), None);
        let kept = refusal(error("unknown field"), &object("QuarksJob")).unwrap();
        assert_eq!(kept.name, "d-g");
    }
}
