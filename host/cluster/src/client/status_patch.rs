//! A status as a merge patch: members that it no longer has are set to null. Otherwise they would stay, and each reconcile would find the status
//! wrong again.

use serde::Serialize;
use serde_json::Value;

/// The patch that sets the status of `object`.
pub fn whole(object: &impl Serialize, status: &impl Serialize) -> Value {
    // Our types can always be serialized; if not, the patch would be empty rather than wrong.
    let old = serde_json::to_value(object).unwrap_or_default();
    let mut new = serde_json::to_value(status).unwrap_or_default();
    let removed = old["status"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone());
    if let Some(members) = new.as_object_mut() {
        for key in removed {
            members.entry(key).or_insert(Value::Null);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn removed_members_are_set_to_null() {
        let object = json!({"status": {"copied": true, "generated": true}});
        let patch = whole(&object, &json!({"generated": false}));
        assert_eq!(patch, json!({"copied": null, "generated": false}));
        assert_eq!(whole(&json!({}), &json!({"a": 1})), json!({"a": 1}));
    }
}
