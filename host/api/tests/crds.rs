//! The committed definitions under `crds/` are those of the Rust types. `BLESS=1` rewrites them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says so"
)]

use boson_document::json;
use boson_pipeline::yaml;
use serde_json::Value;
use std::path::PathBuf;

const HEADER: &str = "# Generated from the Rust types in host/api/src: BLESS=1 cargo test -p boson-api --test crds\n";

fn folder() -> PathBuf {
    PathBuf::from("../../crds")
}

#[test]
fn definitions_are_current() {
    let mut expected = Vec::new();
    for definition in boson_api::definitions() {
        let name = format!("{}.yaml", definition.spec.names.plural);
        let tree = json::parse(&serde_json::to_string(&definition).unwrap()).unwrap();
        let text = format!("{HEADER}{}", yaml::write(&tree));
        let path = folder().join(&name);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "{name} is not current: run with BLESS=1 and read the difference"
        );
        expected.push(name);
    }
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml") && name != "kustomization.yaml")
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "a definition of no type");
}

/// Calls `visit` with each field of a schema and the path to it.
fn fields(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        visit(&path, field);
        fields(&path, field, visit);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            fields(path, &schema[inner], visit);
        }
    }
}

fn all_fields(visit: &mut dyn FnMut(&str, &Value)) {
    for definition in boson_api::definitions() {
        let definition = serde_json::to_value(definition).unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_string();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        for part in ["spec", "status"] {
            fields(&format!("{kind}.{part}"), &schema["properties"][part], visit);
        }
    }
}

#[test]
fn every_field_is_explained() {
    let mut bare = Vec::new();
    all_fields(&mut |path, field| {
        let text = field["description"].as_str().unwrap_or_default();
        if !text.ends_with('.') && !text.ends_with('\'') {
            bare.push(path.to_string());
        }
    });
    assert!(
        bare.is_empty(),
        "no sentence that kubectl explain could show: {bare:#?}"
    );
}

#[test]
fn no_description_is_broken_over_lines() {
    all_fields(&mut |path, field| {
        let text = field["description"].as_str().unwrap_or_default();
        assert!(!text.contains('\n'), "{path}: {text}");
    });
}
