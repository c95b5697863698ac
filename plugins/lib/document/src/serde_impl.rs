//! The tree for serde: written to any format, read from self-describing ones.

use crate::{Number, Tree};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::{fmt, iter};

impl Serialize for Tree {
    /// A number beyond 64 bits is written as the nearest double.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => serializer.serialize_i64(value),
                (None, Some(value)) => serializer.serialize_u64(value),
                (None, None) => serializer.serialize_f64(number.as_f64()),
            },
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(map) => serializer.collect_map(map),
        }
    }
}

impl<'de> de::Deserialize<'de> for Tree {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Tree, E> {
        Number::new(&format!("{value:?}"))
            .map(Tree::Number)
            .ok_or_else(|| E::custom("a number that JSON lacks"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let items = iter::from_fn(|| seq.next_element::<Tree>().transpose());
        items.collect::<Result<_, _>>().map(Tree::Array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let members = iter::from_fn(|| access.next_entry::<String, Tree>().transpose());
        members.collect::<Result<_, _>>().map(Tree::Object)
    }
}
