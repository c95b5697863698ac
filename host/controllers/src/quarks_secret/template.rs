//! Templates of type helm, as far as configurations with secrets need them: `{{ .Values.NAME }}`, `{{-` and `-}}`, and functions behind `|`.
//!
//! Anything else is an error that names the template and its line; the predecessor wrote the broken text into the Secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// Renders a template. The text of an error holds no value.
///
/// # Errors
/// An action that is not closed or not understood, a value that nobody gave.
pub fn render(name: &str, template: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    let mut line = 1;
    while let Some((before, after)) = rest.split_once("{{") {
        line += before.matches('\n').count();
        let Some((action, after)) = after.split_once("}}") else {
            return Err(format!("template '{name}', line {line}: '{{{{' without '}}}}'"));
        };
        let (action, trim_before) = action
            .strip_prefix("- ")
            .map_or((action, false), |action| (action, true));
        let (action, trim_after) = action
            .strip_suffix(" -")
            .map_or((action, false), |action| (action, true));
        out.push_str(if trim_before { before.trim_end() } else { before });
        if !is_comment(action) {
            let value = evaluate(action, values);
            out.push_str(&value.map_err(|why| format!("template '{name}', line {line}: {why}"))?);
        }
        line += action.matches('\n').count();
        rest = if trim_after { after.trim_start() } else { after };
        line += after
            .len()
            .checked_sub(rest.len())
            .map_or(0, |cut| after[..cut].matches('\n').count());
    }
    out.push_str(rest);
    Ok(out)
}

fn is_comment(action: &str) -> bool {
    action.trim().starts_with("/*") && action.trim().ends_with("*/")
}

fn evaluate(action: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut parts = action.split('|').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(name) = first.strip_prefix(".Values.") else {
        return Err(format!("'{first}' is not understood; write '.Values.NAME'"));
    };
    let value = values.get(name);
    let mut value = value.ok_or_else(|| format!("no value is named '{name}'"))?.clone();
    for function in parts {
        value = match function {
            "quote" => serde_json::Value::from(value).to_string(),
            "b64enc" => STANDARD.encode(value),
            "b64dec" => {
                let bytes = STANDARD.decode(value).ok();
                let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
                text.ok_or_else(|| format!("value '{name}' is not the base64 of a text"))?
            }
            "trim" => value.trim().into(),
            "upper" => value.to_uppercase(),
            "lower" => value.to_lowercase(),
            other => return Err(format!("there is no function '{other}'")),
        };
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendered(template: &str) -> Result<String, String> {
        let values = [("user", "admin"), ("word", "a\"b\n")].map(|(name, value)| (name.into(), value.into()));
        render("t.yml", template, &values.into_iter().collect())
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
    fn what_is_not_understood_is_named_with_its_line() {
        for (template, expected) in [
            (
                "\n\n{{ if .Values.user }}",
                "template 't.yml', line 3: 'if .Values.user' is not understood; write '.Values.NAME'",
            ),
            (
                "{{ .Values.nobody }}",
                "template 't.yml', line 1: no value is named 'nobody'",
            ),
            (
                "{{ .Values.user | sha }}",
                "template 't.yml', line 1: there is no function 'sha'",
            ),
            ("a\n{{ .Values.user", "template 't.yml', line 2: '{{' without '}}'"),
            (
                "{{ .Values.word | b64dec }}",
                "template 't.yml', line 1: value 'word' is not the base64 of a text",
            ),
        ] {
            assert_eq!(rendered(template), Err(expected.to_string()));
        }
    }

    proptest! {
        #[test]
        fn text_without_actions_stays_as_it_is(text in "[^{]*") {
            prop_assert_eq!(rendered(&text), Ok(text));
        }

        #[test]
        fn no_template_makes_it_panic_or_tell_a_value(text in ".*\\{\\{.*(\\}\\})?.*") {
            if let Err(why) = render("t", &text, &[("a".to_string(), "CANARY".to_string())].into_iter().collect()) {
                prop_assert!(!why.contains("CANARY"), "{}", why);
            }
        }
    }
}
