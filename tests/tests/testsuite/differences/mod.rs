//! Checks that each row of `docs/differences.md` about ops files and `host interpolate` holds: a test for each, in the
//! order of the table.

mod interpolate;
mod yaml;

use boson_tests::{Ran, Run, root};
use std::fs;

/// Where the tests are.
const TESTS: [&str; 2] = [include_str!("interpolate.rs"), include_str!("yaml.rs")];

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
        "parts_without_effect_are_reported",
    ),
    ("an error's line", "errors_name_line_and_column"),
    ("a file that is not there", "missing_files_are_reported_in_our_words"),
    ("a wrong command line, an empty argument", "wrong_usage_ends_with_2"),
    ("a new file of `--vars-store`", "a_new_store_is_for_its_owner_only"),
    (
        "`--var-file` or `!!binary` with bytes that are not UTF-8",
        "bytes_are_refused",
    ),
    ("a key `<<` that is quoted", "a_quoted_merge_key_stays_a_string"),
    (
        "a key that is not a number (`.nan`)",
        "a_key_that_is_not_a_number_keeps_its_value",
    ),
    ("`?` in plain text within `{..}` and `[..]`", "question_marks_are_text"),
    ("`[a:]` and `{a: b:}`", "colons_before_brackets_are_keys"),
    ("`[-]`", "a_dash_in_brackets_wants_quotes"),
    ("`{:a: 1}`, `{: 1}`, `- :`", "empty_keys_and_leading_colons_are_read"),
    (
        "names of anchors and tags with `:` or `,` (`{&a: 1}`, `[!, x]`)",
        "names_end_where_yaml_1_2_ends_them",
    ),
    ("U+0085, U+2028, U+2029", "odd_line_breaks_are_characters"),
    ("U+FEFF within a text", "byte_order_marks_within_are_refused"),
    (
        "a block (`\\|`) at the root that begins with an empty line indented deeper than its text",
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
        "host/pipeline/tests/testsuite/variables.rs",
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
        "plugins/links/tests/stage/external.rs",
        "a_link_of_another_deployment_is_used_only_if_the_consumer_names_that",
    ),
    (
        "links of native workloads",
        "plugins/links/tests/stage/external.rs",
        "native_links_match_by_the_rules_of_jobs",
    ),
    (
        "`network` and `ip_addresses` of a consumed link",
        "plugins/links/tests/stage/links.rs",
        "what_has_no_effect_is_reported",
    ),
    (
        "two groups whose Services get one name",
        "plugins/links/tests/stage/links.rs",
        "services_that_share_a_name_are_reported_by_the_bpm_stage_alone",
    ),
    (
        "bpm.yml that differs between instances",
        "plugins/bpm/tests/group.rs",
        "instances_may_differ_in_all_that_does_not_shape_the_pod",
    ),
    (
        "`limits.processes`",
        "plugins/bpm/tests/keys.rs",
        "every_key_of_bpm_yml_has_an_effect_or_a_warning_at_its_place",
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

#[test]
fn every_row_has_its_test() {
    let table = fs::read_to_string(root().join("docs/differences.md")).unwrap();
    let section = table.split("\n## ").find(|part| part.starts_with("Ops files")).unwrap();
    let cells = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: Vec<&str> = cells.skip(1).collect();
    let proven: Vec<&str> = ROWS.iter().map(|(row, _)| *row).collect();
    assert_eq!(rows, proven);
    for (row, test) in ROWS {
        assert!(
            TESTS.iter().any(|tests| tests.contains(&format!("\nfn {test}() {{"))),
            "{row}: no test {test}"
        );
    }
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
