//! The Job of a run. Pure.
//!
//! Its name is derived from the UID of the QuarksJob and the number of the run, so that a run has one Job, whichever
//! process creates it. It is created suspended, and starts after the run is recorded in the status.

mod output;
mod template;

use boson_api::job::Output;
use boson_api::{BoshDeployment, QuarksJob};
use boson_cluster::client::{AnyObject, Error, Identity};
use boson_cluster::objects;
use boson_document::json;
use boson_manifest::labels::RUN;
use boson_manifest::names::{self, MAX_LABEL_LENGTH, Names};
use boson_pipeline::plain::job::{Run, job};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value};
use template::{Pod, Template};

/// On the Job: digest of its configuration ([`super::observe::Config::digest`]).
pub(super) const CONFIG_DIGEST: &str = "quarks.cloudfoundry.org/config-digest";
/// On the Job: it was started. It is created suspended.
pub(super) const STARTED: &str = "quarks.cloudfoundry.org/started";
/// On the QuarksJob: name of the last Job for which the trigger was reset. A trigger that is set later is a new one.
pub(super) const TRIGGER_RESET: &str = "quarks.cloudfoundry.org/trigger-reset-for";
/// On its pods: name of the QuarksJob; the label may be cut.
pub(super) const QUARKS_JOB: &str = "quarks.cloudfoundry.org/quarks-job";
/// Label of a pod that is deleted after a success.
pub(super) const DELETE: &str = "delete";
pub(super) const DELETE_POD: &str = "pod";

/// Digits of the UID's and the number's digest.
const NAME_DIGEST_DIGITS: usize = 12;
/// Annotations of the QuarksJob that are about itself.
const OWN_ANNOTATIONS: [&str; 3] = [objects::DIGEST, objects::TRIGGER, TRIGGER_RESET];

/// Why a Job is not created.
#[derive(Debug, thiserror::Error)]
pub(super) enum JobError {
    /// What it waits for.
    #[error("{0}")]
    Waits(String),
    /// What a user has to fix, such as the template as its user wrote it.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Api(#[from] Error),
}

/// What else shapes a Job.
#[derive(Clone, Debug)]
pub(super) struct Setting<'a> {
    /// Image with `host util persist-output`.
    pub operator_image: &'a str,
    /// ServiceAccount of pods that store output.
    pub account: Option<&'a str>,
}

// === impl JobError ===

impl From<&str> for JobError {
    fn from(why: &str) -> Self {
        Self::Refused(why.into())
    }
}

/// `template`: with the newest versions of Secrets. `digest`: of its configuration.
///
/// # Errors
/// The output names a missing container, or the template is invalid.
pub(super) fn desired_job(
    object: &QuarksJob,
    template: Map<String, Value>,
    number: i64,
    digest: &str,
    setting: &Setting<'_>,
) -> Result<Value, JobError> {
    let owner = boson_cluster::client::owner(object)?;
    let template: Result<Template, _> = serde_json::from_value(Value::Object(template));
    // The error of the parser could quote a value.
    let mut template = template.map_err(|_| "spec.template does not have the form of a Job's template")?;
    let pods = &mut template.spec.template;
    let annotations = pods
        .metadata
        .get_or_insert_default()
        .annotations
        .get_or_insert_default();
    annotations.insert(QUARKS_JOB.into(), object.name_any().into());
    prepare(object, &mut pods.spec, &owner, setting)?;
    let waits = template.spec.suspend == Some(true);
    let mut made = convert_template(object, template, number)?;
    for key in OWN_ANNOTATIONS {
        made.set_annotation(key, None);
    }
    made.set_annotation(RUN, Some(&number.to_string()));
    made.set_annotation(CONFIG_DIGEST, Some(digest));
    if waits {
        // Its user starts it.
        made.set_annotation(STARTED, Some("by-user"));
    }
    made.set_owner(&owner);
    Ok(made)
}

fn convert_template(object: &QuarksJob, template: Template, number: i64) -> Result<Value, JobError> {
    let flawed = || Error::flawed(&QuarksJob::kind(&()), object.meta().name.as_deref(), "is not JSON");
    let Ok(Value::Object(template)) = serde_json::to_value(template) else {
        return Err(flawed().into());
    };
    let mut asked = object.clone();
    asked.spec.template = template.into();
    let text = serde_json::to_string(&asked).map_err(|_| flawed())?;
    let tree = json::parse(&text).map_err(|_| "spec.template is nested too deeply")?;
    let made = json::to_text(&job(&tree, &job_name(object, number)?, Run::Later));
    serde_json::from_str(&made).map_err(|_| flawed().into())
}

/// Prepares the pod: no token unless requested, and with output the container that stores it.
fn prepare(object: &QuarksJob, pod: &mut Pod, owner: &OwnerReference, setting: &Setting<'_>) -> Result<(), JobError> {
    let own = pod.service_account_name.is_some() || pod.service_account.is_some();
    let kept = stored_output(object);
    if pod.automount_service_account_token.is_none() && (kept.is_some() || !own) {
        pod.automount_service_account_token = Some(false);
    }
    if let Some(asked) = kept {
        if let Some(account) = setting.account.filter(|_| !own) {
            pod.service_account_name = Some(account.into());
        }
        // The Secrets of a conversion are the same in both modes, so they have no labels about pods.
        let asked = if is_of_conversion(object) {
            asked.clone()
        } else {
            output::with_origin_labels(asked, pod)
        };
        output::add(
            pod,
            &asked,
            controller_reference(object).unwrap_or(owner),
            setting.operator_image,
        )?;
    }
    Ok(())
}

pub(super) fn stored_output(object: &QuarksJob) -> Option<&Output> {
    let output = object.spec.output.as_ref()?;
    (!output.output_map.is_empty()).then_some(output)
}

/// The owner of the QuarksJob, which owns its output, too.
pub(super) fn controller_reference(object: &QuarksJob) -> Option<&OwnerReference> {
    let mut owners = object.owner_references().iter();
    owners.find(|one| one.controller == Some(true))
}

/// Whether it is a step of a deployment's conversion.
pub(super) fn is_of_conversion(object: &QuarksJob) -> bool {
    let owner = controller_reference(object).filter(|one| one.kind == BoshDeployment::kind(&()));
    let names = owner.and_then(|owner| Names::new(&owner.name, "", "").ok());
    names.is_some_and(|names| names.is_conversion(&object.name_any()))
}

/// The name of a run's Job.
///
/// # Errors
/// [`boson_cluster::client::ErrorKind::Flawed`]: without a UID, an earlier object of the same name could have this Job.
pub(super) fn job_name(object: &QuarksJob, number: i64) -> Result<String, Error> {
    let Identity { name, uid, .. } = Identity::of(object)?;
    let digest = objects::digest(&Value::Array(vec![uid.into(), number.into()]));
    Ok(names::cut(
        name,
        &format!("-{}", &digest[..NAME_DIGEST_DIGITS]),
        MAX_LABEL_LENGTH,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::asked;
    use super::*;
    use boson_manifest::labels;
    use boson_output::{CONTAINER, ORDER, Order};
    use serde_json::json;

    fn of(spec: Value) -> Value {
        let object = asked(spec);
        let setting = Setting {
            operator_image: "boson:1",
            account: Some("kept"),
        };
        desired_job(&object, object.spec.template.members(), 3, "digest", &setting).unwrap()
    }

    fn spec(pod: Value) -> Value {
        json!({"trigger": {"strategy": "now"}, "template": {"spec": {"template": {"spec": pod}}}})
    }

    #[test]
    fn a_run_has_one_name_and_starts_suspended() {
        let made = of(spec(json!({"containers": [{"name": "c", "image": "i"}]})));
        assert_eq!(
            made["metadata"]["name"],
            job_name(&asked(spec(json!({"containers": []}))), 3).unwrap()
        );
        assert_ne!(
            made["metadata"]["name"],
            job_name(&asked(spec(json!({"containers": []}))), 4).unwrap()
        );
        assert_eq!(made["spec"]["suspend"], true);
        assert_eq!(made["metadata"]["annotations"][RUN], "3");
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "uid-a");
        let pod = &made["spec"]["template"];
        assert_eq!(pod["metadata"]["annotations"][QUARKS_JOB], "a");
        assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
        assert_eq!(pod["spec"]["serviceAccountName"], Value::Null);
    }

    #[test]
    fn a_chosen_account_keeps_its_token() {
        let made = of(spec(
            json!({"serviceAccountName": "mine", "containers": [{"name": "c"}]}),
        ));
        assert_eq!(
            made["spec"]["template"]["spec"]["automountServiceAccountToken"],
            Value::Null
        );
    }

    #[test]
    fn output_is_stored_by_our_container_which_alone_has_a_token() {
        let mut asked = spec(json!({"containers": [{"name": "c", "image": "i"}, {"name": "other"}]}));
        asked["output"] = json!({"outputMap": {"c": {"output.json": {"name": "s", "versioned": true}}}});
        let made = of(asked);
        let pod = &made["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], "kept");
        assert_eq!(pod["automountServiceAccountToken"], false);
        let containers = pod["containers"].as_array().unwrap();
        let names: Vec<_> = containers.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["c", "other", CONTAINER]);
        assert_eq!(
            containers[0]["volumeMounts"],
            json!([{"name": "output-c", "mountPath": "/mnt/quarks"}])
        );
        assert_eq!(containers[1]["volumeMounts"], Value::Null);
        let mounts: Vec<_> = containers[2]["volumeMounts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["mountPath"].as_str().unwrap())
            .collect();
        assert_eq!(
            mounts,
            ["/mnt/quarks/c", "/var/run/secrets/kubernetes.io/serviceaccount"]
        );
        let order = containers[2]["env"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == ORDER)
            .unwrap();
        let order: Order = serde_json::from_str(order["value"].as_str().unwrap()).unwrap();
        assert_eq!(order.owner.uid, "uid-a");
        assert_eq!(
            order.output.output_map["c"]["output.json"].secret_labels[labels::CONTAINER_NAME],
            "c"
        );
        assert!(!order.restarts);
    }

    #[test]
    fn output_of_a_conversion_gets_no_label() {
        let mut spec = spec(json!({"containers": [{"name": "c"}]}));
        spec["output"] = json!({"outputMap": {"c": {"f": {"name": "s"}}}});
        let mut object = asked(spec);
        let setting = Setting {
            operator_image: "",
            account: None,
        };
        let above =
            json!([{"apiVersion": "v1", "kind": "BOSHDeployment", "name": "d", "uid": "u", "controller": true}]);
        object.metadata.owner_references = serde_json::from_value(above).unwrap();
        for (name, wanted) in [("bpm-configs-d", false), ("d-smoke", true)] {
            object.metadata.name = Some(name.into());
            let made = desired_job(&object, object.spec.template.members(), 1, "", &setting).unwrap();
            assert_eq!(made.to_string().contains(labels::CONTAINER_NAME), wanted, "{name}");
        }
    }

    #[test]
    fn output_of_a_missing_container_is_an_error() {
        let mut spec = spec(json!({"containers": [{"name": "c"}]}));
        spec["output"] = json!({"outputMap": {"d": {"f": {"name": "s"}}}});
        let object = asked(spec);
        let setting = Setting {
            operator_image: "",
            account: None,
        };
        let error = desired_job(&object, object.spec.template.members(), 1, "", &setting).unwrap_err();
        assert!(
            matches!(&error, JobError::Refused(why) if why.contains("'d'")),
            "{error:?}"
        );
    }

    #[test]
    fn a_template_of_another_form_is_reported_without_its_values() {
        let object = asked(spec(
            json!({"containers": [{"name": "c"}], "serviceAccountName": ["CANARY"]}),
        ));
        let setting = Setting {
            operator_image: "",
            account: None,
        };
        let error = desired_job(&object, object.spec.template.members(), 1, "", &setting).unwrap_err();
        assert!(
            matches!(error, JobError::Refused(_)) && !format!("{error:?}").contains("CANARY"),
            "{error:?}"
        );
    }

    #[test]
    fn a_job_without_an_owner_is_a_defect() {
        let mut object = asked(spec(json!({"containers": [{"name": "c"}]})));
        object.metadata.uid = None;
        let setting = Setting {
            operator_image: "",
            account: None,
        };
        let error = desired_job(&object, object.spec.template.members(), 1, "", &setting).unwrap_err();
        assert!(matches!(error, JobError::Api(_)), "{error:?}");
        assert_eq!(
            job_name(&object, 1).unwrap_err().kind,
            boson_cluster::client::ErrorKind::Flawed("has no UID")
        );
    }
}
