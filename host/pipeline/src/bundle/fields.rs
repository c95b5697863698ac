//! Fields of objects that Kubernetes does not know, or with values of a wrong type.

use crate::Diagnostic;
use crate::bundle::codes;
use crate::object::object_error;
use boson_document::{Pointer, Tree};
use boson_fields::{FieldError, Required};

/// Errors that one message names.
const MAX_NAMED_ERRORS: usize = 3;

/// Checks all fields of an object of a kind of Kubernetes, and those of the templates of the operator's kinds.
pub(crate) fn check(object: &Tree) -> Result<(), Diagnostic> {
    let of_template = match object.str("kind") {
        Some("QuarksStatefulSet") => Some("apps.v1.StatefulSetSpec"),
        Some("QuarksJob") => Some("batch.v1.JobSpec"),
        _ => None,
    };
    let template = Pointer::root().at("spec").at("template").at("spec");
    let (errors, below) = match of_template {
        Some(kind) => {
            let found = template.find(object).unwrap_or(&Tree::Null);
            (boson_fields::check(kind, found, Required::Ignored), template)
        }
        None => (boson_fields::check_object(object), Pointer::root()),
    };
    if errors.is_empty() {
        return Ok(());
    }
    let one = |error: &FieldError| format!("{} (at {})", error.why, below.join(error.pointer.tokens()));
    let mut named: Vec<String> = errors.iter().take(MAX_NAMED_ERRORS).map(one).collect();
    if errors.len() > MAX_NAMED_ERRORS {
        named.push(format!("and {} more", errors.len() - MAX_NAMED_ERRORS));
    }
    let error = object_error(object, codes::BUNDLE_INVALID_FIELD, &named.join("; "));
    Err(match errors.first().and_then(|first| first.unknown.as_ref()) {
        Some(unknown) => error.suggest(&unknown.name, unknown.known.iter().copied()),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::kinds::KINDS;
    use boson_document::json;

    #[test]
    fn every_kind_that_a_conversion_may_create_is_checked() {
        for kind in KINDS.iter().filter(|kind| kind.kind != "QuarksSecret") {
            let spec = match kind.kind {
                "QuarksStatefulSet" | "QuarksJob" => r#"{"template": {"spec": {"tempate": {}}}}"#,
                _ => "{}",
            };
            let text = format!(
                r#"{{"apiVersion": "{}", "kind": "{}", "metadata": {{"name": "a"}}, "spc": 1, "spec": {spec}}}"#,
                kind.api_version, kind.kind
            );
            let error = check(&json::parse(&text).unwrap()).unwrap_err();
            assert_eq!(error.code, "bundle-invalid-field", "{kind}");
        }
    }

    #[test]
    fn a_message_names_the_field_its_place_and_the_one_that_was_meant() {
        let object = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"selectors": {}, "ports": [{"port": "x"}]}}"#;
        let error = check(&json::parse(object).unwrap()).unwrap_err();
        let expected = "Service 'a': Kubernetes has no field 'selectors' here (at /spec/selectors); \
                        'port' must be an integer of 32 bits, not a string (at /spec/ports/0/port)";
        assert_eq!(error.message, expected);
        assert!(error.help.unwrap().contains("selector"));
    }
}
