//! The paths of operations: go-patch's pointer grammar, read in its order of decisions and printed in its form.

use crate::codes;
use crate::failure::Failure;
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
        /// The member.
        key: String,
        /// The string.
        value: String,
        /// It may be missing.
        optional: bool,
        /// In order of writing.
        modifiers: Vec<Modifier>,
    },
    /// `/name`: a member of a map.
    Key {
        /// Its name.
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
    /// Reads a path.
    ///
    /// # Errors
    /// Go-patch's texts, code `ops-path-syntax`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let Some(pieces) = text.strip_prefix('/') else {
            return Err(Failure::new(codes::PATH_SYNTAX, "Expected to start with '/'"));
        };
        let mut tokens = Vec::new();
        // Sticky: once a piece ends with `?`, all that follow are optional too.
        let mut optional = false;
        let mut pieces = pieces.split('/').peekable();
        while let Some(piece) = pieces.next() {
            tokens.push(Token::parse(piece, pieces.peek().is_none(), &mut optional)?);
        }
        Ok(Self(tokens))
    }

    /// The steps, in order. None: the whole document.
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// The path up to and including the token number `last` (from 0).
    pub fn upto(&self, last: usize) -> Prefix<'_> {
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
    fn parse(piece: &str, last: bool, optional: &mut bool) -> Result<Self, Failure> {
        let mut parts = piece.split(':');
        let body = decode(parts.next().unwrap_or_default());
        let modifiers = Modifier::parse_all(&parts.collect::<Vec<_>>())?;
        if last && body == "-" {
            return none(
                &modifiers,
                "Expected not to find any modifiers with after last index token",
                Self::AfterLast,
            );
        }
        // Go's Atoi and Rust's parser agree: an optional sign, leading zeros, 64 bits.
        if let Ok(index) = body.parse() {
            return Ok(Self::Index { index, modifiers });
        }
        *optional |= body.ends_with('?');
        if let Some((key, value)) = body.split_once('=') {
            let value = trim(value).to_string();
            return Ok(Self::Matching {
                key: key.to_string(),
                value,
                optional: *optional,
                modifiers,
            });
        }
        let token = Self::Key {
            key: trim(&body).to_string(),
            optional: *optional,
        };
        none(&modifiers, "Expected not to find any modifiers with key token", token)
    }

    fn optional(&self) -> bool {
        matches!(
            self,
            Self::Matching { optional: true, .. } | Self::Key { optional: true, .. }
        )
    }
}

fn none(modifiers: &[Modifier], message: &str, token: Token) -> Result<Token, Failure> {
    if modifiers.is_empty() {
        Ok(token)
    } else {
        Err(Failure::new(codes::PATH_SYNTAX, message))
    }
}

/// Takes off one `?`, no more: `key??` is the optional key `key?`.
fn trim(text: &str) -> &str {
    text.strip_suffix('?').unwrap_or(text)
}

/// One pass from left to right, so that `~01` is `~1` and not `/`.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('~') {
        let (plain, escape) = rest.split_at(at);
        let decoded = match escape.as_bytes().get(1) {
            Some(b'0') => Some('~'),
            Some(b'1') => Some('/'),
            Some(b'7') => Some(':'),
            _ => None,
        };
        out.push_str(plain);
        out.push(decoded.unwrap_or('~'));
        rest = &escape[if decoded.is_some() { 2 } else { 1 }..];
    }
    out + rest
}

fn encode(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1").replace(':', "~7")
}

// === impl Modifier ===

impl Modifier {
    fn parse_all(texts: &[&str]) -> Result<Vec<Self>, Failure> {
        let parsed = texts.iter().map(|text| match *text {
            "prev" => Some(Self::Prev),
            "next" => Some(Self::Next),
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            _ => None,
        });
        // The text names the first modifier of the piece, even where a later one is the bad one: as go-patch does.
        parsed.collect::<Option<_>>().ok_or_else(|| {
            let first = texts.first().copied().unwrap_or_default();
            let known = "'prev', 'next', 'before', or 'after'";
            Failure::new(
                codes::PATH_SYNTAX,
                format!("Expected to find one of the following modifiers: {known} but found '{first}'"),
            )
        })
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

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prev => ":prev",
            Self::Next => ":next",
            Self::Before => ":before",
            Self::After => ":after",
        })
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
            modifiers.iter().try_for_each(|modifier| modifier.fmt(f))?;
        }
        Ok(())
    }
}
