//! Kubernetes' rules beyond types for maps that are copied into pods. An API server would report them only when the
//! objects are applied, without a line of the manifest. Types are checked in [`crate::rules::fields`].

use crate::codes;
use boson_document::{Map, Place, Report, Tree, go};
use boson_manifest::syntax::{is_data_key, is_label_value, is_qualified};
use boson_processes::cpu::millis;

/// Largest id of a user or group.
const MAX_ID: i64 = i32::MAX as i64;
/// Fields of a pod that a variable can have.
const POD_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

pub fn report_error(report: &mut Report, place: Place, text: &str) {
    report.error(codes::FIELD, place, text);
}

/// Tolerations of a pod.
pub fn tolerations(list: &Tree, place: &Place, report: &mut Report) {
    for (index, one) in list.as_array().into_iter().flatten().enumerate() {
        let (place, text) = (place.at(index), |key: &str| one.str(key).unwrap_or_default());
        let (key, operator, value) = (text("key"), text("operator"), text("value"));
        if !matches!(operator, "" | "Equal" | "Exists" | "Lt" | "Gt") {
            report_error(report, place.at("operator"), "'operator' must be Equal or Exists");
        }
        if !matches!(text("effect"), "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            let why = "'effect' must be NoSchedule, PreferNoSchedule or NoExecute";
            report_error(report, place.at("effect"), why);
        }
        if key.is_empty() && operator != "Exists" {
            let message = "A toleration without 'key' needs the 'operator' Exists";
            report_error(report, place.clone(), message);
        } else if !key.is_empty() && !is_qualified(key) {
            report_error(report, place.at("key"), "'key' cannot be the key of a taint");
        }
        if operator == "Exists" && !value.is_empty() || !is_label_value(value) {
            let message = "'value' must be a valid label value, and empty with Exists";
            report_error(report, place.at("value"), message);
        }
        if one.get("tolerationSeconds").is_some_and(|seconds| !seconds.is_null()) && text("effect") != "NoExecute" {
            let why = "'tolerationSeconds' needs the 'effect' NoExecute";
            report_error(report, place.at("tolerationSeconds"), why);
        }
    }
}

/// Members of a container's `securityContext`.
pub fn security_context(context: &Tree, place: &Place, report: &mut Report) {
    for key in ["runAsUser", "runAsGroup"] {
        if context.i64(key).is_some_and(|id| !(0..=MAX_ID).contains(&id)) {
            report_error(report, place.at(key), &format!("'{key}' must be from 0 to {MAX_ID}"));
        }
    }
    if !matches!(context.str("procMount"), None | Some("Default" | "Unmasked")) {
        report_error(report, place.at("procMount"), "'procMount' must be Default or Unmasked");
    }
    for key in ["seccompProfile", "appArmorProfile"] {
        let Some(profile) = context.get(key).filter(|profile| profile.as_object().is_some()) else {
            continue;
        };
        let (kind, is_named) = (profile.str("type"), profile.str("localhostProfile").is_some());
        if !matches!(kind, Some("RuntimeDefault" | "Unconfined" | "Localhost")) {
            let why = "'type' must be RuntimeDefault, Unconfined or Localhost";
            report_error(report, place.at(key).at("type"), why);
        } else if (kind == Some("Localhost")) != is_named {
            let text = "'localhostProfile' belongs to the type Localhost";
            report_error(report, place.at(key), text);
        }
    }
}

/// An environment variable that the container has itself.
pub fn variable(entry: &Tree, place: &Place, report: &mut Report) {
    let Some(source) = entry.members("valueFrom") else {
        return;
    };
    let place = place.at("valueFrom");
    let given = source.values().filter(|value| !value.is_null()).count();
    if given != 1 || entry.str("value").is_some_and(|value| !value.is_empty()) {
        let text = "A variable has either a 'value' or one source in 'valueFrom'";
        report_error(report, place.clone(), text);
    }
    let named = |key: &str| source.get(key).and_then(Tree::as_object);
    if let Some(path) = named("fieldRef").and_then(|field| field.get("fieldPath")?.as_str()) {
        let quoted = ["metadata.labels['", "metadata.annotations['"];
        let of_map = quoted
            .iter()
            .find_map(|start| path.strip_prefix(start)?.strip_suffix("']"));
        if !POD_FIELDS.contains(&path) && !of_map.is_some_and(is_qualified) {
            let text = "'fieldPath' is no field that a variable can have";
            report_error(report, place.at("fieldRef").at("fieldPath"), text);
        }
    }
    for key in ["secretKeyRef", "configMapKeyRef"] {
        let Some(reference) = named(key) else { continue };
        let text = |member: &str| reference.get(member).and_then(Tree::as_str).unwrap_or_default();
        if text("name").is_empty() || !is_data_key(text("key")) {
            let message = "It needs the 'name' of an object and one of its keys as 'key'";
            report_error(report, place.at(key), message);
        }
    }
}

/// The requests that a process sets itself: quantities, at most its limits.
pub fn requests(requests: &Map, limits: &Tree, place: &Place, report: &mut Report) {
    let amount = |of: Option<&Tree>, key: &str| {
        let text = go::text(of?)?;
        match key {
            "cpu" => quantity(&text).or_else(|| millis(&text).map(|millis| millis as f64 / 1000.0)),
            _ => quantity(&text),
        }
    };
    for (key, request) in requests.iter().filter(|(_, request)| !request.is_null()) {
        let limit = limits.get("limits").and_then(|limits| limits.get(key));
        match amount(Some(request), key) {
            None => report_error(
                report,
                place.at(key),
                &format!("'{key}' must be a quantity, such as 100m or 64Mi"),
            ),
            Some(amount_of_request) if amount(limit, key).is_some_and(|most| amount_of_request > most) => {
                let message = format!("'{key}' must not exceed the limit of the container");
                report_error(report, place.at(key), &message);
            }
            Some(_) => {}
        }
    }
}

/// The amount of a quantity that is not negative.
pub fn quantity(text: &str) -> Option<f64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, suffix) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => f64::from(1 << 20),
        "Gi" => f64::from(1 << 30),
        "Ti" => f64::powi(2.0, 40),
        "Pi" => f64::powi(2.0, 50),
        "Ei" => f64::powi(2.0, 60),
        exponent => f64::powi(10.0, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    fn found(check: fn(&Tree, &Place, &mut Report), text: &str) -> Vec<String> {
        let mut report = Report::default();
        check(&json::parse(text).unwrap(), &Place::default(), &mut report);
        let all = report.into_diagnostics();
        all.iter().map(|one| one.pointer_text()).collect()
    }

    #[test]
    fn tolerations_obey_kubernetes() {
        let good =
            r#"[{"operator": "Exists"}, {"key": "a/b", "value": "c", "effect": "NoExecute", "tolerationSeconds": 1}]"#;
        assert_eq!(found(tolerations, good), Vec::<String>::new());
        let bad = r#"[{"value": "a"}, {"key": "a b", "operator": "Is"}, {"key": "a", "operator": "Exists", "value": "b", "effect": "No", "tolerationSeconds": 1}]"#;
        let expected = [
            "/0",
            "/1/operator",
            "/1/key",
            "/2/effect",
            "/2/value",
            "/2/tolerationSeconds",
        ];
        assert_eq!(found(tolerations, bad), expected);
    }

    #[test]
    fn security_contexts_obey_kubernetes() {
        let good = r#"{"runAsUser": 0, "seccompProfile": {"type": "Localhost", "localhostProfile": "a"}, "procMount": "Default"}"#;
        assert_eq!(found(security_context, good), Vec::<String>::new());
        let bad = r#"{"runAsUser": -1, "runAsGroup": 3000000000, "seccompProfile": {"type": "a"}, "appArmorProfile": {"type": "Localhost"}, "procMount": ""}"#;
        let expected = [
            "/runAsUser",
            "/runAsGroup",
            "/procMount",
            "/seccompProfile/type",
            "/appArmorProfile",
        ];
        assert_eq!(found(security_context, bad), expected);
    }

    #[test]
    fn variables_have_one_source() {
        for (entry, good) in [
            (r#"{"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}"#, true),
            (r#"{"fieldRef": {"fieldPath": "metadata.labels"}}"#, false),
            (
                r#"{"secretKeyRef": {"name": "a", "key": "b.c"}, "fieldRef": null}"#,
                true,
            ),
            (r#"{"secretKeyRef": {"name": "a", "key": "b/c"}}"#, false),
            (r#"{"secretKeyRef": {"name": "", "key": "b"}}"#, false),
            ("{}", false),
        ] {
            let text = format!(r#"{{"name": "A", "valueFrom": {entry}}}"#);
            assert_eq!(found(variable, &text).is_empty(), good, "{entry}");
        }
        let both = r#"{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}"#;
        assert_eq!(found(variable, both), ["/valueFrom"]);
    }

    #[test]
    fn requests_are_quantities_within_limits() {
        for (request, good) in [
            (r#"{"cpu": "500m", "memory": "64Mi"}"#, true),
            (r#"{"cpu": 1, "memory": 67108864}"#, true),
            (r#"{"cpu": 2}"#, false),
            (r#"{"memory": "1Gi"}"#, false),
            (r#"{"memory": "64 Mi"}"#, false),
            (r#"{"ephemeral-storage": "1e3"}"#, true),
        ] {
            let (requested, mut report) = (json::parse(request).unwrap(), Report::default());
            let limits = json::parse(r#"{"limits": {"cpu": "1", "memory": "64Mi"}}"#).unwrap();
            requests(requested.as_object().unwrap(), &limits, &Place::default(), &mut report);
            assert_eq!(!report.failed(), good, "{request}");
        }
    }
}
