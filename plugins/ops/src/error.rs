//! Why an operation failed, in go-patch's words.

use crate::codes;
use crate::path::{Modifier, Prefix};
use boson_document::{Code, Map, Tree, closest, escape, go};

/// A failure, without its operation and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub code: &'static Code,
    /// Go-patch's words.
    pub message: String,
    /// What the path most likely means instead.
    pub near: Option<Box<str>>,
}

/// A result of this stage's parts.
pub type Attempt<T> = Result<T, Error>;

// === impl Error ===

impl Error {
    /// A failure in these words.
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            near: None,
        }
    }

    /// Adds the closest of these names, except below `properties`, whose keys messages do not list.
    fn near<'n>(mut self, typed: &str, at: Prefix<'_>, names: impl IntoIterator<Item = &'n str>) -> Self {
        if !at.is_below("properties") {
            self.near = closest(typed, names).map(Box::from);
        }
        self
    }

    /// The key is not in the map.
    pub fn missing_key(key: &str, at: Prefix<'_>, map: &Map) -> Self {
        let keys = escape::text_keys(map);
        let names = keys.iter().map(String::as_str);
        Self::new(codes::MISSING_KEY, go::missing_key(key, at, map)).near(key, at, names)
    }

    /// The value is not what a step needs: `a map` or `an array`.
    pub fn mismatch(wanted: &str, at: Prefix<'_>, found: &Tree) -> Self {
        Self::new(codes::TYPE_MISMATCH, go::mismatch(wanted, at, found))
    }

    /// The index is out of the array. `index` is the one after modifiers, negative ones as they are.
    pub fn missing_index(index: i64, length: usize, at: Prefix<'_>) -> Self {
        Self::new(codes::MISSING_INDEX, go::missing_index(index, length, at))
    }

    /// None or several items match. `found`: the values that items have in place of `value`.
    pub fn matches<'n>(count: usize, at: Prefix<'_>, value: &str, found: impl Iterator<Item = &'n str>) -> Self {
        let message = format!("Expected to find exactly one matching array item for path '{at}' but found {count}");
        let error = Self::new(codes::NO_SINGLE_MATCH, message);
        match count {
            0 => error.near(value, at, found),
            _ => error,
        }
    }

    /// `/-` where it means nothing.
    pub fn after_last(at: Prefix<'_>) -> Self {
        let message = format!("Expected to not find token 'patch.AfterLastIndexToken' at path '{at}'");
        Self::new(codes::TOKEN_NOT_ALLOWED, message)
    }

    /// `:before` or `:after` where nothing can be inserted.
    pub fn not_a_shift(modifier: Modifier) -> Self {
        let found = modifier.type_name();
        let message =
            format!("Expected to find one of the following modifiers: 'prev', 'next', but found modifier '{found}'");
        Self::new(codes::MODIFIER_NOT_ALLOWED, message)
    }

    /// A modifier that follows `:before` or `:after`.
    pub fn modifier_after(insertion: &str, modifier: Modifier) -> Self {
        let found = modifier.type_name();
        let message =
            format!("Expected to not find any modifiers after '{insertion}' modifier, but found modifier '{found}'");
        Self::new(codes::MODIFIER_NOT_ALLOWED, message)
    }
}
