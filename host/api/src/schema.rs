//! Parts of schemas that Rust types cannot express: embedded Kubernetes objects, times, maps of strings.
//!
//! The schema of a whole Job or StatefulSet is not repeated here: it has half a megabyte, it would be out of date with
//! every release of Kubernetes, and the API server checks the created object anyway. Only errors that would be found
//! too late then (a template without pods, a negative number of replicas) are checked here.

use boson_pipeline::Stage;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

const LABEL_VALUE: &str = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

/// Makes each description one line.
pub fn join_lines(schema: &mut JSONSchemaProps) {
    if let Some(text) = &mut schema.description {
        *text = text.replace('\n', " ");
    }
    for field in schema.properties.iter_mut().flat_map(|fields| fields.values_mut()) {
        join_lines(field);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        join_lines(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(members)) = &mut schema.additional_properties {
        join_lines(members);
    }
}

/// A time, without the description of its Rust type, which would hide that of the field.
pub fn date_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// A time or null.
pub fn optional_date_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "nullable": true })
}

/// Labels.
pub fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": "string", "maxLength": 63, "pattern": LABEL_VALUE }
    })
}

/// Any object.
pub fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// The name of a stage of the conversion.
pub fn stage(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Stage::ALL.map(Stage::name) })
}

/// Template of a Job (`kubectl explain cronjob.spec.jobTemplate`).
pub fn job_template(_: &mut SchemaGenerator) -> Schema {
    let members = json!({
        "backoffLimit": { "type": "integer", "format": "int32", "minimum": 0, "description": "Retries before the Job counts as failed." },
        "template": pod_template()
    });
    with_spec("Spec of the Job: see 'kubectl explain job.spec'.", "template", &members)
}

/// Template of a StatefulSet (`kubectl explain statefulset`).
pub fn stateful_set_template(_: &mut SchemaGenerator) -> Schema {
    let members = json!({
        "replicas": { "type": "integer", "format": "int32", "minimum": 0, "description": "Pods in each zone, unless 'zoneReplicas' is set." },
        "serviceName": { "type": "string", "maxLength": 63, "description": "The headless Service that gives the pods their names." },
        "podManagementPolicy": { "type": "string", "enum": ["Parallel", "OrderedReady"], "description": "Whether pods start in parallel or one after the other." },
        "template": pod_template()
    });
    let description = "Spec of each StatefulSet: see 'kubectl explain statefulset.spec'.";
    with_spec(description, "template", &members)
}

/// Probe (`kubectl explain pod.spec.containers.readinessProbe`) by the name of a container.
pub fn probes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "required": ["exec"],
            "properties": {
                "exec": {
                    "type": "object",
                    "description": "The command to run in the container; exit code 0 means active.",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "required": ["command"],
                    "properties": {
                        "command": { "type": "array", "minItems": 1, "items": { "type": "string" }, "description": "Program and arguments; no shell." }
                    }
                },
                "initialDelaySeconds": { "type": "integer", "format": "int32", "minimum": 0, "description": "Seconds before the first run. Default: 0." },
                "periodSeconds": { "type": "integer", "format": "int32", "minimum": 0, "description": "Seconds from one run to the next. Default: 2." },
                "timeoutSeconds": { "type": "integer", "format": "int32", "minimum": 0, "description": "Seconds after which a run fails. Default: 1." },
                "successThreshold": { "type": "integer", "format": "int32", "minimum": 0, "description": "Successes in a row after which the pod is active. Default: 1." },
                "failureThreshold": { "type": "integer", "format": "int32", "minimum": 0, "description": "Failures in a row after which it is passive. Default: 2." }
            }
        }
    })
}

fn metadata() -> Schema {
    json_schema!({
        "type": "object",
        "description": "Labels and annotations for the objects that are created from this template.",
        "x-kubernetes-preserve-unknown-fields": true
    })
}

fn pod_template() -> Schema {
    let members = json!({
        "containers": {
            "type": "array",
            "description": "At least one.",
            "minItems": 1,
            "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
        }
    });
    let description = "Spec of the pods: see 'kubectl explain pod.spec'.";
    let mut template = with_spec(description, "containers", &members);
    template.insert(
        "description".into(),
        "Template of the pods: see 'kubectl explain pod'.".into(),
    );
    template
}

/// An object with metadata and a spec. `members`: of the spec; one of them is required.
fn with_spec(description: &str, required: &str, members: &Value) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "required": ["spec"],
        "properties": {
            "metadata": metadata(),
            "spec": {
                "type": "object",
                "description": description,
                "x-kubernetes-preserve-unknown-fields": true,
                "required": [required],
                "properties": members
            }
        }
    })
}
