//! How the tests of this stage write their cases: JSON texts, one operation or path each.

#![allow(dead_code, reason = "not every test needs all of it")]

use boson_document::{Diagnostic, Tree, json};
use boson_ops::{Applied, OperationsFile, apply};

/// Name of the input document.
pub const DOCUMENT: &str = "manifest.yml";

/// Name of the ops file.
pub const FILE: &str = "ops.yml";

pub fn tree(text: &str) -> Tree {
    json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn file(operations: &str) -> OperationsFile {
    OperationsFile {
        name: FILE.to_string(),
        operations: tree(operations),
    }
}

/// Applies one list of operations.
pub fn run(document: &str, operations: &str) -> Result<Applied, Vec<Diagnostic>> {
    apply(tree(document), DOCUMENT, vec![file(operations)]).map(|(applied, _)| applied)
}

/// The result, or the words of the failure of the first operation.
pub fn outcome(document: &str, operations: &str) -> String {
    match run(document, operations) {
        Ok(applied) => json::to_text(&applied.document),
        Err(errors) => {
            let message = &errors[0].message;
            message
                .strip_prefix("Error 'operation [0] in ops.yml failed': ")
                .unwrap_or(message)
                .to_string()
        }
    }
}

pub fn replace(path: &str, value: &str) -> String {
    let path = json::to_text(&path.into());
    format!(r#"[{{"type": "replace", "path": {path}, "value": {value}}}]"#)
}

pub fn remove(path: &str) -> String {
    format!(r#"[{{"type": "remove", "path": {}}}]"#, json::to_text(&path.into()))
}

pub fn test(path: &str, value: &str) -> String {
    replace(path, value).replacen("replace", "test", 1)
}

pub fn test_absent(path: &str) -> String {
    format!(
        r#"[{{"type": "test", "path": {}, "absent": true}}]"#,
        json::to_text(&path.into())
    )
}
