//! Names that options take.

/// A name as Kubernetes takes it for a namespace (RFC 1123).
pub fn namespace(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = !text.starts_with('-') && !text.ends_with('-');
    if !text.is_empty() && text.len() <= 63 && ends && text.chars().all(inner) {
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
