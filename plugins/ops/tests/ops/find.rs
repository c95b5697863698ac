//! Find: the value at a path, or a default if it is optional and missing.

use crate::cases::tree;
use boson_document::json;
use boson_ops::find;

const DOCUMENT: &str = r#"{"a":[1,[2]],"m":{"x":{"y":1}},"l":[{"name":"p","v":1},{"name":"q"}],"n":null,"":"e"}"#;

/// The value, or the message and the place that it points at.
fn found(path: &str) -> String {
    match find(&tree(DOCUMENT), "d.yml", path) {
        Ok(value) => json::to_text(&value),
        Err(error) => {
            assert_eq!(error.document.as_deref(), Some("d.yml"));
            format!(
                "{} @ {}",
                error.message,
                error.pointer.map_or("-".into(), |pointer| pointer.to_string())
            )
        }
    }
}

#[test]
fn values_are_found() {
    let cases = [
        ("", DOCUMENT),
        ("/", "\"e\""),
        ("/a/0", "1"),
        ("/a/-1/0", "2"),
        ("/a/0:next/-1", "2"),
        ("/a/0:prev", "[2]"),
        ("/m/x/y", "1"),
        ("/n", "null"),
        ("/l/name=p/v", "1"),
        ("/l/name=p:next", r#"{"name":"q"}"#),
        ("/l/name=q/v?", "null"),
    ];
    for (path, wanted) in cases {
        assert_eq!(found(path), wanted, "{path}");
    }
}

#[test]
fn what_is_optional_and_missing_has_a_default() {
    let cases = [
        ("/z?", "null"),
        ("/z?/y/x", "null"),
        ("/z?/name=r", r#"{"name":"r"}"#),
        ("/z?/name=r/name", "\"r\""),
        ("/z?/name=r/v/w", "null"),
        ("/l/name=r?", r#"{"name":"r"}"#),
        ("/l/name=r?:before/name", "\"r\""),
    ];
    for (path, wanted) in cases {
        assert_eq!(found(path), wanted, "{path}");
    }
}

#[test]
fn failures_have_the_words_of_bosh_and_the_place_reached() {
    let cases = [
        ("a", "Expected to start with '/' @ -"),
        (
            "/z",
            "Expected to find a map key 'z' for path '/z' (found map keys: '', 'a', 'l', 'm', 'n') @ ",
        ),
        (
            "/m/x/z/w",
            "Expected to find a map key 'z' for path '/m/x/z' (found map keys: 'y') @ /m/x",
        ),
        (
            "/a/2",
            "Expected to find array index '2' but found array of length '2' for path '/a/2' @ /a",
        ),
        (
            "/a/-1/b",
            "Expected to find a map at path '/a/-1/b' but found '[]interface {}' @ /a/1",
        ),
        ("/n/x?", "Expected to find a map at path '/n/x?' but found '<nil>' @ /n"),
        (
            "/l/v=1",
            "Expected to find exactly one matching array item for path '/l/v=1' but found 0 @ /l",
        ),
        (
            "/m/x/-",
            "Expected not to find after last index token in path '/m/x/-' (not supported in find operations) @ /m/x",
        ),
        (
            "/z?/0",
            "Expected to find key or matching index token at path '/z?/0' @ ",
        ),
        (
            "/z?/-",
            "Expected to find key or matching index token at path '/z?/-' @ ",
        ),
        (
            "/z?/name=r/0",
            "Expected to find an array at path '/z?/name=r/0' but found 'map[interface {}]interface {}' @ ",
        ),
        (
            "/a/0:before",
            "Expected to find one of the following modifiers: 'prev', 'next', but found modifier 'patch.BeforeModifier' @ /a",
        ),
    ];
    for (path, wanted) in cases {
        assert_eq!(found(path), wanted, "{path}");
    }
}
