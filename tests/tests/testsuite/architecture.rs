//! The paths through the code in `docs/architecture.md`: each file exists and has the functions that the step names.

use boson_tests::root;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_steps_of_the_paths_are_in_the_code() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, section) = page.split_once("\n## Two paths through the code\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    assert_eq!(section.matches("\n### ").count(), 2);
    for path in section.split("\n### ").skip(1) {
        let mut files = BTreeSet::new();
        for step in path.split(". [`").skip(1) {
            let (file, rest) = step.split_once("`](../").unwrap();
            let (target, rest) = rest.split_once("),").unwrap();
            assert_eq!(target, file, "the link of a step");
            let code = fs::read_to_string(root().join(file)).unwrap_or_default();
            let (functions, _) = rest.split_once(':').unwrap();
            assert!(functions.contains('`'), "a step in {file} names no function");
            for function in functions.split('`').skip(1).step_by(2) {
                let is_there = ["(", "<"]
                    .iter()
                    .any(|end| code.contains(&format!("fn {function}{end}")));
                assert!(is_there, "{file} has no function '{function}'");
            }
            files.insert(file);
        }
        let count = format!("\nThe functions named here are in {} files.\n", files.len());
        assert!(
            files.len() > 10 && path.contains(&count),
            "the last line is not: {count}"
        );
    }
}
