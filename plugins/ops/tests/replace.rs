//! Replace: every token, first as a step and then as the last one, with BOSH's answers.

mod cases;
use cases::{outcome, replace};

const DOCUMENT: &str = r#"{"a":[1,2,3],"m":{"x":{"y":1}},"l":[{"name":"p","v":1},{"name":"q"}],"n":null}"#;

/// What follows is one case a line: path, value, the part of the result that changed or the error.
fn check(cases: &[(&str, &str, &str)]) {
    for (path, value, wanted) in cases {
        let got = outcome(DOCUMENT, &replace(path, value));
        let got = if got.starts_with('{') { changed(&got) } else { got };
        assert_eq!(&got, wanted, "{path} = {value}");
    }
}

/// The members of the result that differ from the document's.
fn changed(result: &str) -> String {
    let (before, after) = (cases::tree(DOCUMENT), cases::tree(result));
    let members = after
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, value)| before.get(key) != Some(*value));
    members
        .map(|(key, value)| format!("{key}: {}", boson_document::json::to_text(value)))
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn items_are_replaced_inserted_and_appended() {
    check(&[
        ("/a/0", "10", "a: [10,2,3]"),
        ("/a/-1", "10", "a: [1,2,10]"),
        ("/a/+1", "10", "a: [1,10,3]"),
        ("/a/01", "10", "a: [1,10,3]"),
        ("/a/-", "10", "a: [1,2,3,10]"),
        ("/a/0:after", "10", "a: [1,10,2,3]"),
        ("/a/0:before", "10", "a: [10,1,2,3]"),
        ("/a/-1:after", "10", "a: [1,2,3,10]"),
        ("/a/0:next:after", "10", "a: [1,2,10,3]"),
        ("/a/3:prev", "10", "a: [1,2,10]"),
        ("/a/0:prev", "10", "a: [1,2,10]"),
        ("/a/-1:next", "10", "a: [10,2,3]"),
        (
            "/a/3",
            "10",
            "Expected to find array index '3' but found array of length '3' for path '/a/3'",
        ),
        (
            "/a/-4",
            "10",
            "Expected to find array index '-4' but found array of length '3' for path '/a/-4'",
        ),
        (
            "/a/2:next",
            "10",
            "Expected to find array index '3' but found array of length '3' for path '/a/2:next'",
        ),
        (
            "/a/9223372036854775807:next",
            "10",
            "Expected to find array index '-9223372036854775808' but found array of length '3' for path '/a/9223372036854775807:next'",
        ),
    ]);
}

#[test]
fn modifiers_keep_their_places() {
    let shift = "Expected to find one of the following modifiers: 'prev', 'next', but found modifier";
    check(&[
        (
            "/a/0:before:next",
            "1",
            "Expected to not find any modifiers after 'before' modifier, but found modifier 'patch.NextModifier'",
        ),
        (
            "/a/0:after:before",
            "1",
            "Expected to not find any modifiers after 'after' modifier, but found modifier 'patch.BeforeModifier'",
        ),
        ("/l/0:before/v", "1", &format!("{shift} 'patch.BeforeModifier'")),
        ("/l/name=p:after/v", "1", &format!("{shift} 'patch.AfterModifier'")),
    ]);
}

#[test]
fn matchers_need_exactly_one_item() {
    check(&[
        ("/l/name=q", "{}", r#"l: [{"name":"p","v":1},{}]"#),
        ("/l/name=q:before", "7", r#"l: [{"name":"p","v":1},7,{"name":"q"}]"#),
        ("/l/name=p/v", "7", r#"l: [{"name":"p","v":7},{"name":"q"}]"#),
        ("/l/name=q:prev/v", "7", r#"l: [{"name":"p","v":7},{"name":"q"}]"#),
        (
            "/l/name=r?/v",
            "5",
            r#"l: [{"name":"p","v":1},{"name":"q"},{"name":"r","v":5}]"#,
        ),
        ("/l/name=r?", "5", r#"l: [{"name":"p","v":1},{"name":"q"},5]"#),
        ("/l/name=r?:before", "5", r#"l: [{"name":"p","v":1},{"name":"q"},5]"#),
        (
            "/l/name=r",
            "5",
            "Expected to find exactly one matching array item for path '/l/name=r' but found 0",
        ),
        (
            "/l/v=1",
            "5",
            "Expected to find exactly one matching array item for path '/l/v=1' but found 0",
        ),
        (
            "/a/v=1",
            "5",
            "Expected to find exactly one matching array item for path '/a/v=1' but found 0",
        ),
        (
            "/m/v=1",
            "5",
            "Expected to find an array at path '/m/v=1' but found 'map[interface {}]interface {}'",
        ),
    ]);
    let twice = r#"[{"n":"x"},{"n":"x"}]"#;
    let two = "Expected to find exactly one matching array item for path '/n=x?' but found 2";
    assert_eq!(
        outcome(twice, &replace("/n=x?", "1")),
        two,
        "optional does not excuse two"
    );
}

#[test]
fn keys_are_set_and_created() {
    check(&[
        ("/m/x/y", "10", r#"m: {"x":{"y":10}}"#),
        ("/m/n?/o/p", "10", r#"m: {"x":{"y":1},"n":{"o":{"p":10}}}"#),
        ("/list?/-", "10", "list: [10]"),
        ("/list?/name=x/v", "10", r#"list: [{"name":"x","v":10}]"#),
        (
            "/list?/name=x/-",
            "10",
            "Expected to find an array at path '/list?/name=x/-' but found 'map[interface {}]interface {}'",
        ),
        ("/0?", "10", "0: 10"),
        ("/k??", "10", "k?: 10"),
        ("/-?", "10", "-: 10"),
        ("/a~1b~7~01?", "10", "a/b:~1: 10"),
        (
            "/m/x/z",
            "10",
            "Expected to find a map key 'z' for path '/m/x/z' (found map keys: 'y')",
        ),
        (
            "/z/x",
            "10",
            "Expected to find a map key 'z' for path '/z' (found map keys: 'a', 'l', 'm', 'n')",
        ),
        (
            "/n/x?",
            "10",
            "Expected to find a map at path '/n/x?' but found '<nil>'",
        ),
        (
            "/abc?/0",
            "10",
            "Expected to find key, matching index or after last index token at path '/abc?/0'",
        ),
        (
            "/a/x",
            "10",
            "Expected to find a map at path '/a/x' but found '[]interface {}'",
        ),
        (
            "/m/0",
            "10",
            "Expected to find an array at path '/m/0' but found 'map[interface {}]interface {}'",
        ),
        (
            "/m/-",
            "10",
            "Expected to find an array at path '/m/-' but found 'map[interface {}]interface {}'",
        ),
    ]);
    let empty = "Expected to find a map key 'z' for path '/z' (found no other map keys)";
    assert_eq!(outcome("{}", &replace("/z", "1")), empty);
}

#[test]
fn the_whole_document_is_replaced() {
    assert_eq!(outcome(DOCUMENT, &replace("", "[1]")), "[1]");
}
