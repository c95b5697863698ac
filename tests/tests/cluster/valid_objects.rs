//! The output of `host convert` is valid for a real API server: every field is known, every value allowed.

use anyhow::Result;
use boson_tests::cluster::{Cluster, shared};
use boson_tests::golden::cases;
use std::fs;

#[test]
fn every_golden_conversion_is_accepted_with_strict_validation() {
    let cluster = shared().unwrap();
    let mut refused = Vec::new();
    let mut accepted = 0;
    for case in cases().unwrap() {
        let Ok(objects) = fs::read_to_string(case.folder.join("expected.yml")) else {
            continue;
        };
        if !is_conversion(&case.arguments().unwrap()) || objects.is_empty() {
            continue;
        }
        match dry_run(cluster, &objects).unwrap() {
            None => accepted += 1,
            Some(error) => refused.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(accepted >= 7, "only {accepted} conversions were tried");
}

#[test]
fn a_field_that_does_not_exist_is_refused() {
    // Proves that the other test checks anything.
    let wrong = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 1}], selectors: {}}\n";
    let cluster = shared().unwrap();
    let error = dry_run(cluster, wrong).unwrap().unwrap();
    assert!(error.contains("selectors"), "{error}");
}

/// Whether `host` is asked for plain objects: the operator's own kinds need its CustomResourceDefinitions.
fn is_conversion(arguments: &str) -> bool {
    arguments.starts_with("convert\n") && !arguments.contains("quarks")
}

/// The errors of an API server that is asked whether it would accept these objects; none if it would.
pub fn dry_run(cluster: &Cluster, objects: &str) -> Result<Option<String>> {
    let arguments = [
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=strict",
        "--filename=-",
    ];
    let answer = cluster.try_kubectl(arguments, objects)?;
    Ok((!answer.success).then_some(answer.stderr))
}
