//! Hostile input: depth, size, unusual numbers. None may panic or exceed its limits.

use crate::cases::{DOCUMENT, file, replace, run, tree};
use boson_document::{MAX_DEPTH, Tree};
use boson_ops::{apply, codes};

fn replace_one(path: &str, value: &str) -> String {
    format!(r#"{{"type": "replace", "path": "{path}", "value": {value}}}"#)
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn a_result_is_never_deeper_than_a_document_may_be() {
    let optional = |levels: usize| format!("/a?{}", "/a".repeat(levels - 1));
    for (path, value, fits) in [
        (optional(MAX_DEPTH), "1".to_string(), true),
        (optional(MAX_DEPTH + 1), "1".to_string(), false),
        (optional(28), nested(100), true),
        (optional(29), nested(100), false),
        (String::new(), nested(MAX_DEPTH - 2), true),
        (optional(100_000), "1".to_string(), false),
    ] {
        match run("{}", &replace(&path, &value)) {
            Ok(applied) => {
                assert!(fits, "{} tokens", path.matches('/').count());
                assert_eq!(
                    boson_document::json::parse(&boson_document::json::to_text(&applied.document)),
                    Ok(applied.document)
                );
            }
            Err(errors) => assert_eq!((errors[0].code, fits), (codes::TOO_DEEP, false)),
        }
    }
}

#[test]
fn many_matchers_on_a_long_list_end_at_an_operation() {
    let items: Vec<String> = (0..20_000).map(|n| format!(r#"{{"name":"n{n}","x":0}}"#)).collect();
    let document = format!(r#"{{"l":[{}]}}"#, items.join(","));
    let steps: Vec<String> = (0..20_000)
        .map(|n| replace_one(&format!("/l/name=n{n}/x"), "1"))
        .collect();
    let errors = run(&document, &format!("[{}]", steps.join(","))).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(
        (errors[0].code, errors[0].pointer_text().as_str()),
        (codes::TOO_MUCH_MATCHING, "/5000/path")
    );
    assert!(
        errors[0].message.starts_with("Error 'operation [5000] in "),
        "{}",
        errors[0].message
    );
    assert!(run(&document, &format!("[{}]", steps[..4000].join(","))).is_ok());
}

#[test]
fn a_chain_of_operations_does_not_dig_deeper() {
    let dig = r#"{"type": "replace", "path": "/0", "value": [[0]]}"#;
    let operations = format!("[{}]", vec![dig; 1000].join(","));
    assert!(run("[0]", &operations).is_ok(), "each replaces the one before");
    let mut path = String::new();
    let mut steps = Vec::new();
    for _ in 0..40 {
        path.push_str("/0/0/0/0");
        steps.push(format!(
            r#"{{"type": "replace", "path": "{path}", "value": [[[[0]]]]}}"#
        ));
    }
    let errors = run("[[[[0]]]]", &format!("[{}]", steps.join(","))).unwrap_err();
    assert_eq!(errors[0].code, codes::TOO_DEEP);
}

#[test]
fn a_long_key_above_a_long_list_does_not_multiply() {
    let key = "k".repeat(100_000);
    let mut document = Tree::object();
    document.set(key.as_str(), vec![0_i64; 100_000]);
    let operations = format!(r#"[{{"type": "remove", "path": "/{key}/0"}}]"#);
    let (applied, diagnostics) = apply(document, DOCUMENT, vec![file(&operations)]).unwrap();
    let size: usize = applied
        .origins
        .iter()
        .map(|origin| origin.pointer.len() + origin.source.len())
        .sum();
    assert!(size < 16 << 20, "{size} bytes");
    assert_eq!(
        diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(),
        [codes::ORIGINS_LEFT_OUT]
    );
}

#[test]
fn indices_at_the_edge_of_64_bits_are_only_missing() {
    for index in [
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775807:next",
        "-9223372036854775808:prev",
    ] {
        let errors = run("[1]", &replace(&format!("/{index}"), "1")).unwrap_err();
        assert_eq!(errors[0].code, codes::MISSING_INDEX, "{index}");
    }
}

#[test]
fn many_operations_take_time_in_proportion() {
    // A copy of the document for each operation would be 20,000 times 20,000 members: minutes.
    let members = |count: usize| {
        (0..count)
            .map(|n| (format!("key-{n}"), Tree::from("value")))
            .collect::<Tree>()
    };
    let operation = |n: usize| {
        Tree::object()
            .with("type", "replace")
            .with("path", format!("/key-{n}"))
            .with("value", "other")
    };
    let operations = Tree::Array((0..20_000).map(operation).collect());
    let files = vec![boson_ops::OperationsFile {
        name: "o".into(),
        operations,
    }];
    let (applied, _) = apply(members(20_000), DOCUMENT, files).unwrap();
    assert_eq!(applied.origins.len(), 20_000);
}

#[test]
fn nothing_of_a_document_is_special() {
    for document in ["null", "1", "\"x\"", "[]", "{}", r#"{"\u0000":".inf"}"#] {
        for path in [
            "", "/", "/a", "/a?", "/0", "/-", "/a=b", "/a=b?", "/a?/b", "/-1:next", "/a=b?/c",
        ] {
            for operations in [
                replace(path, "1"),
                crate::cases::remove(path),
                crate::cases::test_absent(path),
            ] {
                let _ = run(document, &operations);
            }
            let _ = boson_ops::find(&tree(document), DOCUMENT, path);
        }
    }
}
