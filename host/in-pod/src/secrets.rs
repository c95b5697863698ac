//! Values of variables, as Secrets hold them. Pure.
//!
//! A Secret whose only key is `password` is a text, `((x))`; any others are the members of a map, `((x.key))`. What the
//! operator adds to a generated Secret beside the value (`is_ca`) is a member like others.

use boson_manifest::labels;
use k8s_openapi::api::core::v1::Secret;

/// Key of a value that is one text.
pub(crate) const PASSWORD_KEY: &str = "password";
/// Key of an implicit variable that is written without one.
const DEFAULT_KEY: &str = "value";
/// How keys begin that are no part of a value: the operator keeps there what it needs to rotate a CA.
pub const TRANSITIONAL_PREFIX: &str = "transitional.";

/// Whether the value of a variable is JSON: the Secret is annotated so, and has no key but `password`.
pub fn is_json_password(secret: &Secret) -> bool {
    is_json(secret) && secret.data.iter().flatten().map(|(key, _)| key).eq([PASSWORD_KEY])
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
        _ => (reference, DEFAULT_KEY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
