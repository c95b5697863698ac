//! Settings of a plugin, checked against the JSON Schema that it describes, before its first call. The schema is
//! foreign text, so only a limited part of draft 2020-12 is supported: types, members, items, ranges and choices. Other
//! keywords are named in a warning, not ignored silently.

pub mod codes;
mod meta;
mod schema;

pub use codes::ALL as CODES;
pub use meta::schema_fault;

use crate::diagnostic::Diagnostic;
use crate::stage::Stage;
use crate::yaml::Document;
use boson_document::{Pointer, Tree};
use schema::{Checker, LISTED};

/// Settings from a file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For plugins of this stage.
    pub stage: Stage,
    /// Only for the plugin of this name.
    pub plugin: Option<String>,
    /// The file.
    pub document: Document,
}

/// Faults of the settings for the plugin of this name, and the parts of its schema that were not checked. Values are
/// not reported: they may be secrets.
pub fn check(settings: &Document, schema: &Tree, plugin: &str) -> Vec<Diagnostic> {
    let mut checker = Checker::default();
    checker.check(&settings.tree, schema);
    let error = |(place, what): (Pointer, String)| {
        Diagnostic::error(codes::PLUGIN_SETTINGS, format!("settings of plugin '{plugin}': {what}"))
            .in_document(&settings.name)
            .at(place)
    };
    let unknown = std::mem::take(&mut checker.unknown);
    let mut diagnostics: Vec<Diagnostic> = checker.faults().into_iter().map(error).collect();
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().take(LISTED).map(String::as_str).collect();
        let more = if unknown.len() > LISTED { ", ..." } else { "" };
        let message = format!(
            "settings of plugin '{plugin}' are not checked against these parts of its schema: {}{more}",
            names.join(", ")
        );
        diagnostics.push(Diagnostic::warning(codes::PLUGIN_SETTINGS_UNCHECKED, message).in_document(&settings.name));
    }
    diagnostics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use boson_document::json;

    fn diagnostics(settings: &str, schema: &str) -> Vec<String> {
        let settings = yaml::read("s.yml", settings).unwrap();
        let line = |one: Diagnostic| format!("{} {}", one.place.pointer.unwrap_or_default(), one.message);
        check(&settings, &json::parse(schema).unwrap(), "p")
            .into_iter()
            .map(line)
            .collect()
    }

    #[test]
    fn settings_are_checked_against_the_schema() {
        let schema = r#"{"$schema": "x", "type": "object", "additionalProperties": false, "required": ["mode"], "properties": {
            "mode": {"enum": ["a", "b"], "description": "d"},
            "uids": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10}},
            "names": {"type": ["array", "null"], "minItems": 1, "items": {"type": "string", "minLength": 1}}}}"#;
        for (settings, wanted) in [
            ("{mode: a}", vec![]),
            ("{mode: b, uids: {x: 9, z: 1.0}, names: ~}", vec![]),
            ("{}", vec![" settings of plugin 'p': 'mode' is missing"]),
            (
                "[]",
                vec![" settings of plugin 'p': it should be an object, not a list"],
            ),
            (
                "{mode: s3cret}",
                vec!["/mode settings of plugin 'p': it should be one of \"a\", \"b\""],
            ),
            (
                "{mode: a, mod: 1, uids: {x: 0, z: 10}, names: ['', 7]}",
                vec![
                    "/mod settings of plugin 'p': there is no setting 'mod'",
                    "/uids/x settings of plugin 'p': it should be at least 1",
                    "/uids/z settings of plugin 'p': it should be less than 10",
                    "/names/0 settings of plugin 'p': it should have at least 1 characters",
                    "/names/1 settings of plugin 'p': it should be a string, not a number",
                ],
            ),
            (
                "{mode: a, names: [], uids: {a: 1, b: 1, c: 1}}",
                vec![
                    "/uids settings of plugin 'p': it should have at most 2 members",
                    "/names settings of plugin 'p': it should have at least 1 items",
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
            [" settings of plugin 'p': it matches none of the allowed forms"]
        );
        assert_eq!(
            diagnostics("x", schema),
            [" settings of plugin 'p': it has a form that is not allowed here"]
        );
        assert_eq!(diagnostics("1", "true"), Vec::<String>::new());
        assert_eq!(
            diagnostics("1", "false"),
            [" settings of plugin 'p': no value is allowed here"]
        );
        let both = r#"{"oneOf": [{"type": "integer"}, {"minimum": 5}]}"#;
        assert_eq!(
            diagnostics("7", both),
            [" settings of plugin 'p': it matches several forms that exclude each other"]
        );
        assert_eq!(
            diagnostics("7", r#"{"allOf": [{"maximum": 5}]}"#),
            [" settings of plugin 'p': it should be at most 5"]
        );
    }

    #[test]
    fn a_schema_and_settings_made_for_it_need_a_bounded_number_of_comparisons() {
        let settings = format!("[{}]", "x,".repeat(100_000));
        let forms = vec![r#"{"const": 1}"#; 20_000].join(",");
        let refused = " settings of plugin 'p': they need too much computation to be checked against its schema";
        for form in ["anyOf", "oneOf", "allOf", "enum"] {
            let schema = format!(r#"{{"{form}": [{forms}]}}"#);
            let found = diagnostics(&settings, &format!(r#"{{"items": {schema}}}"#));
            assert!(found.len() <= 100, "{form}: {} faults", found.len());
            let found = diagnostics(&settings, &format!(r#"{{"items": {{"not": {schema}}}}}"#));
            assert_eq!(found, [refused], "{form}");
        }
        let odd: String = (0..1000).map(|nth| format!(r#""k{nth}": {nth},"#)).collect();
        let [one] = &diagnostics("x", &format!(r#"{{{odd} "type": "string"}}"#))[..] else {
            unreachable!()
        };
        assert!(one.ends_with(", ...") && one.len() < 500, "{one}");
    }

    #[test]
    fn unchecked_keywords_are_named() {
        assert_eq!(
            diagnostics(
                "{a: x}",
                r##"{"properties": {"a": {"pattern": "^y", "$ref": "#/x"}}, "title": "t"}"##
            ),
            [" settings of plugin 'p' are not checked against these parts of its schema: $ref, pattern"]
        );
    }
}
