//! The tree: JSON's six kinds, members in order, numbers by their literal text.

use crate::number::Number;
use indexmap::IndexMap;

/// Begins what JSON lacks, escaped as `wit/types` says.
pub(crate) const MARK: char = '\0';

/// Members of an object, in document order.
pub type Map = IndexMap<String, Tree>;

/// A JSON document.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Tree {
    #[default]
    Null,
    Bool(bool),
    /// A number, by its text.
    Number(Number),
    String(String),
    Array(Vec<Tree>),
    Object(Map),
}

// === impl Tree ===

impl Tree {
    pub fn object() -> Self {
        Self::Object(Map::new())
    }

    /// The member `key` of an object.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.as_object()?.get(key)
    }

    /// The member `key` of an object.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        self.as_object_mut()?.get_mut(key)
    }

    /// The member `key` of an object, where it is a string.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// The member `key` of an object, where it is an integer that fits.
    pub fn i64(&self, key: &str) -> Option<i64> {
        self.get(key)?.as_i64()
    }

    /// The members of the object under `key`.
    pub fn members(&self, key: &str) -> Option<&Map> {
        self.get(key)?.as_object()
    }

    /// The strings of the list under `key`, none where there is no such list.
    pub fn texts<'t>(&'t self, key: &str) -> impl Iterator<Item = &'t str> + use<'t> {
        self.items(key).iter().filter_map(Self::as_str)
    }

    /// The member at the end of a path of members.
    pub fn find(&self, path: &[&str]) -> Option<&Tree> {
        path.iter().try_fold(self, |tree, key| tree.get(key))
    }

    /// Sets a member of an object; anything else becomes an object first.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Tree>) -> &mut Self {
        if !matches!(self, Self::Object(_)) {
            *self = Self::object();
        }
        if let Self::Object(map) = self {
            map.insert(key.into(), value.into());
        }
        self
    }

    /// Sets a member like [`Tree::set`], and returns the tree.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Tree>) -> Self {
        self.set(key, value);
        self
    }

    /// Sets a member like [`Tree::with`], if there is a value.
    #[must_use]
    pub fn with_some(self, key: impl Into<String>, value: Option<impl Into<Tree>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        let Self::String(text) = self else { return None };
        Some(text)
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        let Self::Bool(value) = self else { return None };
        Some(*value)
    }

    /// The value of a number that is an integer and fits.
    pub fn as_i64(&self) -> Option<i64> {
        let Self::Number(number) = self else { return None };
        number.as_i64()
    }

    /// The items of a list.
    pub fn as_array(&self) -> Option<&Vec<Tree>> {
        let Self::Array(items) = self else { return None };
        Some(items)
    }

    /// The items of a list.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Tree>> {
        let Self::Array(items) = self else { return None };
        Some(items)
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<&Map> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    /// The members of an object.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    /// The members of what is a map in YAML, too: of an object that is no escaped number.
    pub fn as_map(&self) -> Option<&Map> {
        self.as_object().filter(|_| self.as_special().is_none())
    }

    /// `.nan`, `.inf` or `-.inf`, where this is such a number, escaped.
    pub(crate) fn as_special(&self) -> Option<&str> {
        let map = self.as_object()?;
        match (map.len(), map.get_index(0)?) {
            (1, (name, Self::String(text))) if name.chars().eq([MARK]) => Some(text),
            _ => None,
        }
    }

    /// The items of the list under `key`, none where there is no such list.
    pub fn items(&self, key: &str) -> &[Tree] {
        self.get(key).and_then(Self::as_array).map_or(&[], Vec::as_slice)
    }

    /// The items of the list under `key`, none where there is no such list.
    pub fn items_mut(&mut self, key: &str) -> &mut [Tree] {
        let items = self.get_mut(key).and_then(Self::as_array_mut);
        items.map_or(&mut [], Vec::as_mut_slice)
    }

    /// How many levels of lists and objects it has, a scalar none.
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(map) => 1 + map.values().map(Self::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Tree {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Tree {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for Tree {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<u32> for Tree {
    fn from(value: u32) -> Self {
        Self::Number(u64::from(value).into())
    }
}

impl From<Number> for Tree {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<Map> for Tree {
    fn from(map: Map) -> Self {
        Self::Object(map)
    }
}

impl<T: Into<Tree>> From<Vec<T>> for Tree {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Tree>> From<Option<T>> for Tree {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<K: Into<String>, V: Into<Tree>> FromIterator<(K, V)> for Tree {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Self::Object(
            members
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}
