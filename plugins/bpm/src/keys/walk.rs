//! Tables of keys, applied to a document: types, required keys, fates.

use super::{Fate, Key, MANIFEST};
use crate::codes;
use boson_document::{Place, Report, Tree, escape, go, ruby};
use boson_manifest::types::{self, Type};

/// Applies a table to a value.
pub fn walk(table: &'static [Key], tree: &Tree, place: &Place, report: &mut Report) {
    walk_answered(table, &[], tree, place, report);
}

/// As [`walk`], but without warnings for the `answered` keys, which have an effect here.
pub fn walk_answered(
    table: &'static [Key],
    answered: &'static [&'static str],
    tree: &Tree,
    place: &Place,
    report: &mut Report,
) {
    Walk {
        table,
        answered,
        report,
    }
    .object("", tree, place);
}

struct Walk<'r> {
    table: &'static [Key],
    answered: &'static [&'static str],
    report: &'r mut Report,
}

// === impl Walk ===

impl Walk<'_> {
    /// An object whose members' paths begin with `prefix`.
    fn object(&mut self, prefix: &str, tree: &Tree, place: &Place) {
        let Some(map) = tree.as_object().filter(|_| Type::Hash.takes(tree)) else {
            self.report.error(codes::WRONG_TYPE, place, types::not_a_hash(tree));
            return;
        };
        for (name, value) in map {
            let place = place.at(name);
            match find(self.table, prefix, name) {
                Some(Key {
                    fate: Fate::Refused(words),
                    ..
                }) => {
                    let words = words.replace("{name}", &ruby::member(tree, "name").unwrap_or_default());
                    self.report.error(codes::REFUSED_KEY, &place, words);
                }
                Some(key) => self.member(key, name, value, &place),
                None => {
                    let text = format!("Key '{}' is not known and has no effect", plain(name));
                    self.report.warning(codes::UNKNOWN_KEY, &place, text);
                }
            }
        }
        for key in self.table.iter().filter(|key| key.required) {
            let below = key.path.strip_prefix(prefix).filter(|name| !name.contains(['.', '[']));
            if let Some(name) = below.filter(|name| !map.contains_key(*name)) {
                self.report.error(codes::MISSING_KEY, place, types::missing(name, map));
            }
        }
    }

    fn member(&mut self, key: &'static Key, name: &str, value: &Tree, place: &Place) {
        let name = plain(name);
        if let Fate::Warned(why) = key.fate
            && !self.answered.contains(&key.path)
        {
            self.report
                .warning(codes::IGNORED_KEY, place, format!("Key '{name}' has no effect: {why}"));
        }
        if key.kind.takes(value) {
            self.below(key.path, value, place);
        } else {
            self.report
                .error(codes::WRONG_TYPE, place, key.kind.mismatch(&name, value));
        }
    }

    /// What is below a key that has the right type.
    fn below(&mut self, path: &str, value: &Tree, place: &Place) {
        let (members, items) = (format!("{path}."), format!("{path}[]."));
        let table = self.table;
        let has = |prefix: &str| table.iter().any(|key| key.path.starts_with(prefix));
        match value {
            Tree::Object(_) if has(&members) => self.object(&members, value, place),
            Tree::Array(list) if has(&items) => {
                for (index, item) in list.iter().enumerate() {
                    self.object(&items, item, &place.at(index));
                }
            }
            _ => {}
        }
    }
}

/// The entry for a member of the object whose members' paths begin with `prefix`: by name, or the `*` of that object.
fn find(table: &'static [Key], prefix: &str, name: &str) -> Option<&'static Key> {
    let under = |token: &str| table.iter().find(|key| key.path.strip_prefix(prefix) == Some(token));
    under(name).filter(|_| name != "*").or_else(|| under("*"))
}

/// A key as in YAML: the text of a key that is not a string.
fn plain(name: &str) -> String {
    go::text(&escape::unkey(name)).unwrap_or_else(|| "...".into())
}

/// The members of `features`, for which BOSH has other messages.
pub fn features(features: &Tree, place: &Place, report: &mut Report) {
    for (name, value) in features.as_object().into_iter().flatten() {
        let known = find(MANIFEST, "features.", name).is_some();
        if known && value.as_bool().is_none() {
            let class = ruby::class(value);
            let text = format!("Key '{name}' in 'features' expected to be a boolean, but received '{class}'");
            report.error(codes::WRONG_TYPE, &place.at(name), text);
        }
    }
    for key in ["use_dns_addresses", "use_short_dns_addresses"] {
        let is = |key: &str, value: bool| features.get(key) == Some(&Tree::Bool(value));
        if is("use_link_dns_names", true) && is(key, false) {
            let text = format!("cannot enable `use_link_dns_names` when `{key}` is explicitly disabled");
            report.error(codes::BAD_VALUE, &place.at("use_link_dns_names"), text);
        }
    }
    if features.get("converge_variables") == Some(&Tree::Bool(false)) {
        let text = "Key 'converge_variables' has no effect when false: in a cluster a variable whose options change is made anew unless its own 'update_mode' says otherwise";
        report.warning(codes::IGNORED_KEY, &place.at("converge_variables"), text);
    }
    if features.get("use_dns_addresses") == Some(&Tree::Bool(false)) {
        let text = "Feature 'use_dns_addresses' cannot be false: addresses are always DNS names in Kubernetes";
        report.error(codes::REFUSED_KEY, &place.at("use_dns_addresses"), text);
    }
}
