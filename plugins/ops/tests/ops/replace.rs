//! Replace: every token, first as a step and then as the last one, with BOSH's answers.

use crate::cases::{self, outcome, replace};

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
        .into_iter()
        .flatten()
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

#[test]
fn null_in_the_way_is_no_map() {
    check(&[
        ("/n/x", "1", "Expected to find a map at path '/n/x' but found '<nil>'"),
        (
            "/n/-",
            "1",
            "Expected to find an array at path '/n/-' but found '<nil>'",
        ),
        ("/a/0/x", "1", "Expected to find a map at path '/a/0/x' but found 'int'"),
        (
            "/l/name=p/name/x",
            "1",
            "Expected to find a map at path '/l/name=p/name/x' but found 'string'",
        ),
    ]);
}

#[test]
fn a_shifted_matcher_changes_the_item_it_lands_on() {
    // Stock go-patch puts the list in place of the item's parent, which is never useful.
    let document = r#"[{"name":"x"},["y"]]"#;
    assert_eq!(
        outcome(document, &replace("/name=x:next/-", "1")),
        r#"[{"name":"x"},["y",1]]"#
    );
    assert_eq!(
        outcome(document, &replace("/name=x:next/0:before", "1")),
        r#"[{"name":"x"},[1,"y"]]"#
    );
}

#[test]
fn types_have_the_names_of_go() {
    let types = [
        ("1", "int"),
        ("-9223372036854775808", "int"),
        ("9223372036854775808", "uint64"),
        ("18446744073709551616", "float64"),
        ("1.5", "float64"),
        ("1e400", "float64"),
        (r#"{"\u0000":".nan"}"#, "float64"),
        ("true", "bool"),
        ("\"s\"", "string"),
        ("null", "<nil>"),
        ("[]", "[]interface {}"),
    ];
    for (value, name) in types {
        let wanted = format!("Expected to find a map at path '/a/b' but found '{name}'");
        assert_eq!(
            outcome(&format!(r#"{{"a":{value}}}"#), &replace("/a/b", "1")),
            wanted,
            "{value}"
        );
    }
    let wanted = "Expected to find an array at path '/0' but found 'map[interface {}]interface {}'";
    assert_eq!(outcome("{}", &replace("/0", "1")), wanted);
}

#[test]
fn keys_that_are_not_strings_can_neither_be_named_nor_listed() {
    let document = r#"{"\u00007":1,"b":2,"\u0000true":3}"#;
    let missing = "Expected to find a map key 'true' for path '/true' (found map keys: 'b')";
    assert_eq!(outcome(document, &replace("/true", "1")), missing);
    let unlisted = "Expected to find a map key 'a' for path '/a' (found map keys: '')";
    assert_eq!(outcome(r#"{"\u00007":1}"#, &replace("/a", "1")), unlisted);
    // A path may hold U+0000 itself. It must not reach the key `true` by its escape.
    let escaped = "Expected to find a map key '\0true' for path '/\0true' (found map keys: 'b')";
    assert_eq!(outcome(document, &replace("/\0true", "1")), escaped);
    let added = outcome("{}", &replace("/\0x?", "1"));
    assert_eq!(added, r#"{"\u0000\"\\u0000x\"":1}"#, "and what it adds is the string");
}

#[test]
fn listed_keys_are_sorted_by_bytes() {
    let wanted = "Expected to find a map key 'x' for path '/x' (found map keys: 'B', 'a', 'a10', 'a2', 'é')";
    assert_eq!(
        outcome(r#"{"a2":1,"é":1,"a10":1,"a":1,"B":1}"#, &replace("/x", "1")),
        wanted
    );
}

#[test]
fn the_value_is_copied_through_yaml() {
    let copies = [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("999999.0", "999999"),
        ("1e6", "1e6"),
        ("1.50", "1.50"),
        ("18446744073709551616", "18446744073709551616"),
        (r#"[{"a":2.0}]"#, r#"[{"a":2}]"#),
        (r#"{"\u0000":".inf"}"#, r#"{"\u0000":".inf"}"#),
    ];
    for (value, copy) in copies {
        assert_eq!(outcome("{}", &replace("", value)), copy, "{value}");
    }
    assert_eq!(
        outcome(r#"{"a":1.0}"#, &replace("/b?", "1")),
        r#"{"a":1.0,"b":1}"#,
        "what was there is left alone"
    );
}

#[test]
fn two_uses_of_one_value_are_two_values() {
    let operations = r#"[
        {"type": "replace", "path": "/a?", "value": {"x": 1}},
        {"type": "replace", "path": "/b?", "value": {"x": 1}},
        {"type": "replace", "path": "/a/x", "value": 2}
    ]"#;
    assert_eq!(outcome("{}", operations), r#"{"a":{"x":2},"b":{"x":1}}"#);
}
