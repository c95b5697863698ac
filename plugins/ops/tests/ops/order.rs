//! The order of files and operations, and what a failure leaves.

use crate::cases::{DOCUMENT, outcome, run, tree};
use boson_document::json;
use boson_ops::{OperationsFile, apply};

fn files(contents: &[(&str, &str)]) -> Vec<OperationsFile> {
    contents
        .iter()
        .map(|(name, text)| OperationsFile {
            name: (*name).into(),
            operations: tree(text),
        })
        .collect()
}

#[test]
fn each_operation_sees_the_result_of_those_before() {
    let operations = r#"[
        {"type": "replace", "path": "/l?/-", "value": 1},
        {"type": "replace", "path": "/l/0:before", "value": 0},
        {"type": "remove", "path": "/l/1"},
        {"type": "test", "path": "/l", "value": [0]},
        {"type": "replace", "path": "/l/0", "value": {"name": "x"}},
        {"type": "replace", "path": "/l/name=x/v?", "value": true}
    ]"#;
    assert_eq!(outcome("{}", operations), r#"{"l":[{"name":"x","v":true}]}"#);
}

#[test]
fn files_are_applied_in_order() {
    let one = ("one.yml", r#"[{"type": "replace", "path": "/a?", "value": 1}]"#);
    let two = ("two.yml", r#"[{"type": "replace", "path": "/a", "value": 2}]"#);
    let (applied, _) = apply(tree("{}"), DOCUMENT, files(&[one, two])).unwrap();
    assert_eq!(json::to_text(&applied.document), r#"{"a":2}"#);
    let errors = apply(tree("{}"), DOCUMENT, files(&[two, one])).unwrap_err();
    let words = "Expected to find a map key 'a' for path '/a' (found no other map keys)";
    assert_eq!(
        errors[0].message,
        format!("Error 'operation [0] in two.yml failed': {words}")
    );
    assert_eq!(
        errors[0].pointer.as_ref().map(ToString::to_string).as_deref(),
        Some("/0/path")
    );
    assert_eq!(errors[0].document.as_deref(), Some("two.yml"));
}

#[test]
fn the_first_failure_ends_it() {
    let operations = r#"[
        {"type": "replace", "path": "/a?", "value": 1},
        {"type": "remove", "path": "/b"},
        {"type": "remove", "path": "/c"}
    ]"#;
    let errors = run("{}", operations).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0]
            .message
            .starts_with("Error 'operation [1] in ops.yml failed': "),
        "{}",
        errors[0].message
    );
}

#[test]
fn members_keep_their_order() {
    let operations = r#"[
        {"type": "replace", "path": "/b", "value": 9},
        {"type": "remove", "path": "/c"},
        {"type": "replace", "path": "/new?", "value": {"z": 1, "y": 2}},
        {"type": "replace", "path": "/c?", "value": 3}
    ]"#;
    let wanted = r#"{"d":0,"b":9,"a":2,"new":{"z":1,"y":2},"c":3}"#;
    assert_eq!(outcome(r#"{"d":0,"c":0,"b":1,"a":2}"#, operations), wanted);
}
