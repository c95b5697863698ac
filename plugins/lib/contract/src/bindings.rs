//! Values of this crate as those of generated bindings, and from the JSON form of a call. The host and each rule have
//! types of their own for a record of `wit/`, so a macro lists the fields of each record, next to the type; who has
//! bindings calls it with their module.

use boson_document::{Tree, json};
use std::borrow::Cow;

/// What the bindings have as `W`.
pub trait ToWit<W> {
    /// The same value.
    fn to_wit(&self) -> W;
}

/// What the bindings have as `W`.
pub trait FromWit<W>: Sized {
    /// The same value. `member` is the name of the member that it was, for errors.
    ///
    /// # Errors
    /// Those of the reader.
    fn from_wit<R: Reader>(wit: W, member: &'static str, reader: &R) -> Result<Self, R::Error>;

    /// The same value in the JSON form of a call, which has the names of `wit/`. `name` is its name there, for errors.
    ///
    /// # Errors
    /// It is missing, or of another type.
    fn from_json(given: Given<'_>, name: &str) -> Result<Self, String>;
}

/// A member of a call as JSON; `None`: it is missing.
pub type Given<'t> = Option<&'t Tree>;

/// How the host or a rule reads what was passed as text.
pub trait Reader {
    /// Why a value is refused.
    type Error;

    /// A document: the text of this member.
    ///
    /// # Errors
    /// It is no JSON.
    fn document(&self, member: &'static str, text: &str) -> Result<Tree, Self::Error>;

    /// Additional members of a record, by name.
    ///
    /// # Errors
    /// The reader must know one, and does not.
    fn more<'m>(&self, names: impl Iterator<Item = &'m str>) -> Result<(), Self::Error>;
}

fn missing(name: &str) -> String {
    format!("`{name}` is missing, or of another type")
}

/// A name of `wit/` from one of its bindings: `document_name`, `PerZone`, `type_`.
pub fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len());
    for letter in name.trim_end_matches('_').chars() {
        if letter.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(if letter == '_' {
            '-'
        } else {
            letter.to_ascii_lowercase()
        });
    }
    kebab
}

/// A member of a record as JSON. `name`: in the bindings.
///
/// # Errors
/// It is missing, or of another type.
pub fn member<W, T: FromWit<W>>(record: Given<'_>, name: &str) -> Result<T, String> {
    let name = kebab(name);
    T::from_json(record.and_then(|record| record.get(&name)), &name)
}

/// A case of an enum as JSON.
///
/// # Errors
/// It is none of these cases.
pub fn case<T, const N: usize>(given: Given<'_>, name: &str, cases: [(&str, T); N]) -> Result<T, String> {
    let given = given.and_then(Tree::as_str).unwrap_or_default();
    let found = cases.into_iter().find(|(case, _)| kebab(case) == given);
    found.map(|(_, case)| case).ok_or_else(|| missing(name))
}

/// Converts a record. The fields have the same names in the bindings, except those after `;`. `+ more`: the record has
/// additional members. `..`: a value with the fields that the bindings lack.
#[macro_export]
macro_rules! record {
    (
        $ours:ty,
        $wit:ty { $($field:ident),* $(; $renamed:ident = $theirs:ident)* } $(+ $more:ident)? $(; ..$rest:expr)?
    ) => {
        $crate::record!(to $ours, $wit { $($field),* $(; $renamed = $theirs)* } $(+ $more)?);

        impl $crate::bindings::FromWit<$wit> for $ours {
            fn from_wit<R: $crate::bindings::Reader>(
                wit: $wit,
                _: &'static str,
                reader: &R,
            ) -> Result<Self, R::Error> {
                $(reader.more(wit.$more.iter().map(|member| member.name.as_str()))?;)?
                Ok(Self {
                    $($field: $crate::bindings::FromWit::from_wit(wit.$field, stringify!($field), reader)?,)*
                    $($renamed: $crate::bindings::FromWit::from_wit(wit.$theirs, stringify!($renamed), reader)?,)*
                    $(..$rest)?
                })
            }

            fn from_json(given: $crate::bindings::Given<'_>, _: &str) -> Result<Self, String> {
                Ok(Self {
                    $($field: $crate::bindings::member(given, stringify!($field))?,)*
                    $($renamed: $crate::bindings::member(given, stringify!($theirs))?,)*
                    $(..$rest)?
                })
            }
        }
    };
    (to $ours:ty, $wit:ty { $($field:ident),* $(; $renamed:ident = $theirs:ident)* } $(+ $more:ident)?) => {
        impl $crate::bindings::ToWit<$wit> for $ours {
            fn to_wit(&self) -> $wit {
                // A path in the place of `$wit` would have to be the name of a struct, not a type.
                type Wit = $wit;
                Wit {
                    $($field: $crate::bindings::ToWit::to_wit(&self.$field),)*
                    $($theirs: $crate::bindings::ToWit::to_wit(&self.$renamed),)*
                    $($more: Vec::new(),)?
                }
            }
        }
    };
}

/// Converts an enum whose cases have no values.
#[macro_export]
macro_rules! cases {
    ($ours:ty, $wit:ty { $($case:ident),* }) => {
        impl $crate::bindings::ToWit<$wit> for $ours {
            fn to_wit(&self) -> $wit {
                match self {
                    $(Self::$case => <$wit>::$case,)*
                }
            }
        }

        impl $crate::bindings::FromWit<$wit> for $ours {
            fn from_wit<R: $crate::bindings::Reader>(wit: $wit, _: &'static str, _: &R) -> Result<Self, R::Error> {
                Ok(match wit {
                    $(<$wit>::$case => Self::$case,)*
                })
            }

            fn from_json(given: $crate::bindings::Given<'_>, name: &str) -> Result<Self, String> {
                $crate::bindings::case(given, name, [$((stringify!($case), Self::$case)),*])
            }
        }
    };
}

/// Types that the bindings have, too.
macro_rules! same {
    ($($type:ty: $read:expr),*) => {
        $(
            impl ToWit<$type> for $type {
                fn to_wit(&self) -> $type {
                    Clone::clone(self)
                }
            }

            impl FromWit<$type> for $type {
                fn from_wit<R: Reader>(wit: $type, _: &'static str, _: &R) -> Result<Self, R::Error> {
                    Ok(wit)
                }

                fn from_json(given: Given<'_>, name: &str) -> Result<Self, String> {
                    given.and_then($read).ok_or_else(|| missing(name))
                }
            }
        )*
    };
}

same!(
    String: |text| text.as_str().map(str::to_string),
    bool: Tree::as_bool,
    u32: |number| number.as_i64().and_then(|number| u32::try_from(number).ok())
);

// === impl ToWit ===

impl ToWit<String> for str {
    fn to_wit(&self) -> String {
        self.into()
    }
}

impl ToWit<String> for Tree {
    fn to_wit(&self) -> String {
        json::to_text(self)
    }
}

impl<W, T: ToWit<W> + ?Sized> ToWit<W> for &T {
    fn to_wit(&self) -> W {
        T::to_wit(self)
    }
}

impl<W, T: ToOwned + ToWit<W> + ?Sized> ToWit<W> for Cow<'_, T> {
    fn to_wit(&self) -> W {
        T::to_wit(self)
    }
}

impl<W, T: ToWit<W>> ToWit<Option<W>> for Option<T> {
    fn to_wit(&self) -> Option<W> {
        self.as_ref().map(T::to_wit)
    }
}

impl<W, T: ToWit<W>> ToWit<Vec<W>> for [T] {
    fn to_wit(&self) -> Vec<W> {
        self.iter().map(T::to_wit).collect()
    }
}

impl<W, T: ToWit<W>> ToWit<Vec<W>> for Vec<T> {
    fn to_wit(&self) -> Vec<W> {
        self.as_slice().to_wit()
    }
}

// === impl FromWit ===

impl FromWit<String> for Tree {
    fn from_wit<R: Reader>(wit: String, member: &'static str, reader: &R) -> Result<Self, R::Error> {
        reader.document(member, &wit)
    }

    fn from_json(given: Given<'_>, name: &str) -> Result<Self, String> {
        given.cloned().ok_or_else(|| missing(name))
    }
}

impl<W, T: ToOwned<Owned: FromWit<W>> + ?Sized> FromWit<W> for Cow<'_, T> {
    fn from_wit<R: Reader>(wit: W, member: &'static str, reader: &R) -> Result<Self, R::Error> {
        T::Owned::from_wit(wit, member, reader).map(Cow::Owned)
    }

    fn from_json(given: Given<'_>, name: &str) -> Result<Self, String> {
        T::Owned::from_json(given, name).map(Cow::Owned)
    }
}

impl<W, T: FromWit<W>> FromWit<Option<W>> for Option<T> {
    fn from_wit<R: Reader>(wit: Option<W>, member: &'static str, reader: &R) -> Result<Self, R::Error> {
        wit.map(|value| T::from_wit(value, member, reader)).transpose()
    }

    fn from_json(given: Given<'_>, name: &str) -> Result<Self, String> {
        let given = given.filter(|value| !value.is_null());
        given.map(|value| T::from_json(Some(value), name)).transpose()
    }
}

impl<W, T: FromWit<W>> FromWit<Vec<W>> for Vec<T> {
    fn from_wit<R: Reader>(wit: Vec<W>, member: &'static str, reader: &R) -> Result<Self, R::Error> {
        wit.into_iter()
            .map(|value| T::from_wit(value, member, reader))
            .collect()
    }

    /// A list that is missing or null is empty.
    fn from_json(given: Given<'_>, name: &str) -> Result<Self, String> {
        match given {
            Some(Tree::Array(items)) => items.iter().map(|item| T::from_json(Some(item), name)).collect(),
            None | Some(Tree::Null) => Ok(Self::new()),
            Some(_) => Err(missing(name)),
        }
    }
}
