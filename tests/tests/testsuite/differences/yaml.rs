//! Rows about valid YAML and its meaning.

use super::{interpolate, printed, refused, with_operations};

#[test]
fn bytes_are_refused() {
    let ran = interpolate(&[("m.yml", b"a: ((x))\n"), ("f", b"\xff\x00")], &["--var-file", "x=f"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("Reading variable from file 'f': the file is not UTF-8"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("base64"), "{}", ran.stderr);
    assert!(refused("a: !!binary /wA=\n", &[]).contains("!!binary value is not UTF-8 text"));
    assert_eq!(printed("a: !!binary aGk=\n", &[]), "a: hi\n");
}

#[test]
fn a_quoted_merge_key_stays_a_string() {
    let text = printed("{'<<': {a: 1}}\n", &[]);
    assert_eq!(text, "!!str \"<<\":\n  a: 1\n");
    assert_eq!(printed(&text, &[]), text);
}

#[test]
fn a_key_that_is_not_a_number_keeps_its_value() {
    assert_eq!(printed("{.NaN: 1}\n", &[]), ".nan: 1\n");
}

#[test]
fn question_marks_are_text() {
    assert_eq!(
        printed("{path: /a?/b, l: [what?, ?x]}\n", &[]),
        "l:\n- what?\n- ?x\npath: /a?/b\n"
    );
    let ran = with_operations("a: 1\n", "- {type: replace, path: /b?/c, value: 2}\n");
    assert_eq!(ran.stdout, "a: 1\nb:\n  c: 2\n");
}

#[test]
fn colons_before_brackets_are_keys() {
    assert_eq!(printed("[a:]\n", &[]), "- a: null\n");
    assert!(refused("{a: b:}\n", &[]).contains("yaml-syntax"));
}

#[test]
fn a_dash_in_brackets_wants_quotes() {
    assert!(refused("[-]\n", &[]).contains("yaml-syntax"));
    assert_eq!(printed("['-']\n", &[]), "- '-'\n");
}

#[test]
fn empty_keys_and_leading_colons_are_read() {
    assert_eq!(printed("[{:a: 1}, {: 1}]\n", &[]), "- :a: 1\n- null: 1\n");
    assert_eq!(printed("- :\n", &[]), "- null: null\n");
}

#[test]
fn names_end_where_yaml_1_2_ends_them() {
    assert_eq!(printed("{&a: 1}\n", &[]), "1: null\n");
    assert_eq!(printed("[!, x]\n", &[]), "- \"\"\n- x\n");
}

#[test]
fn odd_line_breaks_are_characters() {
    for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let ran = interpolate(&[("m.yml", format!("a: x{c}y\n").as_bytes())], &["--path", "/a"]);
        assert_eq!((ran.code, ran.stdout), (0, format!("x{c}y\n")));
        assert!(
            ran.stderr
                .contains("is a line break for BOSH, but an ordinary character here"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn byte_order_marks_within_are_refused() {
    assert!(refused("a: x\u{feff}y\n", &[]).contains("control characters are not allowed"));
    assert_eq!(printed("\u{feff}a: x\n", &[]), "a: x\n");
}

#[test]
fn cut_off_blocks_are_refused() {
    assert!(refused("|\n     \n  text\n", &[]).contains("yaml-syntax"));
}

#[test]
fn text_after_the_root_is_refused() {
    for text in ["'a' b\n", "a # c\nb\n"] {
        let said = refused(text, &[]);
        assert!(said.contains("error[yaml-"), "{said}");
    }
}
