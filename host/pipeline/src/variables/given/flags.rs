//! Parses the flags for variables, with BOSH's error texts. Values are left out of the texts.

use super::plain;
use crate::diagnostic::Diagnostic;
use crate::variables::codes;
use crate::yaml;
use boson_document::Tree;

/// `--var-file name=path`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath {
    pub name: String,
    /// The file whose content is its value.
    pub path: String,
}

// === impl FilePath ===

impl FilePath {
    /// Reads the flag's argument.
    ///
    /// # Errors
    /// Another form.
    pub fn parse(argument: &str) -> Result<Self, Diagnostic> {
        let fail = |shown: &str, what: &str| {
            let help = "write --var-file NAME=PATH";
            Err(flag(format!("Expected var '{shown}' {what}"), help))
        };
        match argument.split_once('=') {
            None => fail(&without_value_of_flag(argument), "to be in format 'name=path'"),
            Some(("", _)) => fail(argument, "to specify non-empty name"),
            Some((_, "")) => fail(argument, "to specify non-empty path"),
            Some((name, path)) => Ok(Self {
                name: name.to_string(),
                path: path.to_string(),
            }),
        }
    }
}

/// The error for a `--var-file` that is not text.
pub fn binary_variable(path: &str) -> Diagnostic {
    let message = format!("Reading variable from file '{path}': the file is not UTF-8");
    Diagnostic::error(codes::VARIABLES_UNREADABLE_FILE, message)
        .help("encode the file as base64 and decode it in the template")
}

/// Reads `-v name=value`. The value is YAML, but a string is used as written, without its quotes, so that its line
/// breaks are preserved.
pub fn variable(argument: &str) -> Result<(String, Tree), Diagnostic> {
    let fail = |shown: &str, what: &str| Err(flag(format!("Expected var '{shown}' {what}"), "write -v NAME=VALUE"));
    let (name, value) = match argument.split_once('=') {
        None => return fail(&without_value_of_flag(argument), "to be in format 'name=value'"),
        Some(("", "")) => return fail("=", "to specify non-empty name"),
        Some(("", _)) => return fail("=<redacted>", "to specify non-empty name"),
        Some((_, "")) => return fail(argument, "to specify non-empty value"),
        Some(pair) => pair,
    };
    let shown = format!("{name}=<redacted>");
    let document = yaml::read("-v", value)
        .map_err(|error| wrapped(&error, value, &format!("Deserializing variables '{shown}'")))?;
    let value = match document.tree {
        Tree::String(_) => Tree::from(unquoted(value)),
        other => other,
    };
    Ok((name.to_string(), value))
}

/// An argument without `=`, in which the user may have separated name and value by something else.
pub fn without_value_of_flag(argument: &str) -> String {
    let ends_name = |c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c));
    let name = argument.split(ends_name).next().unwrap_or_default();
    let separator = argument[name.len()..].chars().next();
    match (plain::is_plain(name), separator) {
        (true, None) => name.into(),
        (true, Some(separator)) => format!("{name}{separator}<redacted>"),
        (false, _) => "<redacted>".into(),
    }
}

/// Reads the value of an environment variable.
pub fn environment(name: &str, value: &str) -> Result<Tree, Diagnostic> {
    let context = format!("Deserializing YAML from environment variable '{name}'");
    yaml::read(name, value)
        .map(|document| document.tree)
        .map_err(|error| wrapped(&error, value, &context))
}

/// `--vars-env ''`
pub fn empty_prefix() -> Diagnostic {
    flag(
        "Expected environment variable prefix to be non-empty".to_string(),
        "write --vars-env PREFIX",
    )
}

fn flag(message: String, help: &str) -> Diagnostic {
    Diagnostic::error(codes::VARIABLES_MALFORMED_FLAG, message).help(help)
}

/// Why a value is not YAML. The reader quotes names of anchors and tags: here they can be a part of a secret.
fn wrapped(error: &Diagnostic, value: &str, context: &str) -> Diagnostic {
    let why = match error.code.as_str() {
        "yaml-anchor" => "unknown anchor referenced",
        "yaml-tag" => "the tag does not match the value",
        _ => error.message.trim_start_matches("yaml: "),
    };
    // For a text that ends too early, the error is on the line after the last one.
    let last = u32::try_from(value.lines().count()).unwrap_or(u32::MAX);
    let line = error
        .place
        .line
        .map_or(String::new(), |line| format!("line {}: ", line.min(last)));
    let message = format!("{context}: yaml: {line}{why}");
    let help = "the value is YAML: quote text that contains `: `, `#`, `[`, `{`, `*`, `&` or `!`";
    flag(message, help)
}

fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json;

    #[test]
    fn values_are_yaml_and_strings_are_raw() {
        for (argument, name, want) in [
            ("x=1", "x", "1"),
            ("x=true", "x", "true"),
            ("x=yes", "x", "true"),
            ("x=~", "x", "null"),
            ("x=#c", "x", "null"),
            ("x=a=b", "x", r#""a=b""#),
            ("x=\"1\"", "x", r#""1""#),
            ("x='q'", "x", r#""q""#),
            ("x='it''s'", "x", r#""it''s""#),
            ("x=a\nb", "x", r#""a\nb""#),
            ("x=a \n", "x", r#""a \n""#),
            ("x=[1,2]", "x", "[1,2]"),
            ("x={a: b}", "x", r#"{"a":"b"}"#),
            ("x=- a", "x", r#"["a"]"#),
            ("x=2001-01-01", "x", r#""2001-01-01""#),
            ("a.b=1.50", "a.b", "1.50"),
        ] {
            let (found, value) = variable(argument).unwrap();
            assert_eq!(found, name);
            if argument == "a.b=1.50" {
                assert!(matches!(value, Tree::Number(_)));
            } else {
                assert_eq!(json::to_text(&value), want, "{argument}");
            }
        }
    }

    #[test]
    fn other_forms_are_refused_in_bosh_s_words() {
        let cases = [
            ("x", "Expected var 'x' to be in format 'name=value'"),
            ("=v", "Expected var '=<redacted>' to specify non-empty name"),
            ("=", "Expected var '=' to specify non-empty name"),
            ("x=", "Expected var 'x=' to specify non-empty value"),
            (
                "admin_password:hunter2",
                "Expected var 'admin_password:<redacted>' to be in format 'name=value'",
            ),
            (
                "pw hunter2",
                "Expected var 'pw <redacted>' to be in format 'name=value'",
            ),
            ("hUnter2", "Expected var '<redacted>' to be in format 'name=value'"),
        ];
        for (argument, want) in cases {
            assert_eq!(variable(argument).unwrap_err().message, want);
        }
        let cases = [
            ("x", "Expected var 'x' to be in format 'name=path'"),
            ("=p", "Expected var '=p' to specify non-empty name"),
            ("x=", "Expected var 'x=' to specify non-empty path"),
        ];
        for (argument, want) in cases {
            assert_eq!(FilePath::parse(argument).unwrap_err().message, want);
        }
        assert_eq!(FilePath::parse("x=a=b").unwrap().path, "a=b");
        assert_eq!(
            binary_variable("p").message,
            "Reading variable from file 'p': the file is not UTF-8"
        );
    }

    #[test]
    fn a_value_that_is_not_yaml_is_reported_without_the_value() {
        for value in ["*hunter2", "{hunter2", "!!int hunter2", "a: [hunter2", "\"hunter2"] {
            let error = variable(&format!("x={value}")).unwrap_err();
            assert!(
                error
                    .message
                    .starts_with("Deserializing variables 'x=<redacted>': yaml: "),
                "{}",
                error.message
            );
            let second_error = environment("PFX_y", value).unwrap_err();
            assert!(
                second_error
                    .message
                    .starts_with("Deserializing YAML from environment variable 'PFX_y': yaml: ")
            );
            assert!(
                !format!("{error:?}{second_error:?}").contains("hunter2"),
                "{}",
                error.message
            );
        }
    }
}
