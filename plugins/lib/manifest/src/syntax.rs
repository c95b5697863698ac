//! What Kubernetes accepts as names of objects, keys and values of labels, and keys of data.

use crate::names::{MAX_LABEL_LENGTH, MAX_SUBDOMAIN_LENGTH};

/// A DNS name of lower-case labels.
pub fn is_subdomain(text: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| !part.is_empty() && consists_of(part, outer, b"-");
    text.len() <= MAX_SUBDOMAIN_LENGTH && text.split('.').all(is_part)
}

/// One label of a DNS name, as names of volumes and namespaces are.
pub fn is_label(text: &str) -> bool {
    text.len() <= MAX_LABEL_LENGTH && !text.contains('.') && is_subdomain(text)
}

/// `[prefix/]name`, as keys of labels and annotations are.
pub fn is_qualified(key: &str) -> bool {
    let (prefix, name) = key
        .rsplit_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_subdomain)
}

/// Whether the text is valid as the value of a label: at most 63 letters, digits, `-`, `_`, `.`, a letter or digit at
/// both ends; may be empty.
pub fn is_label_value(text: &str) -> bool {
    text.len() <= MAX_LABEL_LENGTH && consists_of(text, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Whether a Secret can have this key: at most 253 letters, digits, `-`, `_`, `.`, and not beginning with `..`, nor
/// `.`.
pub fn is_data_key(key: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=MAX_SUBDOMAIN_LENGTH).contains(&key.len()) && key.bytes().all(inside) && key != "." && !key.starts_with("..")
}

/// Whether the text has only bytes that are `outer` or one of `inner`, and none of the latter at its ends.
pub(crate) fn consists_of(text: &str, outer: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let ends = [text.bytes().next(), text.bytes().last()];
    text.bytes().all(|byte| outer(byte) || inner.contains(&byte)) && ends.into_iter().flatten().all(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_obey_kubernetes() {
        for (key, good) in [
            ("app", true),
            ("a.b/c_D", true),
            ("A/b", false),
            ("a/b/c", false),
            ("a b", false),
            ("", false),
            ("a/", false),
        ] {
            assert_eq!(is_qualified(key), good, "{key}");
        }
        for (value, good) in [
            ("", true),
            ("v1.2_x", true),
            ("-a", false),
            ("a b", false),
            (&"x".repeat(64), false),
        ] {
            assert_eq!(is_label_value(value), good, "{value}");
        }
    }
}
