//! An operation as errors show it: JSON as Go writes it, the value hidden.

use crate::definition::Definition;

/// The operation with `error` as its `Error`, indented by two spaces. What is not given is left out; of a value nothing
/// is shown.
pub fn json(definition: &Definition, error: &str) -> String {
    let mut members = Vec::new();
    let mut member = |name: &str, value: String| members.push(format!("  \"{name}\": {value}"));
    if !definition.kind.is_empty() {
        member("Type", quote(&definition.kind));
    }
    if let Some(path) = &definition.path {
        member("Path", quote(path));
    }
    if definition.value.is_some() {
        member("Value", "\"<redacted>\"".to_string());
    }
    if let Some(absent) = definition.absent {
        member("Absent", absent.to_string());
    }
    member("Error", quote(error));
    // Go escapes < and >, and go-patch puts them back wherever the text has the escape, even behind a backslash.
    format!("{{\n{}\n}}", members.join(",\n"))
        .replace("\\u003c", "<")
        .replace("\\u003e", ">")
}

/// A string as Go's JSON writer has it: `<`, `>`, `&` and the two line separators of Unicode are escaped.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
