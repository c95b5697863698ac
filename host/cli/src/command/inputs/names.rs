//! Names that options take.

use boson_manifest::syntax::is_label;

/// A name as Kubernetes takes it for a namespace (RFC 1123).
pub fn namespace(text: &str) -> Result<String, String> {
    if is_label(text) {
        Ok(text.to_string())
    } else {
        Err("lower-case letters, digits and `-` only, at most 63, no `-` at the ends".to_string())
    }
}

/// Labels with dots between them.
pub fn domain(text: &str) -> Result<String, String> {
    text.split('.')
        .try_for_each(|part| namespace(part).map(drop))
        .map(|()| text.to_string())
}
