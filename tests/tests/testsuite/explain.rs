//! Every diagnostic code that the host may give is explained.

use boson_tests::{host, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Codes in the host's sources: the first argument of `Diagnostic::error` and `Diagnostic::warning`.
fn codes() -> BTreeSet<String> {
    let mut open = vec![root().join("host")];
    let mut codes = BTreeSet::new();
    while let Some(path) = open.pop() {
        if path.is_dir() && !path.ends_with("tests") {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            collect(&path, &mut codes);
        }
    }
    codes
}

fn collect(path: &PathBuf, codes: &mut BTreeSet<String>) {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    for call in ["Diagnostic::reported_error(", "Diagnostic::reported_warning("] {
        for part in text.split(call).skip(1) {
            let literal = part
                .trim_start()
                .strip_prefix('"')
                .and_then(|rest| rest.split('"').next());
            codes.extend(literal.filter(|code| code.contains('-')).map(str::to_string));
        }
    }
}

#[test]
fn every_code_of_the_host_is_explained() {
    let list = host(&root(), ["explain"]).unwrap();
    assert_eq!(list.code, 0, "{}", list.stderr);
    let explained: BTreeSet<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let missing: Vec<String> = codes()
        .into_iter()
        .filter(|code| !explained.contains(code.as_str()))
        .collect();
    assert!(missing.is_empty(), "no explanation of: {missing:?}");
}

#[test]
fn a_code_is_explained_and_a_wrong_one_gets_a_hint() {
    let known = host(&root(), ["explain", "ops-missing-key"]).unwrap();
    assert!(
        known.code == 0 && known.stdout.starts_with("ops-missing-key: "),
        "{known:?}"
    );
    let unknown = host(&root(), ["explain", "ops-mising-key"]).unwrap();
    assert!(
        unknown.code == 1 && unknown.stderr.contains("near it: ops-missing-key"),
        "{unknown:?}"
    );
}
