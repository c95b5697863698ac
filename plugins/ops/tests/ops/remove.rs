//! Remove: every token, first as a step and then as the last one, with BOSH's answers.

use crate::cases::{outcome, remove};

const DOCUMENT: &str = r#"{"a":[1,2,3],"m":{"x":{"y":1}},"l":[{"name":"p"},{"name":"q"},7],"n":null}"#;

fn check(document: &str, cases: &[(&str, &str)]) {
    for (path, wanted) in cases {
        assert_eq!(&outcome(document, &remove(path)), wanted, "{path}");
    }
}

#[test]
fn items_and_members_are_taken_out() {
    check(
        "[1,2,3]",
        &[
            ("/0", "[2,3]"),
            ("/-1", "[1,2]"),
            ("/0:next", "[1,3]"),
            ("/0:prev", "[1,2]"),
            ("/3:prev", "[1,2]"),
        ],
    );
    check("[1]", &[("/0", "[]")]);
    check(
        r#"{"b":1,"a":2,"c":3}"#,
        &[("/a", r#"{"b":1,"c":3}"#), ("/b?", r#"{"a":2,"c":3}"#)],
    );
    check(r#"{"a":{"b":null}}"#, &[("/a/b", r#"{"a":{}}"#)]);
    check(
        r#"[{"n":"x"},{"n":"y","l":[1]}]"#,
        &[
            ("/n=x", r#"[{"n":"y","l":[1]}]"#),
            ("/n=x:next", r#"[{"n":"x"}]"#),
            ("/n=y/l/0", r#"[{"n":"x"},{"n":"y","l":[]}]"#),
            ("/n=x:next/l", r#"[{"n":"x"},{"n":"y"}]"#),
        ],
    );
}

#[test]
fn a_shifted_matcher_changes_the_item_it_lands_on() {
    check(r#"[{"n":"x"},[1,2]]"#, &[("/n=x:next/0", r#"[{"n":"x"},[2]]"#)]);
}

#[test]
fn what_is_optional_may_be_missing() {
    for path in [
        "/z?",
        "/z?/y/x",
        "/z?/0/name=x/-",
        "/m/z?",
        "/l/name=r?",
        "/l/name=r?/v",
        "/l/name=r?:before",
        "/m/x/z?/name=x",
    ] {
        assert_eq!(outcome(DOCUMENT, &remove(path)), DOCUMENT, "{path}");
    }
}

#[test]
fn failures_have_the_words_of_bosh() {
    check(
        DOCUMENT,
        &[
            ("", "Cannot remove entire document"),
            (
                "/z",
                "Expected to find a map key 'z' for path '/z' (found map keys: 'a', 'l', 'm', 'n')",
            ),
            (
                "/z/y",
                "Expected to find a map key 'z' for path '/z' (found map keys: 'a', 'l', 'm', 'n')",
            ),
            (
                "/a/3",
                "Expected to find array index '3' but found array of length '3' for path '/a/3'",
            ),
            (
                "/a/-4",
                "Expected to find array index '-4' but found array of length '3' for path '/a/-4'",
            ),
            (
                "/a/-",
                "Expected to not find token 'patch.AfterLastIndexToken' at path '/a/-'",
            ),
            (
                "/m/-",
                "Expected to not find token 'patch.AfterLastIndexToken' at path '/m/-'",
            ),
            (
                "/l/name=r",
                "Expected to find exactly one matching array item for path '/l/name=r' but found 0",
            ),
            (
                "/a/0:before",
                "Expected to find one of the following modifiers: 'prev', 'next', but found modifier 'patch.BeforeModifier'",
            ),
            (
                "/l/name=p:after",
                "Expected to find one of the following modifiers: 'prev', 'next', but found modifier 'patch.AfterModifier'",
            ),
            (
                "/a/x?",
                "Expected to find a map at path '/a/x?' but found '[]interface {}'",
            ),
            ("/n/x?", "Expected to find a map at path '/n/x?' but found '<nil>'"),
            (
                "/m/0",
                "Expected to find an array at path '/m/0' but found 'map[interface {}]interface {}'",
            ),
            (
                "/m/name=x?",
                "Expected to find an array at path '/m/name=x?' but found 'map[interface {}]interface {}'",
            ),
        ],
    );
    let two = "Expected to find exactly one matching array item for path '/n=x?' but found 2";
    check(r#"[{"n":"x"},{"n":"x"}]"#, &[("/n=x?", two)]);
}
