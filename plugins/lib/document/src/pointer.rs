//! RFC 6901 pointers: how diagnostics name a place in a document.

use crate::Tree;
use std::fmt;

/// A place in a document, as the list of its tokens (not escaped).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(Vec<String>);

// === impl Pointer ===

impl Pointer {
    /// The whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads the text form; `None` where it neither is empty nor begins with `/`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::root());
        }
        let tokens = text.strip_prefix('/')?.split('/');
        Some(Self(
            tokens
                .map(|token| token.replace("~1", "/").replace("~0", "~"))
                .collect(),
        ))
    }

    /// The place below, by member name or index.
    #[must_use]
    pub fn at(&self, token: impl ToString) -> Self {
        let mut tokens = self.0.clone();
        tokens.push(token.to_string());
        Self(tokens)
    }

    pub fn push(&mut self, token: impl ToString) {
        self.0.push(token.to_string());
    }

    /// Removes and returns the last token.
    pub fn pop(&mut self) -> Option<String> {
        self.0.pop()
    }

    /// The tokens, not escaped.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// This pointer's tokens after those of `prefix`, where it begins with them.
    pub fn below(&self, prefix: &Pointer) -> Option<&[String]> {
        self.0.strip_prefix(prefix.0.as_slice())
    }

    /// This place with more tokens.
    #[must_use]
    pub fn join(&self, tokens: &[impl ToString]) -> Self {
        let more = tokens.iter().map(ToString::to_string);
        Self(self.0.iter().cloned().chain(more).collect())
    }

    /// The value at this place.
    pub fn find<'t>(&self, root: &'t Tree) -> Option<&'t Tree> {
        self.0.iter().try_fold(root, |tree, token| match tree {
            Tree::Object(map) => map.get(token),
            Tree::Array(items) => items.get(token.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

impl From<Vec<String>> for Pointer {
    fn from(tokens: Vec<String>) -> Self {
        Self(tokens)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_comes_back() {
        for text in ["", "/", "/a/0/b~1c~0d", "/a//b"] {
            assert_eq!(Pointer::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Pointer::parse("a"), None);
    }

    #[test]
    fn finds_members_and_items() {
        let tree = crate::json::parse(r#"{"a": [{"b": 7}]}"#).unwrap();
        assert_eq!(Pointer::parse("/a/0/b").unwrap().find(&tree), Some(&Tree::from(7_i64)));
        assert_eq!(Pointer::parse("/a/1").unwrap().find(&tree), None);
    }
}
