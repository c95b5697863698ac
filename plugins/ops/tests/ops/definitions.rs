//! Definitions: what is checked before any operation is applied, and what the errors show.

use crate::cases::{DOCUMENT, file, run, tree};
use boson_document::{Code, Severity};
use boson_ops::{OperationsFile, apply, codes};

/// Message without the JSON, the JSON's members, code, and the place that is pointed at.
fn refused(operations: &str) -> (String, String, &'static Code, String) {
    let errors = run(r#"{"a": 1}"#, operations).expect_err(operations);
    assert_eq!(errors.len(), 1, "{operations}");
    let error = &errors[0];
    assert_eq!(error.document.as_deref(), Some("ops.yml"));
    let (message, shown) = error.message.split_once(" within\n").unwrap_or((&error.message, ""));
    (message.into(), shown.into(), error.code, error.pointer_text())
}

#[test]
fn every_fault_has_the_words_of_bosh() {
    let cases = [
        (
            r#"{"type": "replace"}"#,
            "Replace operation [0]: Missing path",
            codes::MISSING_PATH,
            "/0",
        ),
        (
            r#"{"type": "replace", "path": "/a"}"#,
            "Replace operation [0]: Missing value",
            codes::MISSING_VALUE,
            "/0",
        ),
        (
            r#"{"type": "replace", "path": "/a", "value": null}"#,
            "Replace operation [0]: Missing value",
            codes::MISSING_VALUE,
            "/0",
        ),
        (
            r#"{"type": "replace", "path": null, "value": 1}"#,
            "Replace operation [0]: Missing path",
            codes::MISSING_PATH,
            "/0",
        ),
        (
            r#"{"type": "replace", "path": "a", "value": 1}"#,
            "Replace operation [0]: Invalid path: Expected to start with '/'",
            codes::PATH_SYNTAX,
            "/0/path",
        ),
        (
            r#"{"type": "remove"}"#,
            "Remove operation [0]: Missing path",
            codes::MISSING_PATH,
            "/0",
        ),
        (
            r#"{"type": "remove", "path": "a", "value": 1}"#,
            "Remove operation [0]: Cannot specify value",
            codes::VALUE_NOT_ALLOWED,
            "/0/value",
        ),
        (
            r#"{"type": "remove", "path": "/a:b"}"#,
            "Remove operation [0]: Invalid path: Expected to find one of the following modifiers: 'prev', 'next', 'before', or 'after' but found 'b'",
            codes::PATH_SYNTAX,
            "/0/path",
        ),
        (
            r#"{"type": "test", "value": 1}"#,
            "Test operation [0]: Missing path",
            codes::MISSING_PATH,
            "/0",
        ),
        (
            r#"{"type": "test", "path": "/a"}"#,
            "Test operation [0]: Missing value or absent",
            codes::MISSING_VALUE,
            "/0",
        ),
        (
            r#"{"type": "test", "path": "a", "absent": true}"#,
            "Test operation [0]: Invalid path: Expected to start with '/'",
            codes::PATH_SYNTAX,
            "/0/path",
        ),
        (
            r#"{"type": "add", "path": "/a"}"#,
            "Unknown operation [0] with type 'add'",
            codes::UNKNOWN_TYPE,
            "/0/type",
        ),
        (
            r#"{"type": "Replace", "path": "/a"}"#,
            "Unknown operation [0] with type 'Replace'",
            codes::UNKNOWN_TYPE,
            "/0/type",
        ),
        (
            r#"{"type": 5}"#,
            "Unknown operation [0] with type '5'",
            codes::UNKNOWN_TYPE,
            "/0/type",
        ),
        (
            r#"{"Type": "remove", "path": "/a"}"#,
            "Unknown operation [0] with type ''",
            codes::UNKNOWN_TYPE,
            "/0",
        ),
        ("null", "Unknown operation [0] with type ''", codes::UNKNOWN_TYPE, "/0"),
    ];
    for (operation, message, code, pointer) in cases {
        let (got, _, got_code, got_pointer) = refused(&format!("[{operation}]"));
        assert_eq!(
            (&*got, got_code, &*got_pointer),
            (&*format!("Building ops: {message}"), code, pointer),
            "{operation}"
        );
    }
}

#[test]
fn the_operation_is_shown_without_its_value() {
    let shown = |operation: &str| refused(&format!("[{operation}]")).1;
    assert_eq!(
        shown(r#"{"absent": true, "value": {"secret": "x"}, "path": "/a", "type": "remove", "error": "mine"}"#),
        "{\n  \"Type\": \"remove\",\n  \"Path\": \"/a\",\n  \"Value\": \"<redacted>\",\n  \"Absent\": true,\n  \
         \"Error\": \"operation [0] in ops.yml failed\"\n}"
    );
    assert_eq!(shown("{}"), "{\n  \"Error\": \"operation [0] in ops.yml failed\"\n}");
    assert_eq!(
        shown(r#"{"path": "a<&>\"\\\n\u0001\u2028é", "type": ""}"#),
        "{\n  \"Path\": \"a<\\u0026>\\\"\\\\\\n\\u0001\\u2028é\",\n  \"Error\": \"operation [0] in ops.yml failed\"\n}"
    );
    assert_eq!(
        shown(r#"{"path": "", "absent": false}"#).lines().nth(1),
        Some("  \"Path\": \"\",")
    );
}

#[test]
fn a_position_counts_in_its_own_file_and_definitions_come_first() {
    let files = vec![
        OperationsFile {
            name: "first.yml".into(),
            operations: tree(r#"[{"type": "remove", "path": "/missing"}]"#),
        },
        OperationsFile {
            name: "second.yml".into(),
            operations: tree(r#"[{"type": "remove", "path": "/a"}, {"type": "remove"}, {"type": "replace"}]"#),
        },
    ];
    let errors = apply(tree("{}"), DOCUMENT, files).expect_err("the second operation has no path");
    assert_eq!(errors.len(), 1);
    assert_eq!(
        (errors[0].document.as_deref(), errors[0].code),
        (Some("second.yml"), codes::MISSING_PATH)
    );
    assert!(
        errors[0]
            .message
            .starts_with("Building ops: Remove operation [1]: Missing path within\n"),
        "{}",
        errors[0].message
    );
    assert!(
        errors[0].message.contains("operation [1] in second.yml failed"),
        "{}",
        errors[0].message
    );
}

#[test]
fn parts_of_a_wrong_type_are_all_named() {
    let errors = run(
        "{}",
        r#"[5, {"path": [1], "absent": "true", "type": {}}, {"value": 1}, {"\u0000": ".inf"}]"#,
    );
    let reported: Vec<_> = errors
        .expect_err("nothing here is an operation")
        .into_iter()
        .map(|error| (error.message.clone(), error.pointer_text()))
        .collect();
    let wanted = [
        ("!!int into patch.OpDefinition", "/0"),
        ("!!seq into string", "/1/path"),
        ("!!str into bool", "/1/absent"),
        ("!!map into string", "/1/type"),
        ("!!float into patch.OpDefinition", "/3"),
    ];
    let wanted: Vec<_> = wanted
        .map(|(words, at)| {
            (
                format!("Deserializing ops file 'ops.yml': cannot unmarshal {words}"),
                at.to_string(),
            )
        })
        .into();
    assert_eq!(reported, wanted);
}

#[test]
fn a_file_is_a_list_or_nothing() {
    let empty = apply(tree("{}"), DOCUMENT, vec![file("null")]);
    assert!(empty.is_ok_and(|(_, diagnostics)| diagnostics.is_empty()));
    assert!(run("{}", "[]").is_ok());
    for (content, kind) in [
        ("{}", "!!map"),
        ("\"x\"", "!!str"),
        ("true", "!!bool"),
        ("1.5", "!!float"),
    ] {
        let (message, _, code, pointer) = refused(content);
        let wanted = format!("Deserializing ops file 'ops.yml': cannot unmarshal {kind} into []patch.OpDefinition");
        assert_eq!((message, code, &*pointer), (wanted, codes::MALFORMED_FILE, ""));
    }
}

#[test]
fn scalars_are_read_as_text_where_text_is_wanted() {
    let applied = run(r#"{"5": 1}"#, r#"[{"type": "test", "path": "/5?", "value": 1}]"#).unwrap();
    assert_eq!(applied.document, tree(r#"{"5": 1}"#));
    assert_eq!(
        refused(r#"[{"type": "remove", "path": 5.0}]"#).1.lines().nth(2),
        Some("  \"Path\": \"5.0\",")
    );
}

#[test]
fn parts_without_effect_are_warned_of() {
    let operations = r#"[
        {"type": "replace", "path": "/a?", "value": 1, "error": "mine", "valeu": 2, "\u00007": 3, "absent": true},
        {"type": "test", "path": "/b", "value": 1, "absent": true},
        {"type": "test", "path": "/a", "value": 1, "absent": false}
    ]"#;
    let (_, warnings) = apply(tree("{}"), DOCUMENT, vec![file(operations)]).unwrap();
    let reported: Vec<_> = warnings
        .into_iter()
        .map(|warning| {
            assert_eq!(
                (warning.code, warning.document.as_deref()),
                (codes::UNUSED_KEY, Some("ops.yml"))
            );
            assert_eq!(warning.severity, Severity::Warning);
            (warning.message.clone(), warning.pointer_text())
        })
        .collect();
    let wanted = [
        ("The key 'valeu' of the operation is not used", "/0/valeu"),
        ("A key of the operation that is not a string is not used", "/0/\u{0}7"),
        ("The key 'absent' is not used by a replace operation", "/0/absent"),
        (
            "The key 'value' is not used: the operation has 'absent: true'",
            "/1/value",
        ),
    ];
    assert_eq!(
        reported,
        wanted.map(|(message, at)| (message.to_string(), at.to_string()))
    );
}

#[test]
fn every_code_is_explained() {
    let mut names: Vec<_> = codes::ALL.iter().map(|code| code.name).collect();
    assert!(names.iter().all(|name| name.starts_with("ops-")), "{names:?}");
    assert!(
        codes::ALL
            .iter()
            .all(|code| !code.title.is_empty() && code.explanation.len() > 40)
    );
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), codes::ALL.len(), "two codes share a name");
}

#[test]
fn an_operations_own_words_are_its_advice() {
    let operations = r#"[{"type": "replace", "path": "/gone", "value": 1, "error": "Apply 'base.yml' first."},
                         {"type": "remove", "path": "/x", "error": ""}]"#;
    let failed = apply(tree("{}"), DOCUMENT, vec![file(operations)]).unwrap_err();
    assert_eq!(failed[0].code, codes::MISSING_KEY);
    assert!(failed[0].message.starts_with("Error 'operation [0] in ops.yml failed'"));
    assert_eq!(
        failed[0].help.as_deref(),
        Some("message of the ops file: Apply 'base.yml' first.")
    );
    let plain = r#"[{"type": "remove", "path": "/x", "error": " "}]"#;
    let failed = apply(tree("{}"), DOCUMENT, vec![file(plain)]).unwrap_err();
    assert_eq!(failed[0].help.as_deref(), codes::MISSING_KEY.help);
}
