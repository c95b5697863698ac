//! A status as a merge patch: members that it no longer has are set to null. Otherwise they would stay, and each
//! reconcile would find the status wrong again.

use serde::Serialize;
use serde_json::{Map, Value};

/// What sets the status of `object` in a patch.
///
/// # Errors
/// One of the types cannot be serialized: a defect.
pub fn whole(object: &impl Serialize, status: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    let old = serde_json::to_value(object)?;
    let mut status: Map<String, Value> = serde_json::from_value(serde_json::to_value(status)?)?;
    for (key, _) in old["status"].as_object().into_iter().flatten() {
        status.entry(key).or_insert(Value::Null);
    }
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_that_is_no_object_is_an_error_and_no_patch() {
        assert!(whole(&json!({}), &json!("done")).is_err());
    }

    #[test]
    fn removed_members_are_set_to_null() {
        let object = json!({"status": {"copied": true, "generated": true}});
        let of = |object: &Value, status: &Value| Value::Object(whole(object, status).unwrap());
        assert_eq!(
            of(&object, &json!({"generated": false})),
            json!({"copied": null, "generated": false})
        );
        assert_eq!(of(&json!({}), &json!({"a": 1})), json!({"a": 1}));
    }
}
