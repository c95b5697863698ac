//! Exceptions of plugins. What a plugin in JavaScript or Python throws would be a trap without a text, so its entry
//! catches it and reports a diagnostic with a reserved code.

use crate::bindings::boson::types::types as wit;
use crate::error::{codes, cut};
use boson_document::{Tree, json};

/// Bytes of the text of an exception that a message shows.
const MAX_TEXT_BYTES: usize = 600;
/// Active functions that a message shows.
const MAX_FRAMES: usize = 8;
/// The member of the diagnostic with the active functions.
const STACK: &str = "stack";

/// What the diagnostics of a reply say about an exception, as the rest of a sentence about the plugin.
pub(crate) fn in_reply(diagnostics: &[wit::Diagnostic]) -> Option<String> {
    let one = diagnostics.iter().find(|one| is_exception(&one.code))?;
    let stack = one.more.iter().find(|member| member.name == STACK);
    let stack = stack.and_then(|member| json::parse(&member.value).ok());
    Some(sentence(&one.message, stack.as_ref()))
}

/// As [`in_reply`], of diagnostics in their JSON form.
pub(crate) fn in_json(diagnostics: &Tree) -> Option<String> {
    let mut all = diagnostics.as_array().into_iter().flatten();
    let one = all.find(|one| one.str("code").is_some_and(is_exception))?;
    let stack = one
        .items("more")
        .iter()
        .find(|member| member.str("name") == Some(STACK));
    let text = one.str("message").unwrap_or_default();
    Some(sentence(text, stack.and_then(|member| member.get("value"))))
}

fn is_exception(code: &str) -> bool {
    code == codes::PLUGIN_EXCEPTION.name
}

/// All of it is in the message, because the filter for secrets reads no other part of the host's own diagnostics.
fn sentence(text: &str, stack: Option<&Tree>) -> String {
    let shown = cut(text.to_string(), MAX_TEXT_BYTES, "...");
    let frames = stack.and_then(Tree::as_array).into_iter().flatten();
    let frames: Vec<&str> = frames.filter_map(Tree::as_str).take(MAX_FRAMES).collect();
    let at = if frames.is_empty() { "" } else { "; at " };
    format!("raised an exception: {shown}{at}{}", frames.join(" < "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_reply_give_the_same_sentence() {
        let stack = r#"["edit (plugin.js:7)","transform (plugin.js:3)"]"#;
        let one = wit::Diagnostic {
            severity: wit::Severity::Error,
            code: "plugin-exception".into(),
            message: "TypeError: x is not a function".into(),
            place: None,
            related: Vec::new(),
            help: None,
            follows: None,
            more: vec![wit::Member {
                name: "stack".into(),
                value: stack.into(),
            }],
        };
        let wanted = "raised an exception: TypeError: x is not a function; at edit (plugin.js:7) < transform \
                      (plugin.js:3)";
        assert_eq!(in_reply(&[one]).unwrap(), wanted);
        let text = format!(
            r#"[{{"code":"a-b","message":""}},{{"code":"plugin-exception",
            "message":"TypeError: x is not a function","more":[{{"name":"stack","value":{stack}}}]}}]"#
        );
        assert_eq!(in_json(&json::parse(&text).unwrap()).unwrap(), wanted);
        assert_eq!(
            in_json(&json::parse(r#"[{"code":"plugin-exceptional"}]"#).unwrap()),
            None
        );
    }

    #[test]
    fn a_long_text_leaves_room_for_the_stack() {
        let stack = Tree::from(vec![Tree::from("edit (plugin.js:7)")]);
        let sentence = sentence(&"ä".repeat(5000), Some(&stack));
        assert!(
            sentence.ends_with("...; at edit (plugin.js:7)") && sentence.len() < 1000,
            "{sentence}"
        );
    }
}
