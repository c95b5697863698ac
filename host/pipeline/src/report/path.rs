//! Places as users write them in ops files: `/instance_groups/name=api/jobs/0`.

use boson_document::{Pointer, Tree, escape, json};

/// Longest name in a path, in characters.
const MAX_NAME_CHARS: usize = 64;

/// A pointer in the notation of ops files, as far as it exists in the tree. Items that have a name are written by name
/// instead of number.
pub(super) fn path(tree: &Tree, pointer: &Pointer) -> Option<String> {
    if pointer.tokens().is_empty() {
        return None;
    }
    let is_short = |name: &&str| !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS;
    let (mut tree, mut path) = (Some(tree), String::new());
    for token in pointer.tokens() {
        let below = match tree {
            Some(Tree::Array(items)) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
            Some(tree) => tree.get(token),
            None => None,
        };
        let name = match (tree, below) {
            (Some(Tree::Array(_)), Some(item)) => item.str("name").filter(is_short),
            _ => None,
        };
        path.push('/');
        match name {
            Some(name) => path.push_str(&format!("name={}", encoded(name))),
            None => path.push_str(&encoded(&readable(token))),
        }
        tree = below;
    }
    Some(path)
}

/// A member's name; for a key that is not a string, its kind.
fn readable(token: &str) -> String {
    match escape::decode_key(token) {
        Tree::String(text) => text,
        other => json::to_text(&other),
    }
}

fn encoded(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1").replace(':', "~7")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_written_by_name_if_they_have_one() {
        let tree = json::parse(r#"{"a/b":[{"name":"x:y","\u00007":[1]},{"name":""},{"name":7}]}"#).unwrap();
        for (pointer, named) in [
            ("/a~1b/0", "/a~1b/name=x~7y"),
            ("/a~1b/0/\u{0}7/0", "/a~1b/name=x~7y/7/0"),
            ("/a~1b/1/name", "/a~1b/1/name"),
            ("/a~1b/2", "/a~1b/2"),
            ("/missing/0", "/missing/0"),
        ] {
            let pointer = Pointer::parse(pointer).unwrap();
            assert_eq!(path(&tree, &pointer).as_deref(), Some(named));
        }
        assert_eq!(path(&tree, &Pointer::root()), None);
    }
}
