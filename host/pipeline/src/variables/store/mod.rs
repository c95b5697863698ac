//! The store of generated values: a YAML file, name to value. Nothing is ever removed, and a value changes only if the
//! variable's update mode asks for it.

pub(super) mod recipes;

use crate::diagnostic::Diagnostic;
use crate::variables::given::names;
use crate::yaml::Document;
use boson_document::{Map, Tree};
use recipes::Recipes;
use std::collections::BTreeSet;

/// Values by name, in the order of the file; new ones are appended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    values: Map,
    generated: BTreeSet<String>,
    /// How they were generated.
    pub recipes: Recipes,
}

// === impl Store ===

impl Store {
    /// Reads the values of a file. Names with dots are not split here.
    ///
    /// # Errors
    /// The document is not a mapping.
    pub fn read(document: &Document) -> Result<Self, Diagnostic> {
        let context = format!("Deserializing variables file store '{}'", document.name);
        Ok(Self {
            values: names::members(document, &context)?,
            ..Self::default()
        })
    }

    /// A store of an object of name -> value.
    pub fn of(values: &Tree) -> Self {
        Self {
            values: values.as_object().cloned().unwrap_or_default(),
            ..Self::default()
        }
    }

    pub fn get(&self, name: &str) -> Option<&Tree> {
        self.values.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Sets a generated value; an existing one is replaced.
    pub fn put(&mut self, name: &str, value: Tree) {
        self.values.insert(name.to_string(), value);
        self.generated.insert(name.to_string());
    }

    /// Adds the generated values to the current content of the file, which another process may have changed: if both
    /// have a value, the file's wins.
    #[must_use]
    pub fn merge_into(self, mut current: Self) -> Self {
        for name in &self.generated {
            if let (None, Some(value)) = (current.get(name), self.get(name)) {
                current.put(name, value.clone());
                current.recipes.copy_from(name, &self.recipes);
            }
        }
        current
    }

    /// Whether a value was generated. Only then is the file to be written, even if the flow failed afterwards: the
    /// generated values would be lost otherwise.
    pub fn changed(&self) -> bool {
        !self.generated.is_empty()
    }

    /// New content of the file.
    pub fn to_tree(&self) -> Tree {
        Tree::Object(self.values.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn values_keep_their_place_and_new_ones_come_last() {
        let mut store = Store::read(&yaml::read("s.yml", "a: 1\nn: 2\nx.y: 3\n").unwrap()).unwrap();
        assert!(!store.changed());
        store.put("b", Tree::from("new"));
        store.put("a", Tree::from("other"));
        assert!(store.changed());
        assert_eq!(store.get("a"), Some(&Tree::from("other")));
        assert_eq!(store.names().collect::<Vec<_>>(), ["a", "n", "x.y", "b"]);
        assert_eq!(store.get("x"), None);
    }

    #[test]
    fn a_value_that_is_in_the_file_by_now_wins() {
        let read = |text: &str| Store::read(&yaml::read("s.yml", text).unwrap()).unwrap();
        let mut store = read("a: 1\n");
        for name in ["b", "c"] {
            store.put(name, Tree::from("generated"));
            store
                .recipes
                .record(name, "password", &Tree::Null, &Tree::from("generated"));
        }
        let merged = store.merge_into(read("a: 2\nb: theirs\nd: 4\n"));
        assert_eq!(yaml::write(&merged.to_tree()), "a: 2\nb: theirs\nc: generated\nd: 4\n");
        assert!(merged.changed() && merged.recipes.changed());
        let generated = Tree::from("generated");
        assert!(merged.recipes.contains("c", &generated) && !merged.recipes.contains("b", &generated));
        assert!(!read("a: 1\n").merge_into(read("a: 2\n")).changed());
    }

    #[test]
    fn only_a_mapping_is_a_store() {
        let error = Store::read(&yaml::read("s.yml", "[]").unwrap()).unwrap_err();
        assert!(
            error
                .message
                .starts_with("Deserializing variables file store 's.yml': "),
            "{}",
            error.message
        );
        assert_eq!(
            Store::read(&yaml::read("s.yml", "---\n").unwrap()).unwrap(),
            Store::default()
        );
    }
}
