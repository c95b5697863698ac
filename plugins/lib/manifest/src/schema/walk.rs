//! Applies a table of keys to a value: types, required keys, fates.

use super::{Codes, Fate, Key};
use crate::types::{self, Type};
use boson_document::{Place, Report, Tree, escape, go, ruby};

/// A table of keys that a stage applies.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    keys: &'static [Key],
    /// Keys that have an effect here, although the table warns of them.
    answered: &'static [&'static str],
    codes: &'static Codes,
}

struct Walk<'r> {
    schema: Schema,
    report: &'r mut Report,
}

// === impl Schema ===

impl Schema {
    /// A table, with the codes of the stage.
    pub const fn new(keys: &'static [Key], codes: &'static Codes) -> Self {
        Self {
            keys,
            answered: &[],
            codes,
        }
    }

    /// Without warnings for these keys, which have an effect here.
    #[must_use]
    pub const fn answering(self, answered: &'static [&'static str]) -> Self {
        Self { answered, ..self }
    }

    /// Names of the members of an object whose members' paths begin with `prefix`, except those that are refused.
    fn names(self, prefix: &str) -> impl Iterator<Item = &'static str> {
        let accepted = self.keys.iter().filter(|key| !matches!(key.fate, Fate::Refused(_)));
        let below = accepted.filter_map(move |key| key.path.strip_prefix(prefix));
        below.filter(|name| *name != "*" && !name.contains(['.', '[']))
    }

    /// Checks the types, the required keys and the fates of all keys of a value.
    pub fn check(self, tree: &Tree, place: &Place, report: &mut Report) {
        Walk { schema: self, report }.object("", tree, place);
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// An object whose members' paths begin with `prefix`.
    fn object(&mut self, prefix: &str, tree: &Tree, place: &Place) {
        let Some(map) = tree.as_object().filter(|_| Type::Hash.takes(tree)) else {
            self.report
                .error(self.schema.codes.wrong_type, place, types::not_a_hash(tree));
            return;
        };
        for (name, value) in map {
            let place = place.at(name);
            match find(self.schema.keys, prefix, name) {
                Some(Key {
                    fate: Fate::Refused(words),
                    ..
                }) => {
                    let words = words.replace("{key}", name);
                    let words = words.replace("{name}", &ruby::member(tree, "name").unwrap_or_default());
                    self.report.error(self.schema.codes.refused_key, &place, words);
                }
                Some(key) => self.member(key, name, value, &place),
                None => {
                    let text = format!("Key '{}' is not known and has no effect", plain(name));
                    let warning = self.report.warning(self.schema.codes.unknown_key, &place, text);
                    warning.suggest(name, self.schema.names(prefix));
                }
            }
        }
        for key in self.schema.keys.iter().filter(|key| key.required && !key.read) {
            let below = key.path.strip_prefix(prefix).filter(|name| !name.contains(['.', '[']));
            if let Some(name) = below.filter(|name| !map.contains_key(*name)) {
                self.report
                    .error(self.schema.codes.missing_key, place, types::missing(name, map));
            }
        }
    }

    fn member(&mut self, key: &'static Key, name: &str, value: &Tree, place: &Place) {
        let name = plain(name);
        if let Fate::Warned(why) = key.fate
            && !self.schema.answered.contains(&key.path)
        {
            let message = format!("Key '{name}' has no effect: {why}");
            self.report.warning(self.schema.codes.ignored_key, place, message);
        }
        if key.kind.takes(value) {
            self.below(key, value, place);
        } else if !key.read {
            self.report
                .error(self.schema.codes.wrong_type, place, key.kind.mismatch(&name, value));
        }
    }

    /// What is below a key that has the right type.
    fn below(&mut self, key: &'static Key, value: &Tree, place: &Place) {
        let (members, items) = (format!("{}.", key.path), format!("{}[].", key.path));
        let table = self.schema.keys;
        let has = |prefix: &str| table.iter().any(|key| key.path.starts_with(prefix));
        match value {
            Tree::Object(_) if has(&members) => self.object(&members, value, place),
            Tree::Array(list) if has(&items) => {
                // The reader of a list reports items that are no objects.
                let is_checked = |item: &Tree| !key.read || Type::Hash.takes(item);
                for (index, item) in list.iter().enumerate().filter(|(_, item)| is_checked(item)) {
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
    go::text(&escape::decode_key(name)).unwrap_or_else(|| "...".into())
}
