//! The paths of operations, printed in go-patch's form.

use std::fmt;

/// A place in a document as an operation names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Token>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// `/0`, `/-1:prev`: an item by its number.
    Index {
        /// From the end where negative.
        index: i64,
        /// In order of writing.
        modifiers: Vec<Modifier>,
    },
    /// `/-` at the end: the place after the last item.
    AfterLast,
    /// `/name=api`: the item whose member is this string.
    Matching {
        key: String,
        value: String,
        /// It may be missing.
        optional: bool,
        /// In order of writing.
        modifiers: Vec<Modifier>,
    },
    /// `/name`: a member of a map.
    Key {
        key: String,
        /// It may be missing.
        optional: bool,
    },
}

/// What follows a `:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// The item before.
    Prev,
    /// The item after.
    Next,
    /// Insert before the item.
    Before,
    /// Insert after the item.
    After,
}

/// The first tokens of a path: how errors name the place that they are about.
#[derive(Clone, Copy)]
pub struct Prefix<'p>(&'p [Token]);

// === impl Path ===

impl Path {
    /// A path of these steps.
    pub fn new(tokens: Vec<Token>) -> Self {
        Self(tokens)
    }

    /// The steps, in order. None: the whole document.
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// The path up to and including the token number `last` (from 0).
    pub fn prefix(&self, last: usize) -> Prefix<'_> {
        Prefix(&self.0[..self.0.len().min(last + 1)])
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Prefix(&self.0).fmt(f)
    }
}

// === impl Token ===

impl Token {
    fn optional(&self) -> bool {
        matches!(
            self,
            Self::Matching { optional: true, .. } | Self::Key { optional: true, .. }
        )
    }
}

fn encode(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1").replace(':', "~7")
}

// === impl Modifier ===

impl Modifier {
    /// The modifier of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Prev, Self::Next, Self::Before, Self::After];
        all.into_iter().find(|modifier| modifier.name() == name)
    }

    /// As paths spell it, after a `:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prev => "prev",
            Self::Next => "next",
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// Go's name of the type, as texts of errors have it.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Prev => "patch.PrevModifier",
            Self::Next => "patch.NextModifier",
            Self::Before => "patch.BeforeModifier",
            Self::After => "patch.AfterModifier",
        }
    }
}

// === impl Prefix ===

impl Prefix<'_> {
    /// Whether a token before the last is this key.
    pub fn is_below(self, name: &str) -> bool {
        let before = self.0.split_last().map_or(&[][..], |(_, before)| before);
        before
            .iter()
            .any(|token| matches!(token, Token::Key { key, .. } if key == name))
    }
}

impl fmt::Display for Prefix<'_> {
    /// `?` is printed at the first optional token only: those after it are optional anyway.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first_optional = self.0.iter().position(Token::optional);
        for (position, token) in self.0.iter().enumerate() {
            let mark = if first_optional == Some(position) { "?" } else { "" };
            let modifiers = match token {
                Token::Index { index, modifiers } => {
                    write!(f, "/{index}")?;
                    modifiers.as_slice()
                }
                Token::AfterLast => {
                    f.write_str("/-")?;
                    &[]
                }
                Token::Matching {
                    key, value, modifiers, ..
                } => {
                    write!(f, "/{}={}{mark}", encode(key), encode(value))?;
                    modifiers
                }
                Token::Key { key, .. } => {
                    write!(f, "/{}{mark}", encode(key))?;
                    &[]
                }
            };
            for modifier in modifiers {
                write!(f, ":{}", modifier.name())?;
            }
        }
        Ok(())
    }
}
