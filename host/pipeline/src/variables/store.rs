//! The store of generated values: a YAML file, name to value, of which nothing is ever changed or removed.

use super::names;
use crate::diagnostic::Diagnostic;
use crate::yaml::Document;
use boson_document::{Map, Tree};

/// Values by name, in the order of the file; new ones at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    values: Map,
    changed: bool,
}

// === impl Store ===

impl Store {
    /// An empty one, for a file that does not exist yet.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Takes the values of a file. Names with dots are names with dots here.
    ///
    /// # Errors
    /// A document that is no mapping.
    pub fn read(document: &Document) -> Result<Self, Diagnostic> {
        let context = format!("Deserializing variables file store '{}'", document.name);
        Ok(Self {
            values: names::members(document, &context)?,
            changed: false,
        })
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        self.values.get(name)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Adds a value that was generated; one that is there already stays as it is.
    pub fn add(&mut self, name: &str, value: Tree) {
        if !self.values.contains_key(name) {
            self.values.insert(name.to_string(), value);
            self.changed = true;
        }
    }

    /// Has something been generated? Only then the file is to be written, also where the flow failed afterwards: what
    /// was generated would be lost else.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// What the file is to hold.
    pub fn to_tree(&self) -> Tree {
        Tree::Object(self.values.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn what_is_there_is_never_changed() {
        let mut store = Store::read(&yaml::read("s.yml", "a: 1\nn: 2\nx.y: 3\n").unwrap()).unwrap();
        store.add("a", Tree::from("new"));
        assert!(!store.changed());
        assert_eq!(store.get("a"), Some(&Tree::from(1_i64)));
        store.add("b", Tree::from("new"));
        assert!(store.changed());
        assert_eq!(store.names().collect::<Vec<_>>(), ["a", "n", "x.y", "b"]);
        assert_eq!(store.get("x"), None);
    }

    #[test]
    fn only_a_mapping_is_a_store() {
        let told = Store::read(&yaml::read("s.yml", "[]").unwrap()).unwrap_err();
        assert!(
            told.message.starts_with("Deserializing variables file store 's.yml': "),
            "{}",
            told.message
        );
        assert_eq!(
            Store::read(&yaml::read("s.yml", "---\n").unwrap()).unwrap(),
            Store::empty()
        );
    }
}
