//! A status as a merge patch: members that it no longer has are set to null. Otherwise they would stay, and each
//! reconcile would find the status wrong again.

use kube::api::ObjectMeta;
use serde::Serialize;
use serde_json::{Map, Value};

/// Metadata and status of an object, and nothing else of it.
#[derive(Debug, PartialEq, Serialize)]
pub struct StatusPatch {
    metadata: ObjectMeta,
    status: Map<String, Value>,
}

/// The patch that sets the status of `object`. `metadata`: what the object must have, so that no other one is changed.
///
/// # Errors
/// One of the types cannot be serialized: a defect.
pub fn whole(
    object: &impl Serialize,
    metadata: ObjectMeta,
    status: &impl Serialize,
) -> Result<StatusPatch, serde_json::Error> {
    let old = serde_json::to_value(object)?;
    let mut status: Map<String, Value> = serde_json::from_value(serde_json::to_value(status)?)?;
    for (key, _) in old["status"].as_object().into_iter().flatten() {
        status.entry(key).or_insert(Value::Null);
    }
    Ok(StatusPatch { metadata, status })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_that_is_no_object_is_an_error_and_no_patch() {
        assert!(whole(&json!({}), ObjectMeta::default(), &json!("done")).is_err());
    }

    #[test]
    fn removed_members_are_set_to_null() {
        let object = json!({"status": {"copied": true, "generated": true}});
        let of = |object: &Value, status: &Value| {
            let patch = whole(object, ObjectMeta::default(), status).unwrap();
            serde_json::to_value(patch).unwrap()
        };
        assert_eq!(
            of(&object, &json!({"generated": false})),
            json!({"metadata": {}, "status": {"copied": null, "generated": false}})
        );
        assert_eq!(
            of(&json!({}), &json!({"a": 1})),
            json!({"metadata": {}, "status": {"a": 1}})
        );
    }
}
