//! Settings of a plugin, checked against the JSON Schema that it describes, before its first call.

pub mod codes;

pub use crate::schema::{Schema, SettingsError, SettingsErrorKind};

use crate::diagnostic::Diagnostic;
use crate::stage::Stage;
use crate::yaml::Document;

#[derive(Clone, Debug)]
pub struct Settings {
    pub stage: Stage,
    /// Only for the plugin of this name.
    pub plugin: Option<String>,
    pub document: Document,
}

/// The diagnostics about errors in the settings for the plugin of this name.
pub fn errors(settings: &Document, found: Vec<SettingsError>, plugin: &str) -> Vec<Diagnostic> {
    let error = |one: SettingsError| {
        let message = format!("settings of plugin '{plugin}': {}", one.kind);
        Diagnostic::error(codes::PLUGIN_SETTINGS, message)
            .in_document(&settings.name)
            .at(one.place)
    };
    found.into_iter().map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use boson_document::json;

    fn diagnostics(settings: &str, schema: &str) -> Vec<String> {
        let settings = yaml::read("s.yml", settings).unwrap();
        let line = |one: Diagnostic| format!("{} {}", one.place.pointer.unwrap_or_default(), one.message);
        let found = Schema::new(&json::parse(schema).unwrap())
            .unwrap()
            .errors(&settings.tree);
        errors(&settings, found, "p").into_iter().map(line).collect()
    }

    #[test]
    fn settings_are_checked_against_the_schema() {
        let schema = r#"{"type": "object", "additionalProperties": false, "required": ["mode"], "properties": {
            "mode": {"enum": ["a", "b"], "description": "d"},
            "uids": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10}},
            "names": {"type": ["array", "null"], "minItems": 1, "items": {"type": "string", "minLength": 1}}}}"#;
        for (settings, wanted) in [
            ("{mode: a}", vec![]),
            ("{mode: b, uids: {x: 9, z: 1.0}, names: ~}", vec![]),
            ("{}", vec![" settings of plugin 'p': \"mode\" is a required property"]),
            ("[]", vec![" settings of plugin 'p': it is not of type \"object\""]),
            (
                "{mode: s3cret}",
                vec!["/mode settings of plugin 'p': it should be one of \"a\", \"b\""],
            ),
            (
                "{mode: a, mod: 1, uids: {x: 0, z: 10}, names: ['', 7]}",
                vec![
                    "/uids/x settings of plugin 'p': it is less than the minimum of 1",
                    "/uids/z settings of plugin 'p': it is greater than or equal to the maximum of 10",
                    "/names/0 settings of plugin 'p': it is shorter than 1 character",
                    "/names/1 settings of plugin 'p': it is not of type \"string\"",
                    "/mod settings of plugin 'p': there is no setting 'mod'",
                ],
            ),
            (
                "{mode: a, names: [], uids: {a: 1, b: 1, c: 1}}",
                vec![
                    "/names settings of plugin 'p': it has less than 1 item",
                    "/uids settings of plugin 'p': it has more than 2 properties",
                ],
            ),
        ] {
            assert_eq!(diagnostics(settings, schema), wanted, "{settings}");
        }
    }

    #[test]
    fn choices_and_booleans_are_schemas_too() {
        let schema = r#"{"anyOf": [{"const": 1}, {"type": "string"}], "not": {"enum": ["x"]}}"#;
        assert_eq!(diagnostics("1", schema), Vec::<String>::new());
        assert_eq!(
            diagnostics("2", schema),
            [" settings of plugin 'p': it has none of the allowed forms: 1 was expected; it is not of type \"string\""]
        );
        assert_eq!(
            diagnostics("x", schema),
            [" settings of plugin 'p': {\"enum\":[\"x\"]} is not allowed for it"]
        );
        assert_eq!(diagnostics("1", "true"), Vec::<String>::new());
        assert_eq!(
            diagnostics("1", "false"),
            [" settings of plugin 'p': False schema does not allow it"]
        );
        let both = r#"{"oneOf": [{"type": "integer"}, {"minimum": 5}]}"#;
        assert_eq!(
            diagnostics("7", both),
            [" settings of plugin 'p': it is valid under more than one of the schemas listed in the 'oneOf' keyword"]
        );
        assert_eq!(
            diagnostics("7", r#"{"allOf": [{"maximum": 5}]}"#),
            [" settings of plugin 'p': it is greater than the maximum of 5"]
        );
    }

    #[test]
    fn every_keyword_counts() {
        for (schema, good, bad, words) in [
            (r#"{"pattern": "^a+$"}"#, "aa", "s3cret", "it does not match \"^a+$\""),
            (
                r#"{"pattern": "^(?!bad)"}"#,
                "good",
                "badger",
                "it does not match \"^(?!bad)\"",
            ),
            (
                r#"{"patternProperties": {"^x-": {"type": "integer"}}}"#,
                "{x-a: 1, b: c}",
                "{x-a: s}",
                "it is not of type \"integer\"",
            ),
            (
                r##"{"$defs": {"port": {"maximum": 65535}}, "items": {"$ref": "#/$defs/port"}}"##,
                "[80]",
                "[80000]",
                "it is greater than the maximum of 65535",
            ),
            (
                r##"{"items": {"$ref": "#"}, "type": "array"}"##,
                "[[], [[]]]",
                "[[], [1]]",
                "it is not of type \"array\"",
            ),
            (
                r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}}"#,
                "{c: 1}",
                "{a: 1}",
                "\"b\" is a required property",
            ),
            (
                r#"{"contains": {"const": 1}}"#,
                "[0, 1]",
                "[0]",
                "it has no item that `contains` of the schema requires",
            ),
            (
                r#"{"uniqueItems": true}"#,
                "[1, 2]",
                "[1, 1.0]",
                "it has non-unique elements",
            ),
            (
                r#"{"propertyNames": {"maxLength": 1}}"#,
                "{a: 1}",
                "{ab: 1}",
                "the name of a member is not allowed: it is longer than 1 character",
            ),
            (
                r#"{"dependentRequired": {"a": ["b"]}}"#,
                "{b: 1}",
                "{a: 1}",
                "\"b\" is a required property",
            ),
            (r#"{"multipleOf": 0.1}"#, "0.3", "0.35", "it is not a multiple of 0.1"),
            (
                r#"{"prefixItems": [true], "items": false}"#,
                "[1]",
                "[1, 2]",
                "False schema does not allow it",
            ),
            (
                r#"{"properties": {"a": true}, "unevaluatedProperties": false}"#,
                "{a: 1}",
                "{b: 1}",
                "there is no setting 'b'",
            ),
            (
                r#"{"anyOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]}"#,
                "~",
                "{}",
                "\"a\" is a required property",
            ),
            (
                r#"{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}"#,
                "[~, 1]",
                "[1]",
                "it is not of type \"null\"",
            ),
        ] {
            assert_eq!(diagnostics(good, schema), Vec::<String>::new(), "{schema}");
            let found = diagnostics(bad, schema);
            assert!(
                found.len() == 1 && found[0].ends_with(&format!("'p': {words}")),
                "{schema}: {found:?}"
            );
        }
    }

    #[test]
    fn a_pattern_takes_a_bounded_number_of_steps() {
        let text = format!("{}!", "a".repeat(50));
        let found = diagnostics(&text, r#"{"pattern": "^(a+)+\\1b$"}"#);
        let words = "Max limit for backtracking count exceeded";
        assert!(found.len() == 1 && found[0].ends_with(words), "{found:?}");
    }

    #[test]
    fn invalid_schemas_are_reported() {
        for (schema, place) in [
            ("7", ""),
            (r#"{"type": "strnig"}"#, "/type"),
            (r#"{"properties": {"a": {"type": 7}}}"#, "/properties/a/type"),
            (r#"{"items": {"required": "a"}}"#, "/items/required"),
            (r#"{"oneOf": [{}, {"enum": 1}]}"#, "/oneOf/1/enum"),
            (r#"{"maxItems": -1}"#, "/maxItems"),
            (r#"{"pattern": "("}"#, ""),
            (r##"{"$ref": "#/none"}"##, ""),
            (r#"{"$ref": "https://example.com/schema.json"}"#, ""),
            (r#"{"$ref": "file:///etc/passwd"}"#, ""),
        ] {
            let error = Schema::new(&json::parse(schema).unwrap()).err().unwrap_or_default();
            assert!(error.starts_with(&format!("at '{place}")), "{schema}: {error}");
        }
    }
}
