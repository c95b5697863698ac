//! The meaning of YAML texts, the places of their parts, and the errors of hostile ones. Facts: gopkg.in/yaml.v2 2.4.0.

use boson_document::{MAX_DEPTH, Pointer, Tree, json};
use boson_pipeline::yaml::{Span, read, read_bytes};

fn json(text: &str) -> String {
    json::to_text(
        &read("doc.yml", text)
            .unwrap_or_else(|found| panic!("{text:?}: {found:?}"))
            .tree,
    )
}

/// Code, message, line and column of the reason why a text is refused.
fn refusal(text: &str) -> (String, String, u32, u32) {
    let found = read("doc.yml", text).expect_err(text);
    assert_eq!(found.place.document.as_deref(), Some("doc.yml"));
    (
        found.code,
        found.message,
        found.place.line.unwrap(),
        found.place.column.unwrap(),
    )
}

#[test]
fn plain_scalars_mean_what_yaml_v2_takes_them_for() {
    let table = [
        ("true", "y Y yes Yes YES true True TRUE on On ON"),
        ("false", "n N no No NO false False FALSE off Off OFF"),
        ("null", "~ null Null NULL"),
        ("1", "1 +1 01 0x1 0X1 0o1 0O1 0b1 0B1 +0b1 0_1 1_ 0b+1 0x_1"),
        ("-1", "-1 -01 -0x1 -0b1 0b-1 -_1"),
        ("511", "0777 0o777 0x1ff 0b111111111 5_1_1"),
        ("18446744073709551615", "18446744073709551615 0xffffffffffffffff"),
        ("-9223372036854775808", "-9223372036854775808 -0x8000000000000000"),
        ("1.8446744073709552e+19", "18446744073709551616 +18446744073709551615"),
        ("8.0", "08 8. 8.0_"),
        ("1.50", "1.50"),
        ("1e3", "1e3"),
        ("1000", "1000"),
        ("0.1", "0.1 .1 .1_0 +.1"),
        (r#"{"\u0000":".inf"}"#, ".inf .Inf .INF +.inf"),
        (r#"{"\u0000":"-.inf"}"#, "-.inf -.INF"),
        (r#"{"\u0000":".nan"}"#, ".nan .NaN .NAN"),
    ];
    for (expected, texts) in table {
        for text in texts.split(' ') {
            assert_eq!(json(&format!("a: {text}\n")), format!("{{\"a\":{expected}}}"), "{text}");
        }
    }
    let strings = "oN yEs tRue nuLL .Nan 0b2 0x 0o8 1e400 ._1 .1_ .1__0 . .e5 + _1 1:30 190:20:30 2020-01-02 \
                   2020-01-02T03:04:05Z 1,000 0x1p4 10.0.0.1 1.2.3 = ((var)) ((!a/b.c)) a:b a#b http://x:80/y?z#w";
    for text in strings.split_whitespace() {
        assert_eq!(json(&format!("a: {text}\n")), format!("{{\"a\":\"{text}\"}}"), "{text}");
    }
}

#[test]
fn tags_decide_or_are_ignored() {
    let table = [
        ("!!str 1", "\"1\""),
        ("!!str", "\"\""),
        ("!!int '5'", "5"),
        ("!!float 1", "1.0"),
        ("!!bool 'yes'", "true"),
        ("!!null ''", "null"),
        ("!!binary aGk=", "\"hi\""),
        ("!!timestamp 2020-01-02", "\"2020-01-02\""),
        ("!own 5", "\"5\""),
        ("! 5", "\"5\""),
        ("!own [5]", "[5]"),
        ("!!set {b: }", r#"{"b":null}"#),
        ("!<tag:yaml.org,2002:int> '5'", "5"),
    ];
    for (text, expected) in table {
        assert_eq!(json(&format!("a: {text}\n")), format!("{{\"a\":{expected}}}"), "{text}");
    }
    for (text, message) in [
        ("!!int 1.5", "cannot decode !!float as a !!int"),
        ("!!bool 1", "cannot decode !!int as a !!bool"),
        ("!!float x", "cannot decode !!str as a !!float"),
        ("!!timestamp x", "cannot decode !!str as a !!timestamp"),
        ("!!binary x", "!!binary value contains invalid base64 data"),
        ("!!binary gICA", "!!binary value is not UTF-8 text"),
    ] {
        let place = 4 + u32::from(text.starts_with("!!"));
        assert_eq!(refusal(&format!("a: {text}\n")).1, message, "{place}");
    }
}

#[test]
fn keys_of_every_kind_are_kept_apart() {
    assert_eq!(
        json("n: 1\n'n': 2\n7: 3\n'7': 4\n~: 5\n1.50: 6\n"),
        r#"{"\u0000false":1,"n":2,"\u00007":3,"7":4,"\u0000null":5,"\u00001.5":6}"#
    );
    assert_eq!(
        json("1.50: a\n1.5: b\n0x1: c\n1: d\n"),
        r#"{"\u00001.5":"b","\u00001":"d"}"#
    );
    assert_eq!(refusal("a: {{b}}\n").0, "yaml-key");
    assert_eq!(refusal("? [a]\n: b\n").0, "yaml-key");
}

#[test]
fn the_last_of_two_equal_keys_counts_with_a_warning() {
    let document = read("doc.yml", "a: 1\nb: 2\na: 3\n").unwrap();
    assert_eq!(json::to_text(&document.tree), r#"{"a":3,"b":2}"#);
    assert_eq!(document.place(&Pointer::parse("/a").unwrap()).line, 3);
    assert_eq!(document.warnings.len(), 1);
    assert_eq!(
        (document.warnings[0].code.as_str(), document.warnings[0].place.line),
        ("yaml-duplicate-key", Some(3))
    );
    assert_eq!(document.warnings[0].help.as_deref(), Some("the first one is on line 1"));
}

#[test]
fn merge_keys_override_what_stands_before_them() {
    let table = [
        ("<<: {a: 1}\nb: 2\n", r#"{"a":1,"b":2}"#),
        ("a: 1\n<<: {a: 2}\n", r#"{"a":2}"#),
        ("<<: {a: 2}\na: 1\n", r#"{"a":1}"#),
        ("<<: [{a: 1}, {a: 2, b: 3}]\n", r#"{"a":1,"b":3}"#),
        ("<<: {a: 1}\n<<: {b: 2}\n", r#"{"a":1,"b":2}"#),
        ("!!merge <<: {a: 1}\n", r#"{"a":1}"#),
        ("'<<': {a: 1}\n", r#"{"<<":{"a":1}}"#),
        (
            "x: &x {a: 1}\nz: {<<: *x, b: 2}\n",
            r#"{"x":{"a":1},"z":{"a":1,"b":2}}"#,
        ),
    ];
    for (text, expected) in table {
        let document = read("doc.yml", text).unwrap();
        assert_eq!(json::to_text(&document.tree), expected, "{text}");
        assert!(document.warnings.is_empty(), "{text}");
    }
    for text in ["<<: 1\n", "<<:\n", "<<: [1]\n", "x: &x [{a: 1}]\ny: {<<: *x}\n"] {
        let (code, message, ..) = refusal(text);
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("yaml-merge", "map merge requires map or sequence of maps as the value")
        );
    }
}

#[test]
fn only_the_first_document_counts() {
    for (text, expected) in [
        ("", "null"),
        ("\n", "null"),
        ("# nothing\n", "null"),
        ("---\n", "null"),
        ("--- # nothing\n", "null"),
        ("--- 1\n", "1"),
        ("\u{feff}a: 1\n", r#"{"a":1}"#),
        ("a: 1\r\nb: |\r\n  c\r\n  d\r\n", r#"{"a":1,"b":"c\nd\n"}"#),
    ] {
        let document = read("doc.yml", text).unwrap();
        assert_eq!(
            (json::to_text(&document.tree).as_str(), document.warnings.len()),
            (expected, 0),
            "{text:?}"
        );
    }
    let document = read("doc.yml", "a: 1\n---\nb: }\n").unwrap();
    assert_eq!(json::to_text(&document.tree), r#"{"a":1}"#);
    assert_eq!(
        (document.warnings[0].code.as_str(), document.warnings[0].place.line),
        ("yaml-more-documents", Some(2))
    );
}

#[test]
fn a_block_without_final_line_break_has_none() {
    for (text, expected) in [
        ("a: |\n  b", r#"{"a":"b"}"#),
        ("a: |\n  b\n", r#"{"a":"b\n"}"#),
        ("a: |\n  b\n  ", r#"{"a":"b\n"}"#),
        ("a: |-\n  b", r#"{"a":"b"}"#),
        ("a: |+\n  b", r#"{"a":"b"}"#),
        ("a: |+\n  b\n\n", r#"{"a":"b\n\n"}"#),
        ("a: >\n  b\n  c", r#"{"a":"b c"}"#),
        ("a: |\n  b\nc: d", r#"{"a":"b\n","c":"d"}"#),
        ("- |", r#"[""]"#),
    ] {
        assert_eq!(json(text), expected, "{text:?}");
    }
}

#[test]
fn quoted_and_bracketed_values_may_go_on_anywhere() {
    for (text, expected) in [
        ("a: [\n]\n", r#"{"a":[]}"#),
        ("- a: [\n  b\n  ]\n- c\n", r#"[{"a":["b"]},"c"]"#),
        ("x:\n  a: {\n b: c,\nd: e\n}\n", r#"{"x":{"a":{"b":"c","d":"e"}}}"#),
        (
            "x:\n  a: \"b\n  c\n\nd \\\"\n\"\n  e: f\n",
            r#"{"x":{"a":"b c\nd \" ","e":"f"}}"#,
        ),
        ("a: 'b\n''c'\n", r#"{"a":"b 'c"}"#),
        ("a:\tb\n", r#"{"a":"b"}"#),
    ] {
        assert_eq!(json(text), expected, "{text:?}");
    }
    assert_eq!(json("x:\r\n  a: \"b\r\nc\"\r\n"), r#"{"x":{"a":"b c"}}"#);
    assert!(read("doc.yml", "x:\r  a: \"b\rc\"\r").is_err());
    let document = read("doc.yml", "x:\n  a: {\n b: c,\nd: e}\n").unwrap();
    let place = |pointer: &str| document.key_place(&Pointer::parse(pointer).unwrap());
    assert_eq!(
        place("/x/a/b"),
        Span {
            line: 3,
            column: 2,
            length: 1
        }
    );
    assert_eq!(
        place("/x/a/d"),
        Span {
            line: 4,
            column: 1,
            length: 1
        }
    );
}

#[test]
fn every_value_has_a_place() {
    let text = "# c\nname: x\ngroups:\n- name: é1\n  jobs: [{name: a}, b]\n  text: |\n    one\n    two\nall: &all {k: 1}\nsome: *all\nnone:\n";
    let document = read("doc.yml", text).unwrap();
    let span = |line, column, length| Span { line, column, length };
    for (pointer, key, value) in [
        ("/name", span(2, 1, 4), span(2, 7, 1)),
        ("/groups/0/name", span(4, 3, 4), span(4, 9, 2)),
        ("/groups/0/jobs/0/name", span(5, 11, 4), span(5, 17, 1)),
        ("/groups/0/jobs/1", span(5, 21, 1), span(5, 21, 1)),
        ("/all", span(9, 1, 3), span(9, 6, 4)),
        ("/some", span(10, 1, 4), span(10, 7, 4)),
        ("/some/k", span(9, 12, 1), span(9, 15, 1)),
        // As far as it exists.
        ("/groups/0/name/deeper/still", span(4, 3, 4), span(4, 9, 2)),
        ("/nowhere", span(2, 1, 0), span(2, 1, 0)),
    ] {
        let pointer = Pointer::parse(pointer).unwrap();
        let (found_key, found) = (document.key_place(&pointer), document.place(&pointer));
        assert_eq!(
            (found_key.line, found_key.column),
            (key.line, key.column),
            "key of {pointer}"
        );
        assert_eq!((found.line, found.column), (value.line, value.column), "{pointer}");
        if key.length > 0 && value.length == 1 {
            assert_eq!(
                (found_key.length, found.length),
                (key.length, value.length),
                "{pointer}"
            );
        }
    }
    assert_eq!(document.place(&Pointer::parse("/groups/0/text").unwrap()).line, 7);
    assert_eq!(document.place(&Pointer::parse("/none").unwrap()).line, 11);
}

#[test]
fn broken_texts_are_refused_in_libyamls_words_with_a_place() {
    for (text, message, line, column) in [
        ("a: b: c\n", "mapping values are not allowed in this context", 1, 5),
        ("a: b\n c: d\n", "mapping values are not allowed in this context", 2, 3),
        ("a:\n  b\nc\n", "could not find expected ':'", 3, 1),
        ("a:\n    b: 1\n   c: 2\n", "did not find expected key", 3, 4),
        ("a: b\n- c\n", "did not find expected key", 2, 3),
        ("- a\nb: c\n", "did not find expected '-' indicator", 2, 1),
        ("a: [b\nc: d\n", "did not find expected ',' or ']'", 2, 2),
        ("a: \"b\n", "found unexpected end of stream", 1, 4),
        ("a:\n\t- b\n", "found a tab character that violates indentation", 2, 2),
        ("a: @b\n", "found character that cannot start any token", 1, 4),
        ("a: %b\n", "found character that cannot start any token", 1, 4),
        (
            "a: - b\n",
            "block sequence entries are not allowed in this context",
            1,
            4,
        ),
        ("a: *b\n", "unknown anchor 'b' referenced", 1, 4),
        ("a: &b [*b]\n", "anchor 'b' value contains itself", 1, 8),
        ("a: \"\\q\"\n", "found unknown escape character", 1, 4),
        ("a: x\nb: \u{1}\n", "control characters are not allowed", 2, 4),
        ("a: x\n\u{0}\n", "control characters are not allowed", 2, 1),
    ] {
        let (_, found, found_line, found_column) = refusal(text);
        assert_eq!(
            (found.as_str(), found_line, found_column),
            (message, line, column),
            "{text:?}"
        );
    }
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let found = read_bytes("doc.yml", b"a: b\nc: \xe9\n").unwrap_err();
    assert_eq!(
        (found.code.as_str(), found.place.line, found.place.column),
        ("yaml-encoding", Some(2), Some(4))
    );
    let found = read_bytes("doc.yml", b"\xff\xfea\0:\0").unwrap_err();
    assert!(found.help.unwrap().contains("UTF-16"));
    let found = read_bytes("doc.yml", &vec![b' '; (32 << 20) + 1]).unwrap_err();
    assert_eq!(found.code, "yaml-size");
    assert_eq!(refusal(&"[a,".repeat(1_600_000)).0, "yaml-size");
    assert_eq!(read("doc.yml", &"a: b\n".repeat(1000)).unwrap().warnings.len(), 100);
    assert_eq!(
        read_bytes("doc.yml", "\u{feff}a: é\n".as_bytes())
            .unwrap()
            .tree
            .str("a"),
        Some("é")
    );
}

#[test]
fn line_breaks_of_other_readers_are_reported() {
    let document = read("doc.yml", "a: é – “x”\nb: c\u{2028}d\n").unwrap();
    assert_eq!(document.tree.str("b"), Some("c\u{2028}d"));
    let warning = &document.warnings[0];
    assert_eq!(
        (warning.code.as_str(), warning.place.line, warning.place.column),
        ("yaml-line-break", Some(2), Some(5))
    );
}

#[test]
fn alias_bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    assert_eq!(refusal(&bomb).0, "yaml-aliases");

    let fat = format!("a: &a {}\nb:\n{}", "x".repeat(1 << 20), "- *a\n".repeat(100));
    assert_eq!(refusal(&fat).0, "yaml-aliases");

    let merges = format!("a: &a {{b: c}}\nb:\n{}", "- <<: *a\n".repeat(1000));
    assert!(read("doc.yml", &merges).is_ok());
}

#[test]
fn depth_is_bounded_in_every_way_to_nest() {
    let flow = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read("doc.yml", &flow(MAX_DEPTH)).is_ok());
    for text in [
        flow(MAX_DEPTH + 1),
        flow(100_000),
        "[".repeat(1_000_000),
        "{a: ".repeat(400_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
    ] {
        assert_eq!(refusal(&text).0, "yaml-depth", "{}", &text[..40]);
    }
    // Below an alias, too.
    let half = format!("a: &a {}\nb: {}*a{}\n", flow(100), "[".repeat(100), "]".repeat(100));
    assert_eq!(refusal(&half).0, "yaml-depth");
}

#[test]
fn long_texts_take_linear_time() {
    let megabyte = "x".repeat(1 << 20);
    for text in [
        format!("a: {megabyte}\n"),
        format!("{megabyte}: a\n"),
        format!("a: \"{megabyte}\"\n"),
        format!("a: |\n  {megabyte}\n"),
        format!("# {megabyte}\na: b\n"),
        "a: b\n".repeat(100_000),
        format!("[{}]", "a, ".repeat(100_000)),
        format!("a: [{}\n]\n", "\nb,".repeat(10_000)),
        format!("a: \"{}\"\n", "\nb".repeat(10_000)),
        " \n".repeat(500_000),
        "&a ".repeat(100_000),
        "!a ".repeat(100_000),
    ] {
        #[allow(clippy::disallowed_methods, reason = "this test is about time")]
        let start = std::time::Instant::now();
        let _ = read("doc.yml", &text);
        assert!(
            start.elapsed().as_secs() < 10,
            "{:?}: {:?}",
            &text[..20],
            start.elapsed()
        );
    }
}

#[test]
fn escapes_of_the_tree_are_not_confused_with_text() {
    // U+0000 can be written as an escape.
    let document = read("doc.yml", "\"\\0x\": \"\\0y\"\n").unwrap();
    let name = document.tree.as_object().unwrap().keys().next().unwrap().clone();
    assert_eq!(boson_document::escape::decode_key(&name), Tree::from("\0x"));
}
