//! The Job of a run. Pure.
//!
//! Its name is derived from the UID of the QuarksJob and the number of the run, so that a run has one Job, whichever process creates it. It is
//! created suspended, and starts after the run is recorded in the status.

use super::marks::{CONFIG, QUARKS_JOB, RUN, TAKEN};
use super::output;
use boson_api::{BoshDeployment, QuarksJob};
use boson_cluster::objects;
use boson_document::{Tree, json};
use boson_manifest::names::{self, LABEL_LIMIT, Names};
use boson_pipeline::plain::job::{Run, job};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value};

/// Digits of the UID's and the number's digest.
const DIGITS: usize = 12;
/// Annotations of the QuarksJob that are about itself.
const OWN: [&str; 3] = [objects::DIGEST, objects::TRIGGER, TAKEN];

/// What else shapes a Job.
#[derive(Clone, Debug)]
pub(super) struct Setting<'a> {
    /// Image with `host util persist-output`.
    pub operator_image: &'a str,
    /// ServiceAccount of pods that store output.
    pub account: Option<&'a str>,
}

/// `template`: with the newest versions of Secrets. `digest`: of its configuration.
///
/// # Errors
/// The output names a missing container, or the template is invalid.
pub(super) fn desired(
    object: &QuarksJob,
    template: Map<String, Value>,
    number: i64,
    digest: &str,
    setting: &Setting<'_>,
) -> Result<Value, String> {
    let owner = object.controller_owner_ref(&()).ok_or("it has no UID yet")?;
    let mut asked = serde_json::to_value(object).map_err(|_| "it is not JSON")?;
    asked["spec"]["template"] = Value::Object(template);
    let pods = &mut asked["spec"]["template"]["spec"]["template"];
    pods["metadata"]["annotations"][QUARKS_JOB] = object.name_any().into();
    prepare(object, &mut pods["spec"], &owner, setting)?;
    let waits = asked["spec"]["template"]["spec"]["suspend"] == true;
    let tree = json::parse(&asked.to_string()).map_err(|_| "its template is not JSON")?;
    let mut made = written(&job(&tree, &name(object, number), Run::Later))?;
    let metadata = &mut made["metadata"];
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        annotations.retain(|key, _| !OWN.contains(&key.as_str()));
    }
    metadata["annotations"][RUN] = number.to_string().into();
    metadata["annotations"][CONFIG] = digest.into();
    if waits {
        // Its user starts it.
        metadata["annotations"][super::marks::STARTED] = "by-user".into();
    }
    metadata["ownerReferences"] = serde_json::to_value([owner]).unwrap_or_default();
    Ok(made)
}

/// Prepares the pod: no token unless requested, and with output the container that stores it.
fn prepare(object: &QuarksJob, pod: &mut Value, owner: &OwnerReference, setting: &Setting<'_>) -> Result<(), String> {
    let own = ["serviceAccountName", "serviceAccount"]
        .iter()
        .any(|key| pod[key].is_string());
    let kept = object
        .spec
        .output
        .as_ref()
        .filter(|output| !output.output_map.is_empty());
    if pod["automountServiceAccountToken"].is_null() && (kept.is_some() || !own) {
        pod["automountServiceAccountToken"] = false.into();
    }
    if let Some(asked) = kept {
        if let Some(account) = setting.account.filter(|_| !own) {
            pod["serviceAccountName"] = account.into();
        }
        // The Secrets of a conversion are the same in both modes, so they have no labels about pods.
        let asked = match of_conversion(object) {
            true => asked.clone(),
            false => output::labelled(asked, pod),
        };
        output::add(pod, &asked, above(object).unwrap_or(owner), setting.operator_image)?;
    }
    // Indexing added missing members as null.
    if let Some(members) = pod.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    Ok(())
}

/// The owner of the QuarksJob, which owns its output, too.
pub(super) fn above(object: &QuarksJob) -> Option<&OwnerReference> {
    let mut owners = object.owner_references().iter();
    owners.find(|one| one.controller == Some(true))
}

/// Whether it is a step of a deployment's conversion.
pub(super) fn of_conversion(object: &QuarksJob) -> bool {
    let above = above(object).filter(|one| one.kind == BoshDeployment::kind(&()));
    let names = above.and_then(|above| Names::new(&above.name, "", "").ok());
    names.is_some_and(|names| names.is_conversion(&object.name_any()))
}

/// The name of a run's Job.
pub(super) fn name(object: &QuarksJob, number: i64) -> String {
    let uid = object.uid().unwrap_or_default();
    let digest = objects::digest(&Value::Array(vec![uid.into(), number.into()]));
    names::cut(&object.name_any(), &format!("-{}", &digest[..DIGITS]), LABEL_LIMIT)
}

fn written(tree: &Tree) -> Result<Value, String> {
    serde_json::from_str(&json::to_text(tree)).map_err(|_| "its template is not JSON".to_string())
}

#[cfg(test)]
mod tests {
    use super::super::made::asked;
    use super::*;
    use crate::output::{CONTAINER, ORDER, Order};
    use boson_manifest::labels;
    use serde_json::json;

    fn of(spec: Value) -> Value {
        let object = asked(spec);
        let setting = Setting {
            operator_image: "boson:1",
            account: Some("kept"),
        };
        desired(&object, object.spec.template.clone(), 3, "digest", &setting).unwrap()
    }

    fn spec(pod: Value) -> Value {
        json!({"trigger": {"strategy": "now"}, "template": {"spec": {"template": {"spec": pod}}}})
    }

    #[test]
    fn a_run_has_one_name_and_starts_suspended() {
        let made = of(spec(json!({"containers": [{"name": "c", "image": "i"}]})));
        assert_eq!(
            made["metadata"]["name"],
            name(&asked(spec(json!({"containers": []}))), 3)
        );
        assert_ne!(
            made["metadata"]["name"],
            name(&asked(spec(json!({"containers": []}))), 4)
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
            let made = desired(&object, object.spec.template.clone(), 1, "", &setting).unwrap();
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
        let error = desired(&object, object.spec.template.clone(), 1, "", &setting).unwrap_err();
        assert!(error.contains("'d'"), "{error}");
    }
}
