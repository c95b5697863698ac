//! The `variables` section as the director reads it: checked in its order, with its messages; the first error ends it.

use crate::{codes, names};
use boson_contract::variables::Definition;
use boson_document::{Diagnostic, Map, Pointer, Report, Tree};
use boson_manifest::redacted;
use boson_manifest::types::Type;
use std::collections::HashSet;

/// Known keys of an entry.
const KEYS: [&str; 6] = ["name", "type", "options", "consumes", "update_mode", "update"];

/// Consumers that a certificate can have.
const CONSUMERS: [&str; 2] = ["alternative_name", "common_name"];

/// Reads the section. Errors are reported; the definitions are valid only without errors.
pub fn read(document: &Tree, report: &mut Report) -> Vec<Definition> {
    let place = Pointer::root().at("variables");
    let section = match document.get("variables") {
        None => return Vec::new(),
        Some(Tree::Array(entries)) => entries,
        Some(other) => {
            let message = Type::Array.mismatch("variables", other);
            report.error(codes::MALFORMED_SECTION, place, message);
            return Vec::new();
        }
    };
    match entries(section, &place).and_then(|entries| check(&entries).map(|()| entries)) {
        Err(diagnostic) => {
            report.push(diagnostic);
            Vec::new()
        }
        Ok(entries) => {
            entries.iter().for_each(|entry| entry.review(report));
            entries.into_iter().map(Entry::into_definition).collect()
        }
    }
}

struct Entry<'d> {
    map: &'d Map,
    name: &'d str,
    kind: &'d str,
    place: Pointer,
}

fn entries<'d>(section: &'d [Tree], place: &Pointer) -> Result<Vec<Entry<'d>>, Diagnostic> {
    let mut maps = Vec::with_capacity(section.len());
    for (index, entry) in section.iter().enumerate() {
        let place = place.at(index);
        let Some(map) = entry.as_map() else {
            return Err(
                Diagnostic::error(codes::MALFORMED_SECTION, "All 'variables' elements should be Hashes").at(place),
            );
        };
        maps.push((map, place));
    }
    maps.into_iter().map(|(map, place)| Entry::read(map, place)).collect()
}

/// Checks entry by entry, one kind of check after the other.
fn check(entries: &[Entry<'_>]) -> Result<(), Diagnostic> {
    entries.iter().try_for_each(Entry::check_consumes)?;
    check_duplicates(entries)?;
    entries.iter().try_for_each(Entry::check_options)?;
    entries.iter().try_for_each(Entry::check_update_mode)
}

fn check_duplicates(entries: &[Entry<'_>]) -> Result<(), Diagnostic> {
    let mut later = HashSet::new();
    let doubled = entries.iter().rev().filter(|entry| !later.insert(entry.name)).last();
    match doubled {
        None => Ok(()),
        Some(entry) => {
            let message = format!("Some of the variables have duplicate names, eg: '{}'", entry.name);
            Err(Diagnostic::error(codes::DUPLICATE_NAME, message).at(entry.place.clone()))
        }
    }
}

fn invalid<T>(place: Pointer, message: String) -> Result<T, Diagnostic> {
    Err(Diagnostic::error(codes::INVALID_DEFINITION, message).at(place))
}

// === impl Entry ===

impl<'d> Entry<'d> {
    fn read(map: &'d Map, place: Pointer) -> Result<Self, Diagnostic> {
        let name = match map.get("name") {
            None => {
                let message = "At least one of the variables is missing the 'name' key; 'name' must be specified";
                return invalid(place, message.into());
            }
            Some(Tree::String(name)) if !name.trim().is_empty() => name,
            Some(Tree::Null | Tree::Bool(false) | Tree::String(_)) => {
                let why = "has an empty 'name'; 'name' must not be empty or nil";
                return invalid(place.at("name"), format!("At least one of the variables {why}"));
            }
            Some(other) => {
                let why = format!("has a 'name' that is no String: '{}'", redacted::member("name", other));
                return invalid(place.at("name"), format!("At least one of the variables {why}"));
            }
        };
        let (at, about) = (place.at("type"), format!("Type for variable '{name}'"));
        match map.get("type") {
            None => invalid(place, format!("{about} is missing; 'type' must be specified")),
            Some(Tree::Null) => invalid(at, format!("{about} is nil; 'type' must not be nil")),
            Some(Tree::String(kind)) if kind.trim().is_empty() => {
                invalid(at, format!("{about} is empty; 'type' must not be empty"))
            }
            Some(Tree::String(kind)) => Ok(Self { map, name, kind, place }),
            Some(other) => {
                let shown = redacted::member("type", other);
                invalid(at, format!("{about} must be a String, but was '{shown}'"))
            }
        }
    }

    fn given(&self, key: &str) -> Option<&'d Tree> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn check_consumes(&self) -> Result<(), Diagnostic> {
        if self
            .given("consumes")
            .is_none_or(|consumes| consumes.as_map().is_some())
        {
            return Ok(());
        }
        let message = format!("Consumes for variable '{}' must be a Hash or nil", self.name);
        invalid(self.place.at("consumes"), message)
    }

    fn check_options(&self) -> Result<(), Diagnostic> {
        let is_valid = |options: &Tree| options.as_map().is_some() || *options == Tree::Bool(false);
        if self.given("options").is_none_or(is_valid) {
            return Ok(());
        }
        let message = format!("options of variable with name '{}' is not a Hash", self.name);
        invalid(self.place.at("options"), message)
    }

    fn check_update_mode(&self) -> Result<(), Diagnostic> {
        let Some(mode) = self.given("update_mode").filter(|mode| mode.as_str().is_none()) else {
            return Ok(());
        };
        let (name, shown) = (self.name, redacted::member("update_mode", mode));
        let message = format!("Update mode for variable '{name}' must be a String, but was '{shown}'");
        invalid(self.place.at("update_mode"), message)
    }

    /// Checks that the director does later (links, then generation) or not at all.
    fn review(&self, report: &mut Report) {
        if let Err(error) = names::in_section(self.name) {
            report.push(error.at(&self.place.at("name")));
        }
        self.review_consumers(report);
        for key in self.map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let message = format!(
                "Variable '{}' has a key that has no effect: '{}'",
                self.name,
                key.replace('\0', "")
            );
            report
                .warning(codes::UNUSED_KEY, self.place.at(key), message)
                .suggest(key, KEYS);
        }
    }

    fn review_consumers(&self, report: &mut Report) {
        let Some(consumers) = self.given("consumes").and_then(Tree::as_map) else {
            return;
        };
        let place = self.place.at("consumes");
        if self.kind != "certificate" {
            let (name, kind) = (self.name, self.kind);
            let message = format!("Variable '{name}' can not define 'consumes' key for type '{kind}'");
            report.error(codes::INVALID_CONSUMER, place, message);
            return;
        }
        for (consumer, details) in consumers {
            let known = CONSUMERS.contains(&consumer.as_str());
            if known && details.as_map().is_some() {
                continue;
            }
            let message = if known {
                format!("Consumer '{consumer}' of variable '{}' must be a Hash", self.name)
            } else {
                let acceptable = "Acceptable consumer types are: alternative_name, common_name";
                format!(
                    "Consumer name '{consumer}' is not a valid consumer for variable '{}'. {acceptable}",
                    self.name
                )
            };
            report
                .error(codes::INVALID_CONSUMER, place.at(consumer), message)
                .suggest(consumer, CONSUMERS);
        }
    }

    fn into_definition(self) -> Definition {
        let any = |key| {
            self.given(key)
                .filter(|value| **value != Tree::Bool(false))
                .cloned()
                .unwrap_or_default()
        };
        Definition {
            options: any("options"),
            consumes: any("consumes"),
            update_mode: self.map.get("update_mode").and_then(Tree::as_str).map(str::to_string),
            name: self.name.to_string(),
            kind: Some(self.kind.to_string()),
            pointer: self.place.to_string(),
        }
    }
}
