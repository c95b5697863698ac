//! A way to write objects down in the shape that they have.

/// A tree of the members given: `object! { "name" => name, "optional" => Option, }`.
macro_rules! object {
    ($($key:expr => $value:expr),* $(,)?) => {
        [$((String::from($key), boson_document::Tree::from($value))),*].into_iter().collect::<boson_document::Tree>()
    };
}

pub(crate) use object;

use boson_document::Tree;

/// Members that are null, empty lists or empty objects are left out.
pub fn compact(tree: Tree) -> Tree {
    match tree {
        Tree::Object(mut map) => {
            map.retain(|_, value| !is_empty(value));
            Tree::Object(map)
        }
        other => other,
    }
}

fn is_empty(value: &Tree) -> bool {
    match value {
        Tree::Null => true,
        Tree::Array(items) => items.is_empty(),
        Tree::Object(map) => map.is_empty(),
        _ => false,
    }
}
