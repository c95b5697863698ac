//! Rows about operations, values, files and the command line.

use super::{interpolate, printed, refused, with_operations};
use boson_tests::Run;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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
fn parts_without_effect_are_reported() {
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
fn missing_files_are_reported_in_our_words() {
    for (arguments, said) in [
        (
            ["-o", "missing"],
            "Reading ops file 'missing': there is no file 'missing'",
        ),
        (
            ["-l", "missing"],
            "Reading variables file 'missing': there is no file 'missing'",
        ),
        (
            ["--var-file", "x=missing"],
            "Reading variable from file 'missing': there is no file 'missing'",
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

/// Only conversions generate them.
#[test]
fn users_are_not_made_by_interpolate() {
    let manifest = "variables: [{name: u, type: user}]\na: ((u))\n";
    let said = refused(manifest, &["--vars-store", "store"]);
    assert!(
        said.contains("Generating variable 'u': Unsupported value type: user"),
        "{said}"
    );
}
