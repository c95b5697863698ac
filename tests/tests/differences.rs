//! Each row of `docs/differences.md` about ops files and `host interpolate` holds: a test for each, in the order of the table.

#![allow(clippy::unwrap_used, reason = "in the functions that tests share, too")]

use boson_tests::{Ran, Run, root};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A row's first cell, and the test that proves it.
const ROWS: &[(&str, &str)] = &[
    (
        "matcher with `prev`/`next` that lands on a list item",
        "a_matcher_descends_into_the_list_beside_its_match",
    ),
    ("`value: Null`, `value: NULL`", "every_null_is_a_missing_value"),
    (
        "a value that holds `((b))`, inserted before a later `((b))` of the same string",
        "inserted_text_is_not_scanned",
    ),
    (
        "dotted names that share three levels, or `a=1` with `a.b=2`",
        "dotted_names_merge_or_contradict",
    ),
    ("values inside error texts", "errors_hold_no_values"),
    (
        "nesting deeper than 128, files over 32 MiB",
        "depth_and_size_are_bounded",
    ),
    (
        "unused keys of operations, keys given twice",
        "what_has_no_effect_is_told",
    ),
    ("an error's line", "errors_name_line_and_column"),
    ("a file that is not there", "missing_files_are_told_in_our_words"),
    ("a wrong command line, an empty argument", "wrong_usage_ends_with_2"),
    ("a new file of `--vars-store`", "a_new_store_is_for_its_owner_only"),
    (
        "`--var-file` or `!!binary` with bytes that are not UTF-8",
        "bytes_are_refused",
    ),
    ("a key `<<` that is quoted", "a_quoted_merge_key_stays_one"),
    (
        "a key that is not a number (`.nan`)",
        "a_key_that_is_not_a_number_keeps_its_value",
    ),
    ("`?` in plain text within `{..}` and `[..]`", "question_marks_are_text"),
    ("`[a:]` and `{a: b:}`", "colons_before_brackets_are_keys"),
    ("`[-]`", "a_dash_in_brackets_wants_quotes"),
    ("`{:a: 1}`, `{: 1}`, `- :`", "empty_keys_and_leading_colons_are_read"),
    ("U+0085, U+2028, U+2029", "odd_line_breaks_are_characters"),
    ("U+FEFF within a text", "byte_order_marks_within_are_refused"),
    (
        "a block (`|`) at the root that begins with an empty line indented deeper than its text",
        "cut_off_blocks_are_refused",
    ),
    (
        "text after the end of the root (`'a' b`)",
        "text_after_the_root_is_refused",
    ),
];

/// Rows of other parts of the table: first cell, file, and the test in it that proves the row.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "order of certificates",
        "host/pipeline/tests/variables.rs",
        "a_ca_comes_before_its_certificates_in_the_list_or_by_itself_in_a_conversion",
    ),
    (
        "`duration` over 106,751 days",
        "host/credentials/tests/values.rs",
        "errors_are_in_bosh_words_and_come_before_any_key_is_made",
    ),
    (
        "type `user` in `host convert`",
        "host/credentials/tests/values.rs",
        "users_get_a_name_a_password_and_its_hash",
    ),
    (
        "`deployment:` of a consumed link",
        "plugins/links/tests/stage/links.rs",
        "errors_are_boshs_and_name_the_entry",
    ),
    (
        "`network`, `ip_addresses`, `aliases`, `shared`",
        "plugins/links/tests/stage/links.rs",
        "what_has_no_effect_is_told",
    ),
    (
        "two groups whose Services get one name",
        "plugins/links/tests/stage/links.rs",
        "services_of_two_groups_never_share_a_name",
    ),
    (
        "bpm.yml that differs between instances in `args`, `env`, `executable`",
        "plugins/bpm/tests/group.rs",
        "instances_may_not_differ",
    ),
    (
        "scripts post-start, post-stop, post-deploy; `limits.open_files`, `processes`",
        "plugins/bpm/tests/golden.rs",
        "groups_become_the_objects_expected",
    ),
];

#[test]
fn rows_of_other_rooms_have_their_tests_there() {
    let table = fs::read_to_string(root().join("docs/differences.md")).unwrap();
    for (row, file, test) in ELSEWHERE {
        assert!(table.contains(&format!("\n| {row} |")), "no row {row}");
        let tests = fs::read_to_string(root().join(file)).unwrap();
        assert!(tests.contains(&format!("fn {test}()")), "{row}: no {test} in {file}");
    }
}

/// A conversion makes what the command line refuses, and names variables as they are written.
#[test]
fn users_are_not_made_by_interpolate() {
    let manifest = "variables: [{name: u, type: user}]\na: ((u))\n";
    let said = refused(manifest, &["--vars-store", "store"]);
    assert!(
        said.contains("Generating variable 'u': Unsupported value type: user"),
        "{said}"
    );
}

#[test]
fn every_row_has_its_test() {
    let table = fs::read_to_string(root().join("docs/differences.md")).unwrap();
    let section = table.split("\n## ").find(|part| part.starts_with("Ops files")).unwrap();
    let rows: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .map(first_cell)
        .collect();
    let proven: Vec<&str> = ROWS.iter().map(|(row, _)| *row).collect();
    assert_eq!(rows, proven);
    for (row, test) in ROWS {
        assert!(
            include_str!("differences.rs").contains(&format!("\nfn {test}() {{")),
            "{row}: no test {test}"
        );
    }
}

/// A `|` between backticks is text.
fn first_cell(line: &str) -> &str {
    let mut quoted = false;
    let end = line[1..].find(|c: char| {
        quoted ^= c == '`';
        c == '|' && !quoted
    });
    line[1..].split_at(end.unwrap()).0.trim()
}

/// Runs `host interpolate m.yml` with these arguments and files.
fn interpolate(files: &[(&str, &[u8])], arguments: &[&str]) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let all = ["interpolate", "m.yml"].into_iter().chain(arguments.iter().copied());
    Run::new(directory.path(), all).start().unwrap()
}

fn printed(manifest: &str, arguments: &[&str]) -> String {
    let ran = interpolate(&[("m.yml", manifest.as_bytes())], arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

fn refused(manifest: &str, arguments: &[&str]) -> String {
    let ran = interpolate(&[("m.yml", manifest.as_bytes())], arguments);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{manifest}");
    ran.stderr
}

fn with_operations(manifest: &str, operations: &str) -> Ran {
    interpolate(
        &[("m.yml", manifest.as_bytes()), ("o.yml", operations.as_bytes())],
        &["-o", "o.yml"],
    )
}

#[test]
fn a_matcher_descends_into_the_list_beside_its_match() {
    let ran = with_operations(
        "l: [[1, 2], {name: q}]\n",
        "- {type: replace, path: '/l/name=q:prev/0', value: 9}\n",
    );
    assert_eq!(ran.stdout, "l:\n- - 9\n  - 2\n- name: q\n");
}

#[test]
fn every_null_is_a_missing_value() {
    for null in ["Null", "NULL", "null", "~", ""] {
        let ran = with_operations("a: 1\n", &format!("- type: replace\n  path: /a\n  value: {null}\n"));
        assert_eq!(ran.code, 1);
        assert!(
            ran.stderr.contains("Replace operation [0]: Missing value within"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn inserted_text_is_not_scanned() {
    let text = printed("x: ((a))-((b))\n", &["-v", "a=((b))", "-v", "b=1"]);
    assert_eq!(text, "x: ((b))-1\n");
}

#[test]
fn dotted_names_merge_or_contradict() {
    let text = printed("x: ((a))\n", &["-v", "a.b.c=1", "-v", "a.b.d=2", "-v", "a.e=3"]);
    assert_eq!(text, "x:\n  b:\n    c: 1\n    d: 2\n  e: 3\n");
    let said = refused("x: ((a))\n", &["-v", "a=1", "-v", "a.b=2"]);
    assert!(
        said.contains("Expected variable 'a' to be a map, because 'a.b' is given, too"),
        "{said}"
    );
}

#[test]
fn errors_hold_no_values() {
    for (manifest, argument) in [
        ("x: a ((v))\n", "v=[5ecret]"),
        ("x: a ((v))\n", "v={5ecret"),
        ("x: 1\n", "=5ecret"),
        ("x: ((v.k))\n", "v=5ecret"),
    ] {
        let said = refused(manifest, &["-v", argument]);
        assert!(!said.contains("5ecret"), "{said}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = |levels: usize| format!("{}1{}\n", "[".repeat(levels), "]".repeat(levels));
    assert!(printed(&deep(120), &[]).contains('1'));
    assert!(refused(&deep(129), &[]).contains("yaml-depth"));
    let said = refused(&format!("a: 1\n#{}\n", "x".repeat(33 << 20)), &[]);
    assert!(said.contains("'m.yml' is larger than 32 MiB"), "{said}");
}

#[test]
fn what_has_no_effect_is_told() {
    let ran = with_operations("a: 1\na: 2\n", "- {type: replace, path: /a, value: 3, vaule: 4}\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a: 3\n"));
    assert!(
        ran.stderr.contains("this key stands twice in one mapping"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("The key 'vaule' of the operation is not used"),
        "{}",
        ran.stderr
    );
}

#[test]
fn errors_name_line_and_column() {
    assert!(refused("a: 1\nb: [1\nc: 2\n", &[]).contains("--> m.yml:3:2"));
    assert!(refused("a: 1\nvariables: {a: b}\n", &[]).contains("--> m.yml:2:1"));
}

#[test]
fn missing_files_are_told_in_our_words() {
    for (arguments, said) in [
        (["-o", "gone"], "Reading ops file 'gone': there is no file 'gone'"),
        (["-l", "gone"], "Reading variables file 'gone': there is no file 'gone'"),
        (
            ["--var-file", "x=gone"],
            "Reading variable from file 'gone': there is no file 'gone'",
        ),
    ] {
        let error = refused("a: 1\n", &arguments);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    for arguments in [&["--nope"][..], &["-o", ""], &["-l", ""], &["more.yml"]] {
        let ran = interpolate(&[("m.yml", b"a: 1\n")], arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
    }
}

#[test]
fn a_new_store_is_for_its_owner_only() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("m.yml"),
        "variables: [{name: p, type: password}]\n",
    )
    .unwrap();
    let run = Run::new(directory.path(), ["interpolate", "m.yml", "--vars-store", "store"]);
    assert_eq!(run.start().unwrap().code, 0);
    let mode = fs::metadata(directory.path().join("store"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

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
fn a_quoted_merge_key_stays_one() {
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
fn odd_line_breaks_are_characters() {
    for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let ran = interpolate(&[("m.yml", format!("a: x{c}y\n").as_bytes())], &["--path", "/a"]);
        assert_eq!((ran.code, ran.stdout), (0, format!("x{c}y\n")));
        assert!(
            ran.stderr
                .contains("is a line break for BOSH, and is taken for a character here"),
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
