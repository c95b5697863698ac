//! What a change does to generated values.

use crate::plain::secret::variable;
use boson_document::Tree;
use boson_manifest::labels::UPDATE_MODE;
use std::collections::{BTreeMap, BTreeSet};

/// The mode in which a value stays when its options change.
const NO_OVERWRITE: &str = "no-overwrite";

/// What happens with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableChange {
    /// A value is generated, if the user gives none.
    New,
    /// The manifest no longer has it. The operator retains its value.
    Removed,
    /// It gets another value.
    Regenerated,
    /// Its options differ, and its value stays.
    Kept,
}

// === impl VariableChange ===

impl VariableChange {
    /// As programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Removed => "removed",
            Self::Regenerated => "regenerated",
            Self::Kept => "kept",
        }
    }
}

/// The variables that differ, by name.
pub(super) fn variables(old: &[Tree], new: &[Tree]) -> BTreeMap<String, VariableChange> {
    let (before, after) = (by_variable(old), by_variable(new));
    let mut changes = BTreeMap::new();
    for (name, secret) in &after {
        let change = match before.get(name) {
            None => Some(VariableChange::New),
            Some(old) => changed(old, secret),
        };
        changes.extend(change.map(|change| (name.to_string(), change)));
    }
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    changes.extend(removed.map(|name| (name.to_string(), VariableChange::Removed)));
    sign_again(&after, &mut changes);
    changes
}

fn by_variable(objects: &[Tree]) -> BTreeMap<&str, &Tree> {
    let secrets = objects
        .iter()
        .filter(|object| object.str("kind") == Some("QuarksSecret"));
    secrets.filter_map(|secret| Some((variable(secret)?, secret))).collect()
}

fn changed(old: &Tree, new: &Tree) -> Option<VariableChange> {
    let differs = |key: &str| old.find(&["spec", key]) != new.find(&["spec", key]);
    if differs("type") {
        return Some(VariableChange::Regenerated);
    }
    let is_kept = mode(new) == Some(NO_OVERWRITE);
    let change = if is_kept {
        VariableChange::Kept
    } else {
        VariableChange::Regenerated
    };
    differs("request").then_some(change)
}

fn mode(secret: &Tree) -> Option<&str> {
    secret.get("metadata")?.get("annotations")?.str(UPDATE_MODE)
}

/// A certificate follows its CA in every mode, and a CA may have one itself.
fn sign_again(secrets: &BTreeMap<&str, &Tree>, changes: &mut BTreeMap<String, VariableChange>) {
    loop {
        let is_regenerated = |name: &str| {
            let change = changes.get(name);
            matches!(change, Some(VariableChange::Regenerated | VariableChange::New))
        };
        let of_regenerated: BTreeSet<&str> = secrets
            .iter()
            .filter(|(name, _)| is_regenerated(name))
            .filter_map(|(_, secret)| secret.get("spec")?.str("secretName"))
            .collect();
        let follows = |secret: &Tree| {
            let ca = secret.find(&["spec", "request", "certificate", "CARef", "name"]);
            ca.and_then(Tree::as_str).is_some_and(|ca| of_regenerated.contains(ca))
        };
        let signed: Vec<String> = secrets
            .iter()
            .filter(|(name, secret)| !is_regenerated(name) && follows(secret))
            .map(|(name, _)| name.to_string())
            .collect();
        if signed.is_empty() {
            return;
        }
        changes.extend(signed.into_iter().map(|name| (name, VariableChange::Regenerated)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::json::parse;

    fn secret(name: &str, kind: &str, request: &str, mode: &str) -> Tree {
        parse(&format!(
            r#"{{"kind": "QuarksSecret", "metadata": {{"annotations": {{"quarks.cloudfoundry.org/variable": "{name}",
                "{UPDATE_MODE}": "{mode}"}}}}, "spec": {{"type": "{kind}", "secretName": "s-{name}", "request": {request}}}}}"#,
        ))
        .unwrap()
    }

    #[test]
    fn values_follow_their_options_type_and_ca() {
        let leaf = r#"{"certificate": {"CARef": {"name": "s-ca"}}}"#;
        let old = [
            secret("ca", "certificate", r#"{"certificate": {"commonName": "a"}}"#, ""),
            secret("leaf", "certificate", leaf, ""),
            secret("pinned", "certificate", leaf, "no-overwrite"),
            secret("password", "password", r#"{"length": 1}"#, "no-overwrite"),
            secret("typed", "password", "{}", "no-overwrite"),
            secret("gone", "rsa", "{}", ""),
            secret("same", "rsa", "{}", ""),
        ];
        let new = [
            secret("ca", "certificate", r#"{"certificate": {"commonName": "b"}}"#, ""),
            secret("leaf", "certificate", leaf, ""),
            secret("pinned", "certificate", leaf, "no-overwrite"),
            secret("password", "password", r#"{"length": 2}"#, "no-overwrite"),
            secret("typed", "ssh", "{}", "no-overwrite"),
            secret("same", "rsa", "{}", ""),
            secret("added", "rsa", "{}", ""),
        ];
        let changes = variables(&old, &new);
        let found: Vec<(&str, VariableChange)> =
            changes.iter().map(|(name, change)| (name.as_str(), *change)).collect();
        let wanted = [
            ("added", VariableChange::New),
            ("ca", VariableChange::Regenerated),
            ("gone", VariableChange::Removed),
            ("leaf", VariableChange::Regenerated),
            ("password", VariableChange::Kept),
            ("pinned", VariableChange::Regenerated),
            ("typed", VariableChange::Regenerated),
        ];
        assert_eq!(found, wanted);
        assert!(variables(&new, &new).is_empty());
    }
}
