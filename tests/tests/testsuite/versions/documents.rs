//! The JSON Schemas beside the WIT files: they may get members that are optional, and lose none.

use super::RELEASED;
use boson_tests::root;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// The members that a schema names: path -> type, and whether the value above it always has the member.
fn members(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let named = schema["properties"].as_object().into_iter().flatten();
    let named = named.map(|(name, part)| (format!("/{name}"), part, required.contains(&name.as_str())));
    let others = [("/*", &schema["additionalProperties"]), ("/[]", &schema["items"])];
    let others = others.into_iter().filter(|(_, part)| part.is_object());
    for (step, part, is_required) in named.chain(others.map(|(step, part)| (step.to_string(), part, false))) {
        let path = format!("{path}{step}");
        let kind: Vec<String> = ["type", "enum", "const"]
            .into_iter()
            .filter(|key| !part[*key].is_null())
            .map(|key| format!("{key}={}", part[key]))
            .collect();
        let needed = if is_required { "required" } else { "optional" };
        found.insert(format!("{path} {needed} {}", kind.join(" ")).trim_end().to_string());
        members(part, &path, found);
    }
    // Forms of the same value.
    for form in schema["anyOf"].as_array().into_iter().flatten() {
        members(form, path, found);
    }
}

/// What is gone, and what plugins would have to write that they do not know.
fn broken(old: &BTreeSet<String>, new: &BTreeSet<String>) -> Vec<String> {
    let path = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
    let known: BTreeSet<String> = old.iter().map(|line| path(line)).collect();
    let above = |line: &str| {
        path(line)
            .rsplit_once('/')
            .map_or(String::new(), |(above, _)| above.to_string())
    };
    let is_demanded = |line: &&String| {
        let above = above(line);
        line.split(' ').nth(1) == Some("required") && (above.is_empty() || known.contains(&above))
    };
    let demanded = new.difference(old).filter(is_demanded);
    old.difference(new).chain(demanded).cloned().collect()
}

#[test]
fn documents_keep_their_members() {
    for (schema, list) in [
        ("links/1.0.0/resolved-group", "resolved-group"),
        ("render/1.0.0/spec", "spec"),
    ] {
        let text = fs::read_to_string(root().join(format!("wit/{schema}.schema.json"))).unwrap();
        let mut now = BTreeSet::new();
        members(&serde_json::from_str(&text).unwrap(), "", &mut now);
        let file = root().join(format!("tests/contract/1.0.0/{list}.members"));
        if !file.exists() && std::env::var_os("BLESS").is_some() {
            let lines: Vec<&str> = now.iter().map(String::as_str).collect();
            fs::write(&file, lines.join("\n") + "\n").unwrap();
        }
        let released = fs::read_to_string(&file).unwrap().lines().map(str::to_string).collect();
        assert_eq!(broken(&released, &now), [""; 0], "wit/{schema}.schema.json {RELEASED}");
    }
}

#[test]
fn only_optional_members_may_be_added_to_a_document() {
    let lines = |schema: Value| {
        let mut found = BTreeSet::new();
        members(&schema, "", &mut found);
        found
    };
    let text = json!({"type": "string"});
    let old = lines(json!({"required": ["a"], "properties": {"a": text, "b": text}}));
    let object = json!({"type": "object", "required": ["d"], "properties": {"d": text}});
    let added = lines(json!({"required": ["a"], "properties": {"a": text, "b": text, "c": object}}));
    assert_eq!(broken(&old, &added), [""; 0]);
    for (schema, wanted) in [
        (
            json!({"required": ["a"], "properties": {"a": text}}),
            r#"/b optional type="string""#,
        ),
        (
            json!({"properties": {"a": text, "b": text}}),
            r#"/a required type="string""#,
        ),
        (
            json!({"required": ["a", "c"], "properties": {"a": text, "b": text, "c": object}}),
            r#"/c required type="object""#,
        ),
    ] {
        assert_eq!(broken(&old, &lines(schema)), [wanted]);
    }
}
