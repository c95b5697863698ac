//! Checks whole documents that a plugin returns: a value that it had no reason to change is still the same.
//!
//! Languages without exact numbers lose digits of a document that they only pass on: `12345678901234567890` becomes
//! `12345678901234567000`. The author of a plugin does not notice, so the host checks.

use boson_document::{Pointer, Tree};
use boson_pipeline::stage::{Named, Origin};
use std::collections::BTreeMap;

/// Values that are compared in one reply.
const MAX_COMPARED_VALUES: usize = 5_000_000;

/// Finds a value of the reply of `ops.apply` that differs from its origin: the same place of the manifest, or what
/// `origins` names. Returns its place.
pub(crate) fn changed_by_apply(
    result: &Tree,
    manifest: Named<'_>,
    files: &[Named<'_>],
    origins: &[Origin],
) -> Option<String> {
    let mut known = Origins::default();
    for origin in origins {
        let document = std::iter::once(&manifest)
            .chain(files)
            .find(|one| one.name == origin.document);
        let source = document.zip(Pointer::parse(&origin.source));
        let value = source.and_then(|(document, source)| source.find(document.tree));
        if let Some(place) = Pointer::parse(&origin.pointer) {
            known.add(place.tokens(), value);
        }
    }
    let mut check = Check::default();
    check.value(result, Some(manifest.tree), Some(&known), false);
    check.differs
}

/// Finds a value of the reply of `variables.interpolate` that differs from the document although it has no placeholder.
/// The entries of `variables` are not compared, because some are taken out. Returns its place.
pub(crate) fn changed_by_interpolate(result: &Tree, document: &Tree) -> Option<String> {
    let mut check = Check::default();
    check.compare_interpolated(result, document);
    check.differs
}

/// The origins of a document's parts, by place.
#[derive(Default)]
struct Origins<'t> {
    /// Set where `origins` names a source; the source may have no such value.
    source: Option<Option<&'t Tree>>,
    below: BTreeMap<String, Origins<'t>>,
}

#[derive(Default)]
struct Check {
    place: Pointer,
    compared: usize,
    differs: Option<String>,
}

// === impl Origins ===

impl<'t> Origins<'t> {
    fn add(&mut self, place: &[String], source: Option<&'t Tree>) {
        match place {
            [] => self.source = Some(source),
            [first, rest @ ..] => self.below.entry(first.clone()).or_default().add(rest, source),
        }
    }
}

// === impl Check ===

impl Check {
    fn has_ended(&mut self) -> bool {
        self.compared += 1;
        self.differs.is_some() || self.compared > MAX_COMPARED_VALUES
    }

    fn report(&mut self) {
        self.differs = Some(self.place.to_string());
    }

    /// `is_new`: the value has an origin of its own, so that a plugin may have computed it. Then only a number that
    /// equals its origin except for lost digits is an error.
    fn value(&mut self, value: &Tree, source: Option<&Tree>, origins: Option<&Origins<'_>>, is_new: bool) {
        if self.has_ended() {
            return;
        }
        let (source, is_new) = match origins.and_then(|origins| origins.source) {
            Some(source) => (source, true),
            None => (source, is_new),
        };
        let below = |token: &str| origins.and_then(|origins| origins.below.get(token));
        match value {
            Tree::Object(map) => {
                for (name, value) in map {
                    let source = source.and_then(|source| source.get(name));
                    self.at(name, |check| check.value(value, source, below(name), is_new));
                }
            }
            Tree::Array(items) => {
                let sources = source.and_then(Tree::as_array).map_or(&[][..], Vec::as_slice);
                for (nth, value) in items.iter().enumerate() {
                    let token = nth.to_string();
                    self.at(&token, |check| {
                        check.value(value, sources.get(nth), below(&token), is_new);
                    });
                }
            }
            leaf => {
                let is_same = match (source, is_new) {
                    (Some(source), false) => leaf == source,
                    (Some(source), true) => !lost_digits(leaf, source),
                    (None, is_new) => is_new,
                };
                if !is_same {
                    self.report();
                }
            }
        }
    }

    fn compare_interpolated(&mut self, result: &Tree, document: &Tree) {
        if self.has_ended() {
            return;
        }
        match (result, document) {
            (Tree::Object(result), Tree::Object(document)) => {
                for (name, document) in document {
                    let is_list_of_variables = self.place.tokens().is_empty() && name == "variables";
                    if is_list_of_variables {
                        continue;
                    }
                    match result.get(name) {
                        Some(result) => self.at(name, |check| check.compare_interpolated(result, document)),
                        None if name.contains("((") => {}
                        None => self.at(name, Self::report),
                    }
                }
            }
            (Tree::Array(result), Tree::Array(document)) if result.len() == document.len() => {
                for (nth, (result, document)) in result.iter().zip(document).enumerate() {
                    self.at(&nth.to_string(), |check| check.compare_interpolated(result, document));
                }
            }
            (_, Tree::String(text)) if text.contains("((") => {}
            (result, document) if result == document => {}
            _ => self.report(),
        }
    }

    fn at(&mut self, token: &str, check: impl FnOnce(&mut Self)) {
        self.place.push(token);
        check(self);
        self.place.pop();
    }
}

/// Whether the value is the source as a number of 64 bits has it, and not its own text.
fn lost_digits(value: &Tree, source: &Tree) -> bool {
    match (value, source) {
        (Tree::Number(value), Tree::Number(source)) => {
            value.text() != source.text() && value.as_f64().total_cmp(&source.as_f64()).is_eq()
        }
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use boson_document::json;

    fn tree(text: &str) -> Tree {
        json::parse(text).unwrap()
    }

    fn of_ops(result: &str, origins: &[(&str, &str, &str)]) -> Option<String> {
        let manifest = tree(r#"{"a":12345678901234567890,"b":{"c":1.10},"l":[1,2]}"#);
        let file = tree(r#"[{"value":12345678901234567891}]"#);
        let origin = |(pointer, document, source): &(&str, &str, &str)| Origin {
            pointer: (*pointer).into(),
            document: (*document).into(),
            source: (*source).into(),
        };
        let origins: Vec<Origin> = origins.iter().map(origin).collect();
        let named = |name, tree| Named { name, tree };
        changed_by_apply(&tree(result), named("m", &manifest), &[named("o", &file)], &origins)
    }

    #[test]
    fn only_what_origins_name_may_change() {
        let same = r#"{"a":12345678901234567890,"b":{"c":1.10},"l":[1,2]}"#;
        assert_eq!(of_ops(same, &[]), None);
        let rounded = r#"{"a":12345678901234567000,"b":{"c":1.10},"l":[1,2]}"#;
        assert_eq!(of_ops(rounded, &[]), Some("/a".into()));
        assert_eq!(of_ops(r#"{"b":{"c":1.1}}"#, &[]), Some("/b/c".into()));
        assert_eq!(of_ops(r#"{"b":{"new":1}}"#, &[]), Some("/b/new".into()));
        assert_eq!(of_ops(r#"{"l":[2]}"#, &[]), Some("/l/0".into()));
        assert_eq!(of_ops(r#"{"l":[2]}"#, &[("/l/0", "m", "/l/1")]), None);
    }

    #[test]
    fn a_computed_value_names_its_origin_and_keeps_the_digits_of_a_copied_one() {
        let origin = &[("/a", "o", "/0/value")][..];
        assert_eq!(of_ops(r#"{"a":12345678901234567891}"#, origin), None);
        assert_eq!(of_ops(r#"{"a":7}"#, origin), None);
        assert_eq!(of_ops(r#"{"a":12345678901234567000}"#, origin), Some("/a".into()));
    }

    #[test]
    fn only_placeholders_are_replaced() {
        let document = tree(r#"{"a":1.10,"b":"x((y))","((k))":2,"variables":[{"name":"y"}],"l":["((z))",3]}"#);
        let result = |text: &str| changed_by_interpolate(&tree(text), &document);
        assert_eq!(
            result(r#"{"a":1.10,"b":"xv","key":2,"variables":[],"l":[{"n":1},3]}"#),
            None
        );
        assert_eq!(result(r#"{"a":1.1,"b":"xv","key":2,"l":[1,3]}"#), Some("/a".into()));
        assert_eq!(result(r#"{"a":1.10,"b":"xv","key":2,"l":[1,4]}"#), Some("/l/1".into()));
        assert_eq!(result(r#"{"a":1.10,"b":"xv","key":2,"l":[1]}"#), Some("/l".into()));
        assert_eq!(result(r#"{"b":"xv","key":2,"l":[1,3]}"#), Some("/a".into()));
    }
}
