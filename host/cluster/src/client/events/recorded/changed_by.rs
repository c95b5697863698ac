//! Who has changed an object, as far as the API server or the program that changed it tells. Pure.

use crate::client::{OPERATOR_PREFIX, managers};
use boson_manifest::labels;
use kube::api::ObjectMeta;

/// Field manager of `host deploy`; those of other commands begin with `host-`.
const HOST_MANAGER: &str = "host";

/// Who has changed the specification of an object last: the user whom a command of `host` has noted, otherwise the
/// program, by the name of its field manager.
pub fn last_changed_by(object: &ObjectMeta) -> Option<String> {
    let others = managers(object).filter(|(manager, _)| !manager.starts_with(OPERATOR_PREFIX));
    let (last, _) = others.max_by_key(|(manager, entry)| (entry.time.as_ref().map(|time| time.0), is_host(manager)))?;
    let noted = object.annotations.as_ref().and_then(|all| all.get(labels::CHANGED_BY));
    let noted = noted.filter(|_| is_host(last));
    Some(noted.cloned().unwrap_or_else(|| last.to_string()))
}

fn is_host(manager: &str) -> bool {
    manager
        .strip_prefix(HOST_MANAGER)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    #[test]
    fn a_user_is_named_if_a_command_made_the_last_change() {
        let entry = |manager: &str, second: u32, part: &str| {
            json!({"manager": manager, "operation": "Update", "subresource": part,
                "time": format!("2026-01-01T00:00:{second:02}Z")})
        };
        let of = |entries: &[Value]| {
            let object = json!({"annotations": {labels::CHANGED_BY: "ann"}, "managedFields": entries});
            last_changed_by(&from_value(object).unwrap())
        };
        let status = entry("boson-deployment", 9, "status");
        let note = entry("boson-deployment", 8, "");
        assert_eq!(
            of(&[entry("host", 5, ""), status.clone(), note]).as_deref(),
            Some("ann")
        );
        assert_eq!(
            of(&[entry("host-instances", 5, ""), entry("kubectl", 5, "")]).as_deref(),
            Some("ann")
        );
        let edited = [entry("host", 5, ""), entry("kubectl-edit", 6, "")];
        assert_eq!(of(&edited).as_deref(), Some("kubectl-edit"));
        assert_eq!(of(&[entry("hostess", 5, "")]).as_deref(), Some("hostess"));
        assert_eq!(of(&[status]), None);
    }
}
