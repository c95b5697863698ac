//! Where the parts of the result come from.

use crate::cases::run;

/// One line an origin: pointer, and the source (`d`: the input document, `o`: the ops file).
fn origins(document: &str, operations: &str) -> Vec<String> {
    let applied = run(document, operations).unwrap_or_else(|errors| panic!("{}", errors[0].message));
    let line = |origin: boson_ops::Origin| {
        let document = if origin.document == "ops.yml" { "o" } else { "d" };
        format!("{} {document}:{}", origin.pointer, origin.source)
    };
    applied.origins.into_iter().map(line).collect()
}

fn check(document: &str, operations: &str, wanted: &[&str]) {
    assert_eq!(origins(document, operations), wanted, "{operations}");
}

#[test]
fn what_is_not_touched_is_not_listed() {
    check(
        r#"{"a":{"b":[1]}}"#,
        r#"[{"type":"test","path":"/a/b/0","value":1},{"type":"remove","path":"/z?"}]"#,
        &[],
    );
    check(r#"{"a":1,"b":2}"#, r#"[{"type":"remove","path":"/a"}]"#, &[]);
    check(r#"{"a":[1,2]}"#, r#"[{"type":"remove","path":"/a/1"}]"#, &[]);
}

#[test]
fn replaced_values_come_from_the_operation() {
    check(
        "{}",
        r#"[{"type":"replace","path":"","value":{"a":1}}]"#,
        &[" o:/0/value"],
    );
    check(
        r#"{"a":1,"b":{"c":[1,2]}}"#,
        r#"[{"type":"replace","path":"/b/c/1","value":{"x":1}},{"type":"replace","path":"/a","value":{}}]"#,
        &["/a o:/1/value", "/b/c/1 o:/0/value"],
    );
}

#[test]
fn a_later_operation_inside_an_earlier_one_is_listed_below_it() {
    check(
        "{}",
        r#"[{"type":"replace","path":"/a?","value":{"x":1,"y":[1,2]}},{"type":"replace","path":"/a/y/0","value":3}]"#,
        &["/a o:/0/value", "/a/y/0 o:/1/value"],
    );
    check(
        "{}",
        r#"[{"type":"replace","path":"/a?","value":{"y":[1,2]}},{"type":"remove","path":"/a/y/0"}]"#,
        &["/a o:/0/value", "/a/y/0 o:/0/value/y/1"],
    );
}

#[test]
fn moved_items_come_from_where_they_were() {
    check(
        "[1,2,3]",
        r#"[{"type":"replace","path":"/1:before","value":9}]"#,
        &["/1 o:/0/value", "/2 d:/1", "/3 d:/2"],
    );
    check("[1,2,3]", r#"[{"type":"remove","path":"/0"}]"#, &["/0 d:/1", "/1 d:/2"]);
    check(
        "[1,2,3]",
        r#"[{"type":"replace","path":"/-","value":9}]"#,
        &["/3 o:/0/value"],
    );
    check(
        r#"[{"n":"a"},{"n":"b","v":[0]}]"#,
        r#"[{"type":"remove","path":"/n=a"},{"type":"replace","path":"/n=b/v/0","value":1}]"#,
        &["/0 d:/1", "/0/v/0 o:/1/value"],
    );
}

#[test]
fn moving_there_and_back_leaves_nothing() {
    check(
        "[1,2]",
        r#"[{"type":"replace","path":"/0:before","value":9},{"type":"remove","path":"/0"}]"#,
        &[],
    );
}

#[test]
fn a_removed_key_takes_its_origins_along() {
    check(
        r#"{"a":{"b":1,"c":2}}"#,
        r#"[{"type":"replace","path":"/a/b","value":9},{"type":"remove","path":"/a"},{"type":"replace","path":"/a?","value":{"b":1}}]"#,
        &["/a o:/2/value"],
    );
    check(
        r#"{"a":{"b":1}}"#,
        r#"[{"type":"replace","path":"/a/b","value":9},{"type":"remove","path":"/a/b"}]"#,
        &[],
    );
}

#[test]
fn what_a_path_creates_comes_from_the_path() {
    check(
        "{}",
        r#"[{"type":"replace","path":"/a?/l/name=x/v","value":1}]"#,
        &[
            "/a o:/0/path",
            "/a/l o:/0/path",
            "/a/l/0 o:/0/path",
            "/a/l/0/name o:/0/path",
            "/a/l/0/v o:/0/value",
        ],
    );
}

#[test]
fn pointers_are_escaped() {
    check(
        r#"{"a/b":{"c~":1}}"#,
        r#"[{"type":"replace","path":"/a~1b/c~0","value":2}]"#,
        &["/a~1b/c~0 o:/0/value"],
    );
}
