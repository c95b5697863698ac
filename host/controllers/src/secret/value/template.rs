//! Templates of type helm, as far as configurations with secrets need them: `{{ .Values.NAME }}`, `{{-` and `-}}`, and
//! functions behind `|`.
//!
//! Anything else is an error that names the template and its line; the predecessor wrote the broken text into the
//! Secret.
//!
//! # Guarantees
//! For any templates and values, the texts of one object are never larger than a Secret, not even between two
//! functions, and rendering takes milliseconds: users who can write a QuarksSecret must not be able to exhaust the
//! operator.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_pipeline::bundle::limits::MAX_DATA_BYTES;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most bytes of values that are processed for one object, including by functions.
const MAX_PROCESSED_BYTES: usize = 16 << 20;
/// Most functions after one value; each processes the whole value.
const MAX_FUNCTIONS: usize = 8;
/// Most characters of an action that a message quotes.
const MAX_QUOTED_CHARS: usize = 60;

/// The remaining budget for the templates of one object.
#[derive(Debug)]
pub struct Budget {
    output: usize,
    work: usize,
}

/// The values by name, without copies.
pub type Values<'a> = BTreeMap<&'a str, &'a str>;

// === impl Budget ===

impl Budget {
    pub fn new() -> Self {
        Self {
            output: MAX_DATA_BYTES,
            work: MAX_PROCESSED_BYTES,
        }
    }

    /// Takes this many bytes from the budget before a value is processed.
    ///
    /// # Errors
    /// The budget is exceeded.
    pub fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.work.checked_sub(bytes);
        self.work = left.ok_or("values and functions need more work than one Secret may")?;
        Ok(())
    }

    /// Adds to what was rendered.
    fn write(&mut self, out: &mut String, text: &str) -> Result<(), String> {
        let left = self.output.checked_sub(text.len());
        self.output = left.ok_or_else(too_large)?;
        out.push_str(text);
        Ok(())
    }
}

fn too_large() -> String {
    format!("the result would be larger than a Secret, which holds {MAX_DATA_BYTES} bytes")
}

/// Renders a template. The text of an error holds no value.
///
/// # Errors
/// An action is not closed or not supported, a value is missing, or the budget is exceeded.
pub fn render(name: &str, template: &str, values: &Values, budget: &mut Budget) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    let mut line = 1;
    let at = |line: usize, why: String| format!("template '{name}', line {line}: {why}");
    while let Some((before, after)) = rest.split_once("{{") {
        line += before.matches('\n').count();
        let Some((action, after)) = after.split_once("}}") else {
            return Err(at(line, "'{{' without '}}'".into()));
        };
        let (action, trim_before) = action
            .strip_prefix("- ")
            .map_or((action, false), |action| (action, true));
        let (action, trim_after) = action
            .strip_suffix(" -")
            .map_or((action, false), |action| (action, true));
        let text = if trim_before { before.trim_end() } else { before };
        budget.write(&mut out, text).map_err(|why| at(line, why))?;
        if !is_comment(action) {
            let written = evaluate(action, values, budget).and_then(|value| budget.write(&mut out, &value));
            written.map_err(|why| at(line, why))?;
        }
        line += action.matches('\n').count();
        rest = if trim_after { after.trim_start() } else { after };
        line += after
            .len()
            .checked_sub(rest.len())
            .map_or(0, |cut| after[..cut].matches('\n').count());
    }
    budget.write(&mut out, rest).map_err(|why| at(line, why))?;
    Ok(out)
}

fn is_comment(action: &str) -> bool {
    action.trim().starts_with("/*") && action.trim().ends_with("*/")
}

fn evaluate<'a>(action: &str, values: &Values<'a>, budget: &mut Budget) -> Result<Cow<'a, str>, String> {
    let mut parts = action.split('|').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(name) = first.strip_prefix(".Values.") else {
        return Err(format!("'{}' is not supported; write '.Values.NAME'", beginning(first)));
    };
    let value = values.get(name);
    let value = value.ok_or_else(|| format!("no value is named '{}'", beginning(name)))?;
    let mut value = Cow::Borrowed(*value);
    for (number, function) in parts.enumerate() {
        if number == MAX_FUNCTIONS {
            return Err(format!(
                "there are more than {MAX_FUNCTIONS} functions after '{}'",
                beginning(first)
            ));
        }
        budget.spend(value.len())?;
        if result_length(function, &value) > MAX_DATA_BYTES {
            return Err(too_large());
        }
        value = match function {
            "quote" => Cow::Owned(serde_json::Value::from(value).to_string()),
            "b64enc" => Cow::Owned(STANDARD.encode(&*value)),
            "b64dec" => {
                let bytes = STANDARD.decode(&*value).ok();
                let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
                Cow::Owned(text.ok_or_else(|| format!("value '{name}' is not base64 of text"))?)
            }
            "trim" => Cow::Owned(value.trim().into()),
            "upper" => Cow::Owned(value.to_uppercase()),
            "lower" => Cow::Owned(value.to_lowercase()),
            other => return Err(format!("there is no function '{}'", beginning(other))),
        };
    }
    Ok(value)
}

/// Size of the result of a function, known before it is called.
fn result_length(function: &str, value: &str) -> usize {
    match function {
        "quote" => value.chars().map(quoted_length).sum::<usize>().saturating_add(2),
        "b64enc" => value.len().div_ceil(3).saturating_mul(4),
        "upper" => value.chars().flat_map(char::to_uppercase).map(char::len_utf8).sum(),
        "lower" => value.chars().flat_map(char::to_lowercase).map(char::len_utf8).sum(),
        _ => value.len(),
    }
}

/// Bytes of a character in a JSON text.
fn quoted_length(character: char) -> usize {
    match character {
        '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// The beginning of a user's text, which may have a megabyte.
fn beginning(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_QUOTED_CHARS)
        .map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendered(template: &str) -> Result<String, String> {
        let values = [("user", "admin"), ("word", "a\"b\n")];
        render("t.yml", template, &values.into(), &mut Budget::new())
    }

    /// With this as `.Values.v`.
    fn rendered_with(value: &str, template: &str, budget: &mut Budget) -> Result<String, String> {
        render("t", template, &[("v", value)].into(), budget)
    }

    #[test]
    fn values_and_functions() {
        for (template, expected) in [
            ("a: {{ .Values.user }}\n", "a: admin\n"),
            ("{{.Values.user}}{{ .Values.user | upper }}", "adminADMIN"),
            ("a: {{ .Values.word | quote }}", "a: \"a\\\"b\\n\""),
            ("{{ .Values.user | b64enc | b64dec }}", "admin"),
            ("a\n  {{- .Values.user }}\nb", "aadmin\nb"),
            ("a {{- /* why */ -}} b", "ab"),
            ("plain }} text", "plain }} text"),
        ] {
            assert_eq!(rendered(template).unwrap(), expected, "{template}");
        }
    }

    #[test]
    fn errors_name_the_template_and_the_line() {
        for (template, expected) in [
            (
                "\n\n{{ if .Values.user }}",
                "template 't.yml', line 3: 'if .Values.user' is not supported; write '.Values.NAME'",
            ),
            (
                "{{ .Values.missing }}",
                "template 't.yml', line 1: no value is named 'missing'",
            ),
            (
                "{{ .Values.user | sha }}",
                "template 't.yml', line 1: there is no function 'sha'",
            ),
            ("a\n{{ .Values.user", "template 't.yml', line 2: '{{' without '}}'"),
            (
                "{{ .Values.word | b64dec }}",
                "template 't.yml', line 1: value 'word' is not base64 of text",
            ),
        ] {
            assert_eq!(rendered(template), Err(expected.to_string()));
        }
    }

    #[test]
    fn what_would_not_fit_into_a_secret_is_refused_before_it_is_made() {
        let large = "x".repeat(MAX_DATA_BYTES);
        let refused = |value: &str, template: &str| rendered_with(value, template, &mut Budget::new()).unwrap_err();
        for template in [
            "{{ .Values.v }}.",
            "{{ .Values.v | b64enc }}",
            "{{ .Values.v | quote }}",
            &"{{ .Values.v }}".repeat(100_000),
        ] {
            assert!(
                refused(&large, template).contains("larger than a Secret"),
                "{template:.40}"
            );
        }
        assert_eq!(
            rendered_with(&large, "{{ .Values.v }}", &mut Budget::new()),
            Ok(large.clone())
        );
        let chain = format!("{{{{ .Values.v {} }}}}", "| b64enc".repeat(80));
        assert!(
            refused("", &chain).contains("more than 8 functions"),
            "{}",
            refused("", &chain)
        );
        // Nothing is written, and yet it is work.
        let blank = " ".repeat(MAX_DATA_BYTES);
        assert!(refused(&blank, &"{{ .Values.v | trim }}".repeat(100)).contains("more work"));
    }

    #[test]
    fn all_templates_of_an_object_share_what_there_is() {
        let (half, mut budget) = ("x".repeat(MAX_DATA_BYTES / 2), Budget::new());
        for fits in [true, true, false] {
            assert_eq!(rendered_with(&half, "{{ .Values.v }}", &mut budget).is_ok(), fits);
        }
    }

    #[test]
    fn a_message_repeats_the_beginning_only() {
        let long = format!("{{{{ {} }}}}", "ä".repeat(MAX_DATA_BYTES / 4));
        assert!(rendered(&long).unwrap_err().len() < 300);
    }

    proptest! {
        #[test]
        fn growth_is_known_before(value in any::<String>()) {
            for function in ["quote", "b64enc", "upper", "lower"] {
                let made = rendered_with(&value, &format!("{{{{ .Values.v | {function} }}}}"), &mut Budget::new()).unwrap();
                prop_assert_eq!(result_length(function, &value), made.len(), "{}", function);
            }
        }

        #[test]
        fn text_without_actions_stays_as_it_is(text in "[^{]*") {
            prop_assert_eq!(rendered(&text), Ok(text));
        }

        #[test]
        fn no_template_makes_it_panic_or_tell_a_value(text in ".*\\{\\{.*(\\}\\})?.*") {
            if let Err(why) = render("t", &text, &[("a", "CANARY")].into(), &mut Budget::new()) {
                prop_assert!(!why.contains("CANARY"), "{}", why);
            }
        }
    }
}
