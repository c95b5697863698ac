//! A status as a merge patch: members that it no longer has are named, as null. A patch that left them out would leave them there, and the
//! next look would find the status wrong again, for ever.

use serde::Serialize;
use serde_json::Value;

/// The patch that makes the status of `object` this one.
pub fn whole(object: &impl Serialize, status: &impl Serialize) -> Value {
    // Types of ours become JSON whatever they hold; if one did not, the patch would say nothing rather than something wrong.
    let old = serde_json::to_value(object).unwrap_or_default();
    let mut new = serde_json::to_value(status).unwrap_or_default();
    let gone = old["status"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone());
    if let Some(members) = new.as_object_mut() {
        for key in gone {
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
    fn members_that_are_gone_are_named() {
        let object = json!({"status": {"copied": true, "generated": true}});
        let patch = whole(&object, &json!({"generated": false}));
        assert_eq!(patch, json!({"copied": null, "generated": false}));
        assert_eq!(whole(&json!({}), &json!({"a": 1})), json!({"a": 1}));
    }
}
