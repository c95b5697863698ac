//! Values of variables, as Secrets hold them. Pure.
//!
//! A Secret whose only key is `password` is a text, `((x))`; any others are the members of a map, `((x.key))`. What the
//! operator adds to a generated Secret beside the value (`is_ca`) is a member like others.

use crate::codes;
use boson_document::{Tree, json};
use boson_manifest::labels;
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::Secret;

/// Key of a value that is one text.
const PASSWORD: &str = "password";
/// Key of an implicit variable that is written without one.
const VALUE: &str = "value";
/// How keys begin that are no part of a value: the operator keeps there what it needs to rotate a CA.
pub const TRANSITIONAL: &str = "transitional.";

/// The value of a variable whose Secret has a key for each of its parts.
///
/// # Errors
/// Data that is not text.
pub fn of_variable(secret: &Secret) -> Result<Tree, Diagnostic> {
    let data = secret.data.iter().flatten();
    let mut members = Vec::new();
    for (key, bytes) in data.filter(|(key, _)| is_member(key)) {
        members.push((key.clone(), text(secret, key, &bytes.0)?));
    }
    match members.as_slice() {
        [(key, value)] if key == PASSWORD => Ok(value.clone()),
        _ => Ok(members.into_iter().collect()),
    }
}

/// Whether the entry under a key is a part of the value.
pub(crate) fn is_member(key: &str) -> bool {
    !key.starts_with(TRANSITIONAL)
}

/// Whether the value of a variable is JSON: the Secret is annotated so, and has no key but `password`.
pub fn is_json_password(secret: &Secret) -> bool {
    is_json(secret) && secret.data.iter().flatten().map(|(key, _)| key).eq([PASSWORD])
}

/// Whether the annotation of a Secret says that its texts are JSON.
pub fn is_json(secret: &Secret) -> bool {
    let annotations = secret.metadata.annotations.as_ref();
    let annotation = annotations.and_then(|all| all.get(labels::JSON_VALUE));
    annotation.is_some_and(|value| value == "true")
}

/// The value of an implicit variable, `((x))` or `((x/key))`: name of its Secret's variable, and the key.
pub fn implicit(reference: &str) -> (&str, &str) {
    match reference.split_once('/') {
        Some((name, key)) if !name.is_empty() && !key.is_empty() && !key.contains('/') => (name, key),
        _ => (reference, VALUE),
    }
}

/// The value under a key of an implicit variable's Secret: plain text, or JSON if the Secret is annotated so.
///
/// # Errors
/// The key is missing, or its value is not text, or not JSON.
pub fn of_implicit(secret: &Secret, key: &str) -> Result<Tree, Diagnostic> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let Some(bytes) = secret.data.as_ref().and_then(|data| data.get(key)) else {
        return Err(
            Diagnostic::error(codes::DEPLOYMENT_NO_KEY, format!("Secret '{name}' has no key '{key}'"))
                .help("put the value under 'value', or under the key that follows '/' in the name of the variable"),
        );
    };
    let value = text(secret, key, &bytes.0)?;
    match (is_json(secret), &value) {
        (true, Tree::String(text)) => json::parse(text).map_err(|_| {
            Diagnostic::error(
                codes::DEPLOYMENT_VALUE,
                format!("key '{key}' of Secret '{name}' is not JSON, as its annotation requires"),
            )
            .help(format!("fix it, or remove the annotation {}", labels::JSON_VALUE))
        }),
        _ => Ok(value),
    }
}

fn text(secret: &Secret, key: &str, bytes: &[u8]) -> Result<Tree, Diagnostic> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let text = std::str::from_utf8(bytes);
    text.map(Tree::from).map_err(|_| {
        Diagnostic::error(
            codes::DEPLOYMENT_VALUE,
            format!("key '{key}' of Secret '{name}' is not UTF-8 text"),
        )
        .help("encode binary values as text")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    fn secret(entries: &[(&str, &[u8])], annotation: Option<&str>) -> Secret {
        let data = entries
            .iter()
            .map(|(key, bytes)| ((*key).to_string(), ByteString(bytes.to_vec())));
        let annotations = annotation.map(|value| [(labels::JSON_VALUE.to_string(), value.to_string())].into());
        Secret {
            metadata: ObjectMeta {
                name: Some("s".into()),
                annotations,
                ..ObjectMeta::default()
            },
            data: Some(data.collect()),
            ..Secret::default()
        }
    }

    #[test]
    fn a_password_alone_is_the_value_and_other_keys_are_members() {
        let value = |entries: &[(&str, &[u8])]| of_variable(&secret(entries, None)).map(|tree| json::to_text(&tree));
        assert_eq!(value(&[("password", b"x")]).unwrap(), r#""x""#);
        assert_eq!(
            value(&[("password", b"x"), ("username", b"u")]).unwrap(),
            r#"{"password":"x","username":"u"}"#
        );
        assert_eq!(value(&[("certificate", b"c")]).unwrap(), r#"{"certificate":"c"}"#);
        let rotating: &[(&str, &[u8])] = &[("certificate", b"c"), ("transitional.private_key", b"k")];
        assert_eq!(value(rotating).unwrap(), r#"{"certificate":"c"}"#);
        let error = value(&[("password", &[0xff, 0xfe])]).unwrap_err();
        assert_eq!(error.code, "deployment-value");
    }

    #[test]
    fn implicit_variables_name_their_key_after_a_slash() {
        for (reference, wanted) in [
            ("x", ("x", "value")),
            ("x/key", ("x", "key")),
            ("/x", ("/x", "value")),
            ("a/b/c", ("a/b/c", "value")),
        ] {
            assert_eq!(implicit(reference), wanted, "{reference}");
        }
    }

    #[test]
    fn an_implicit_value_is_text_unless_it_is_said_to_be_json() {
        let entries: &[(&str, &[u8])] = &[("value", b"[1, 2]"), ("broken", b"[")];
        let value = |annotation, key| of_implicit(&secret(entries, annotation), key).map(|tree| json::to_text(&tree));
        assert_eq!(value(None, "value").unwrap(), r#""[1, 2]""#);
        assert_eq!(value(Some("true"), "value").unwrap(), "[1,2]");
        assert_eq!(value(Some("false"), "value").unwrap(), r#""[1, 2]""#);
        assert_eq!(value(Some("true"), "broken").unwrap_err().code, "deployment-value");
        assert_eq!(value(None, "missing").unwrap_err().code, "deployment-no-key");
    }
}
