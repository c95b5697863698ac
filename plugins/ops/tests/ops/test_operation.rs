//! Test: when two values are the same, and what counts as absent.

use crate::cases::{outcome, run, test, test_absent};
use boson_ops::codes;

const DIFFERS: &str = "Found value does not match expected value";

#[test]
fn values_are_compared_with_their_types() {
    let cases = [
        ("1", "1", true),
        ("1", "\"1\"", false),
        ("1", "1.0", false),
        ("1.0", "1.00", true),
        ("1.5", "15e-1", true),
        ("0.0", "-0.0", true),
        ("0", "-0", true),
        ("18446744073709551615", "18446744073709551615", true),
        ("18446744073709551616", "1.8446744073709552e19", true),
        ("true", "\"true\"", false),
        (r#"{"a":1,"b":[1,2]}"#, r#"{"b":[1,2],"a":1}"#, true),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
        (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, false),
        (r#"{"a":1}"#, r#"{"b":1}"#, false),
        ("[1,2]", "[2,1]", false),
        ("[1,2]", "[1]", false),
        ("[]", "{}", false),
        (r#"{"\u00001.0":1}"#, r#"{"\u00001.00":1}"#, true),
        (r#"{"\u00001.0":1}"#, r#"{"\u00001":1}"#, false),
        (r#"{"\u00001":1}"#, r#"{"1":1}"#, false),
        (r#"{"\u0000":".inf"}"#, r#"{"\u0000":".inf"}"#, true),
        (r#"{"\u0000":".inf"}"#, r#"{"\u0000":"-.inf"}"#, false),
        (r#"{"\u0000":".nan"}"#, r#"{"\u0000":".nan"}"#, false),
        (r#"{"\u0000":".nan"}"#, "{}", false),
    ];
    for (found, expected, same) in cases {
        let document = format!(r#"{{"a":{found}}}"#);
        let wanted = if same { document.as_str() } else { DIFFERS };
        assert_eq!(
            outcome(&document, &test("/a", expected)),
            wanted,
            "{found} against {expected}"
        );
    }
}

#[test]
fn a_replaced_value_is_the_copy_that_yaml_makes() {
    let operations = |expected: &str| {
        format!(
            r#"[{{"type": "replace", "path": "/a?", "value": 1.0}}, {{"type": "test", "path": "/a", "value": {expected}}}]"#
        )
    };
    assert!(run("{}", &operations("1")).is_ok());
    assert!(run("{}", &operations("1.0")).is_err_and(|errors| errors[0].code == codes::VALUE_DIFFERS));
}

#[test]
fn absent_false_alone_compares_with_null() {
    let operations = r#"[{"type": "test", "path": "/a", "absent": false}]"#;
    assert_eq!(outcome(r#"{"a":null}"#, operations), r#"{"a":null}"#);
    assert_eq!(outcome(r#"{"a":0}"#, operations), DIFFERS);
    assert_eq!(
        outcome("{}", &operations.replace("/a", "/a?")),
        "{}",
        "an optional path finds null"
    );
}

#[test]
fn absent_means_that_the_last_key_or_index_is_missing() {
    let document = r#"{"a":[1],"m":{"x":1},"l":[{"name":"p"}]}"#;
    let cases = [
        ("/b", document),
        ("/m/y", document),
        ("/a/1", document),
        ("/a/-2", document),
        ("/l/name=p/v", document),
        ("/a/0:next", document),
        ("/m/x", "Expected to not find '/m/x'"),
        ("", "Expected to not find ''"),
        ("/b?", "Expected to not find '/b?'"),
        ("/b?/c/d", "Expected to not find '/b?/c/d'"),
        ("/l/name=q?", "Expected to not find '/l/name=q?'"),
        (
            "/b/c",
            "Expected to find a map key 'b' for path '/b' (found map keys: 'a', 'l', 'm')",
        ),
        (
            "/a/1/x",
            "Expected to find array index '1' but found array of length '1' for path '/a/1'",
        ),
        (
            "/m/0",
            "Expected to find an array at path '/m/0' but found 'map[interface {}]interface {}'",
        ),
        (
            "/l/name=q",
            "Expected to find exactly one matching array item for path '/l/name=q' but found 0",
        ),
        (
            "/a/-",
            "Expected not to find after last index token in path '/a/-' (not supported in find operations)",
        ),
    ];
    for (path, wanted) in cases {
        assert_eq!(outcome(document, &test_absent(path)), wanted, "{path}");
    }
}

#[test]
fn the_wrong_value_is_pointed_at_and_never_shown() {
    let errors = run(r#"{"a":"found-secret"}"#, &test("/a", "\"expected-secret\"")).unwrap_err();
    assert_eq!(
        errors[0].pointer.as_ref().map(ToString::to_string).as_deref(),
        Some("/0/value")
    );
    assert!(!errors[0].message.contains("secret"), "{}", errors[0].message);
}
