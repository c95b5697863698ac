//! How values of the store were generated: type and options of each, with a digest of the value. Stored in a file
//! beside the store, because the store has the format of the bosh command line. The update mode `converge` compares
//! with them.

use crate::diagnostic::Diagnostic;
use crate::digest::sha256;
use crate::variables::codes;
use crate::yaml::Document;
use boson_document::{Map, Tree, go, json};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipes {
    entries: Map,
    changed: bool,
}

// === impl Recipes ===

impl Recipes {
    /// Reads the recipes of a file.
    ///
    /// # Errors
    /// The document is not a mapping.
    pub fn read(document: &Document) -> Result<Self, Diagnostic> {
        let entries = match &document.tree {
            Tree::Null => Map::new(),
            tree => tree.as_map().cloned().ok_or_else(|| {
                let message = format!("'{}' is {}, not a map", document.name, go::type_name(tree));
                Diagnostic::error(codes::VARIABLES_MALFORMED_FILE, message)
                    .in_document(&document.name)
                    .at("")
                    .help("this program writes the file; if you delete it, existing values are retained even if their options change")
            })?,
        };
        Ok(Self {
            entries,
            changed: false,
        })
    }

    /// Records how a value was generated.
    pub fn record(&mut self, name: &str, kind: &str, options: &Tree, value: &Tree) {
        let recipe = recipe(kind, options).with("value", digest(value));
        self.entries.insert(name.to_string(), recipe);
        self.changed = true;
    }

    /// Copies the recipe of this name from `others`.
    pub fn copy_from(&mut self, name: &str, others: &Self) {
        if let Some(recipe) = others.entries.get(name) {
            self.entries.insert(name.to_string(), recipe.clone());
            self.changed = true;
        }
    }

    /// Whether exactly this value was generated from another type or other options. For a value from elsewhere this is
    /// unknown: no.
    pub fn differ(&self, name: &str, kind: &str, options: &Tree, value: &Tree) -> bool {
        let Some(held) = self.entries.get(name).filter(|held| made(held, value)) else {
            return false;
        };
        let wanted = recipe(kind, options);
        ["type", "options"].iter().any(|key| held.get(key) != wanted.get(key))
    }

    /// Whether there is a recipe of exactly this value.
    pub fn contains(&self, name: &str, value: &Tree) -> bool {
        self.entries.get(name).is_some_and(|held| made(held, value))
    }

    /// Whether the file has to be written.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// New content of the file.
    pub fn to_tree(&self) -> Tree {
        Tree::Object(self.entries.clone())
    }
}

fn recipe(kind: &str, options: &Tree) -> Tree {
    let options = if options.is_null() {
        Tree::object()
    } else {
        options.clone()
    };
    Tree::object().with("type", kind).with("options", options)
}

fn made(recipe: &Tree, value: &Tree) -> bool {
    recipe.str("value") == Some(digest(value).as_str())
}

/// Digest of the value, independent of the order of its members, because users sort files.
fn digest(value: &Tree) -> String {
    let mut value = value.clone();
    if let Tree::Object(members) = &mut value {
        members.sort_keys();
    }
    format!("sha256:{}", sha256(json::to_text(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    #[test]
    fn only_a_value_with_its_own_recipe_can_differ() {
        let tree = |text: &str| json::parse(text).unwrap();
        let (options, value) = (tree(r#"{"length": 3, "x": 1}"#), tree(r#"{"a": "1", "b": "2"}"#));
        let mut recipes = Recipes::default();
        assert!(
            !recipes.differ("v", "user", &options, &value),
            "it is unknown how it was made"
        );
        recipes.record("v", "user", &options, &value);
        let text = yaml::write(&recipes.to_tree());
        let recipes = Recipes::read(&yaml::read("s.yml.options", &text).unwrap()).unwrap();
        for (kind, options, value, wanted) in [
            ("user", r#"{"x": 1, "length": 3}"#, r#"{"b": "2", "a": "1"}"#, false),
            ("user", r#"{"length": 4, "x": 1}"#, r#"{"a": "1", "b": "2"}"#, true),
            ("rsa", r#"{"x": 1, "length": 3}"#, r#"{"a": "1", "b": "2"}"#, true),
            ("user", "null", r#"{"a": "1", "b": "2"}"#, true),
            ("user", "null", r#"{"a": "by hand", "b": "2"}"#, false),
        ] {
            assert_eq!(
                recipes.differ("v", kind, &tree(options), &tree(value)),
                wanted,
                "{options}"
            );
        }
        assert!(!text.contains("\"1\""), "the value itself is not in it");
    }

    #[test]
    fn no_options_are_the_empty_ones() {
        let mut recipes = Recipes::default();
        recipes.record("v", "rsa", &Tree::Null, &Tree::from("x"));
        assert!(!recipes.differ("v", "rsa", &Tree::object(), &Tree::from("x")));
        assert!(Recipes::read(&yaml::read("s.yml.options", "[]").unwrap()).is_err());
    }
}
