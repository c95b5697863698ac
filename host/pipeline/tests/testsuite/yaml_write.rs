//! The writer: byte for byte the layout of yaml.v2, and the same content for every reader.

use boson_document::{Number, Tree, escape, json};
use boson_pipeline::yaml::{as_sent, read, write, write_manifest};
use proptest::prelude::*;
use serde_yaml::Value;

fn written(document: &str) -> String {
    write(&json::parse(document).unwrap())
}

#[test]
fn layout_is_yaml_v2s() {
    let document =
        r#"{"b":{"y":[{"n":1,"a":[[1,2],[]]},"x",{}]},"a":"line 1\nline 2\n","c10":null,"c9":true,"é":"","A":[]}"#;
    let expected = r#"A: []
a: |
  line 1
  line 2
b:
  "y":
  - a:
    - - 1
      - 2
    - []
    "n": 1
  - x
  - {}
c9: true
c10: null
é: ""
"#;
    assert_eq!(written(document), expected);
}

#[test]
fn scalars_are_quoted_where_a_reader_would_mistake_them() {
    for (plain, texts) in [
        (
            true,
            "x a:b a#b http://x:80/y?z#w ((var)) ((!a/b.c)) 10.0.0.1 1.2.3 a'b v1 é ~x <x .a -a ?a 1a a,b a[b",
        ),
        (
            false,
            "y Y yes No on OFF true ~ null 0 -1 0777 08 0o17 0b1 0x1f 1_000 1. .5 1e3 .inf .nan 1:30 190:20:30.15 2020-01-02",
        ),
        (false, "2001-12-14t21:59:43.10-05:00 -1_0:5:59.5 1:59 +3:07:00 0x_1f"),
        // Others take these for something else. yaml.v2 does not, and leaves them.
        (true, "oN yEs tRUE nULL .iNf :a = 1,000 << 1:60 1:059 :30 1:30.5.1"),
        (
            false,
            "- -- --- ... ? : # #a [ ]a {a }a ,a &a *a !a |a >a 'a \"a %a @a `a a:",
        ),
    ] {
        for text in texts.split(' ') {
            let plain = plain || text == "--";
            let line = written(&format!("[{}]", json::to_text(&text.into())));
            assert_eq!(line == format!("- {text}\n"), plain, "{line}");
        }
    }
    for (text, expected) in [
        ("2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43.10 -5"),
        ("a b", "a b"),
        (" a", "' a'"),
        ("a ", "'a '"),
        ("a #b", "'a #b'"),
        ("a: b", "'a: b'"),
        ("a\tb", "\"a\\tb\""),
        (
            "\u{7}\u{1b}\u{7f}\u{85}\u{2028}\u{feff}",
            "\"\\a\\e\\x7F\\N\\L\\uFEFF\"",
        ),
        ("😀", "\"\\U0001F600\""),
        ("a\r\nb", "\"a\\r\\nb\""),
        ("a\n", "|\n  a"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        ("\n", "|2+\n"),
        (" a\nb\n", "|2\n   a\n  b"),
        ("a \nb", "\"a \\nb\""),
    ] {
        assert_eq!(
            written(&json::to_text(&vec![text].into())),
            format!("- {expected}\n"),
            "{text:?}"
        );
    }
}

#[test]
fn long_lines_are_folded_at_spaces() {
    let words = ["word"; 40].join(" ");
    let folded = format!(
        "a: {}\n  {}\n  {}\n",
        ["word"; 16].join(" "),
        ["word"; 16].join(" "),
        ["word"; 8].join(" ")
    );
    assert_eq!(written(&format!("{{\"a\":\"{words}\"}}")), folded);
    // Keys are not, but those over 128 bytes are marked.
    assert!(written(&format!("{{\"{words}\":1}}")).starts_with("? word"));
    let word = "x".repeat(500);
    assert_eq!(written(&format!("[\"{word}\"]")), format!("- {word}\n"));
}

#[test]
fn numbers_are_spelled_as_go_does() {
    for (number, expected) in [
        ("1.0", "1"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("1e5", "100000"),
        ("123456.75", "123456.75"),
        ("1e-4", "0.0001"),
        ("18446744073709551615", "18446744073709551615"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1234567.5", "1.2345675e+06"),
        ("1.5e-7", "1.5e-07"),
        // Psych reads a string here.
        ("1e6", "1e+06"),
        ("1e21", "1e+21"),
    ] {
        assert_eq!(written(number), format!("{expected}\n"), "{number}");
    }
    for special in [".inf", "-.inf", ".nan"] {
        assert_eq!(write(&escape::special(special)), format!("{special}\n"));
    }
}

#[test]
fn keys_are_sorted_as_yaml_v2_sorts_them_and_keep_their_kind() {
    let document = "{b1: 1, b10: 1, b9: 1, B: 1, _: 1, -x: 1, 10: 1, 9: 1, 1.5: 1, true: 1, false: 1, ~: 1, a-b: 1, a.b: 1, ab: 1, a01: 1, a1: 1, '10': 1, 'y': 1}";
    let keys: Vec<String> = write(&read("", document).unwrap().tree)
        .lines()
        .map(|line| line.trim_end_matches(": 1").to_string())
        .collect();
    let expected = "false true 1.5 9 10 null -x _ \"10\" B a-b a.b a1 a01 ab b1 b9 b10 \"y\"";
    assert_eq!(keys.join(" "), expected);
}

#[test]
fn a_key_that_looks_like_a_merge_is_not_one() {
    let tree = Tree::object().with("<<", Tree::object().with("a", "<<"));
    assert_eq!(write(&tree), "!!str \"<<\":\n  a: <<\n");
    assert_eq!(read("", &write(&tree)).unwrap().tree, tree);
}

#[test]
fn manifests_are_quoted_for_every_reader() {
    for text in "oN yEs tRUE nULL .iNf :a = 1,000 0x_1f << 1:30 2001-12-14t21:59:43.10-05:00".split(' ') {
        let list = Tree::Array(vec![text.into()]);
        assert_eq!(write_manifest(&[list]), format!("---\n- \"{text}\"\n"));
    }
    assert_eq!(
        write_manifest(&[json::parse("[1e6, 1e+20]").unwrap()]),
        "---\n- 1.0e+6\n- 1.0e+20\n"
    );
}

#[test]
fn manifests_keep_the_order_of_members() {
    let objects = [
        "{apiVersion: v1, kind: Secret, metadata: {name: b, annotations: {a: 'on'}}, data: {z: 1.0, a: 1e3}}",
        "[]",
    ];
    let objects = objects.map(|text| read("", text).unwrap().tree);
    let expected = "\
---
apiVersion: v1
kind: Secret
metadata:
  name: b
  annotations:
    a: \"on\"
data:
  z: 1.0
  a: 1.0e+3
---
[]
";
    assert_eq!(write_manifest(&objects), expected);
    assert_eq!(write_manifest(&[]), "");
    let long = Tree::object().with("a", ["word"; 100].join(" "));
    assert_eq!(write_manifest(&[long]).lines().count(), 2);
}

/// Strings that touch what writers get wrong.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(
        "y|no|~|null|0777|1_000|1:30|2020-01-02|1e3|.5|-|- |: |#| #|[|]|{|}|,|&|*|!|>|'|\"|%|@|`|=|<<| |  |\n|\n\n|\t|\r|\\|é|日|\u{85}|\u{2028}|\u{7}|\u{feff}|😀|x|word word"
            .split('|')
            .collect::<Vec<_>>(),
    );
    prop_oneof![
        prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat()),
        "[ -~\n]{0,40}",
        "([a-z]{1,9} {1,2}){0,30}",
        any::<String>().prop_map(|text| text.replace('\0', "")),
    ]
}

fn document() -> impl Strategy<Value = Tree> {
    let float = |value: f64| Number::new(&format!("{value:?}")).map_or(Tree::Null, Tree::Number);
    let leaf = prop_oneof![
        4 => text().prop_map(Tree::String),
        1 => Just(Tree::Null),
        1 => any::<bool>().prop_map(Tree::Bool),
        1 => any::<i64>().prop_map(Tree::from),
        1 => any::<u64>().prop_map(Tree::from),
        1 => any::<f64>().prop_filter("finite", |value| value.is_finite() && *value != 0.0).prop_map(float),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::Array),
            prop::collection::vec((text(), inner), 0..6).prop_map(Tree::from_iter),
        ]
    })
}

/// Numbers by value, members by name.
fn same(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Tree::Number(a), Tree::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Tree::Array(a), Tree::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Tree::Object(a), Tree::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

/// The same for an independent reader, of YAML 1.2.
fn same_for_others(tree: &Tree, value: &Value) -> bool {
    match (tree, value) {
        (Tree::Null, Value::Null) => true,
        (Tree::Bool(a), Value::Bool(b)) => a == b,
        (Tree::Number(a), Value::Number(b)) => b.as_f64() == Some(a.as_f64()),
        (Tree::String(a), Value::String(b)) => a == b,
        (Tree::Array(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_for_others(a, b))
        }
        (Tree::Object(a), Value::Mapping(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, tree)| b.get(name.as_str()).is_some_and(|value| same_for_others(tree, value)))
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_documents_read_back(tree in document()) {
        let text = write(&tree);
        let back = read("", &text).unwrap_or_else(|found| panic!("{found:?}\n{text}"));
        prop_assert!(same(&back.tree, &tree), "{}\n{}", text, json::to_text(&back.tree));
        prop_assert!(back.warnings.is_empty());
        prop_assert_eq!(write(&back.tree), text);
    }

    /// So it makes no difference whether a manifest is converted, or what `interpolate` writes of it.
    #[test]
    fn a_written_manifest_is_sent_as_the_manifest_is(tree in document()) {
        let written = read("", &write(&tree)).unwrap().tree;
        prop_assert_eq!(json::to_text(&as_sent(written)), json::to_text(&as_sent(tree)));
    }

    #[test]
    fn manifests_read_back_for_everyone(tree in document()) {
        let text = write_manifest(std::slice::from_ref(&tree));
        let back = read("", &text).unwrap_or_else(|found| panic!("{found:?}\n{text}"));
        prop_assert!(same(&back.tree, &tree), "{}", text);
        let value: Value = serde_yaml::from_str(&text).unwrap_or_else(|found| panic!("{found:?}\n{text}"));
        prop_assert!(same_for_others(&tree, &value), "{}\n{:?}", text, value);
    }

    #[test]
    fn no_text_panics(text in prop_oneof![text(), any::<String>(), "[-?:,\\[\\]{}#&*!|>'\"%@`a \n\t]{0,60}"]) {
        if let Ok(document) = read("", &text) {
            write(&document.tree);
        }
    }
}
