//! Replies of plugins as JSON: whether two are the same, and how they differ.

use boson_document::{Tree, json};
use boson_pipeline::difference::{Difference, differences};
use boson_pipeline::report::clean;

/// Differences that are shown.
const MAX_SHOWN_DIFFERENCES: usize = 20;
/// Characters of a value that are shown.
const MAX_VALUE_CHARS: usize = 100;

/// Whether two replies are the same, also in the order of members and the texts of numbers.
pub fn are_same(one: &Tree, other: &Tree) -> bool {
    json::to_text(one) == json::to_text(other)
}

/// Another reply, which differs in one value: the last one.
pub fn changed(reply: &Tree) -> Tree {
    match reply {
        Tree::Array(items) if !items.is_empty() => {
            let mut items = items.clone();
            if let Some(last) = items.last_mut() {
                *last = changed(last);
            }
            Tree::Array(items)
        }
        Tree::Object(map) if !map.is_empty() => {
            let mut map = map.clone();
            if let Some((_, last)) = map.last_mut() {
                *last = changed(last);
            }
            Tree::Object(map)
        }
        Tree::Bool(value) => (!value).into(),
        other => Tree::Array(vec![other.clone()]),
    }
}

/// A line for each difference.
pub fn lines(expected: &Tree, found: &Tree) -> Vec<String> {
    let all = differences(expected, found);
    let mut lines: Vec<String> = all.iter().take(MAX_SHOWN_DIFFERENCES).map(line).collect();
    if all.is_empty() {
        lines.push("the replies differ in the order of members".to_string());
    }
    if all.len() > MAX_SHOWN_DIFFERENCES {
        lines.push(format!("{} more differences", all.len() - MAX_SHOWN_DIFFERENCES));
    }
    lines
}

/// The place of the first difference, for a terminal; `None` if the replies differ only in the order of members.
pub fn first(expected: &Tree, found: &Tree) -> Option<String> {
    differences(expected, found).first().map(|one| cut(&pointer(one)))
}

fn line(one: &Difference<'_>) -> String {
    let pointer = pointer(one);
    match (one.old, one.new) {
        (Some(old), Some(new)) => format!("{pointer}: expected {}, found {}", short(old), short(new)),
        (Some(old), None) => format!("{pointer}: expected {}, found nothing", short(old)),
        (None, new) => format!(
            "{pointer}: expected nothing, found {}",
            new.map(short).unwrap_or_default()
        ),
    }
}

/// The place of a difference, for a terminal.
pub fn pointer(one: &Difference<'_>) -> String {
    clean::line(&one.pointer.to_string())
}

/// The beginning of a value, for a terminal.
pub fn short(value: &Tree) -> String {
    cut(&clean::line(&json::to_text(value)))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use boson_document::json::parse;

    #[test]
    fn a_changed_reply_is_another_one() {
        for text in [
            r#"{"ok":{"objects":[],"diagnostics":[]}}"#,
            r#"{"ok":[{"a":1.10}]}"#,
            r#"{"failure":"x"}"#,
            "{}",
            "null",
            "true",
        ] {
            let reply = parse(text).unwrap();
            assert!(are_same(&reply, &reply));
            assert!(!are_same(&reply, &changed(&reply)), "{text}");
            assert!(!lines(&reply, &changed(&reply)).is_empty());
        }
    }

    #[test]
    fn replies_are_compared_exactly() {
        for (one, other, line) in [
            (
                r#"{"a":1,"b":2}"#,
                r#"{"b":2,"a":1}"#,
                "the replies differ in the order of members",
            ),
            (r#"{"a":1.10}"#, r#"{"a":1.1}"#, "/a: expected 1.10, found 1.1"),
            (r#"{"a":[1]}"#, r#"{"a":[]}"#, "/a/0: expected 1, found nothing"),
            (r#"{"a":[]}"#, r#"{"a":[1]}"#, "/a/0: expected nothing, found 1"),
        ] {
            let (one, other) = (parse(one).unwrap(), parse(other).unwrap());
            assert!(!are_same(&one, &other));
            assert_eq!(lines(&one, &other), [line]);
        }
    }
}
