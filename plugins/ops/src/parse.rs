//! Reads paths: go-patch's pointer grammar, in its order of decisions.

use crate::codes;
use crate::error::Error;
use crate::path::{Modifier, Path, Token};

// === impl Path ===

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Go-patch's texts, code `ops-path-syntax`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let Some(pieces) = text.strip_prefix('/') else {
            return Err(Error::new(codes::PATH_SYNTAX, "Expected to start with '/'"));
        };
        let mut tokens = Vec::new();
        // Sticky: once a piece ends with `?`, all that follow are optional too.
        let mut optional = false;
        let mut pieces = pieces.split('/').peekable();
        while let Some(piece) = pieces.next() {
            tokens.push(token(piece, pieces.peek().is_none(), &mut optional)?);
        }
        Ok(Self::new(tokens))
    }
}

fn token(piece: &str, last: bool, optional: &mut bool) -> Result<Token, Error> {
    let mut parts = piece.split(':');
    let body = decode(parts.next().unwrap_or_default());
    let modifiers = modifiers(&parts.collect::<Vec<_>>())?;
    if last && body == "-" {
        return none(
            &modifiers,
            "Expected not to find any modifiers with after last index token",
            Token::AfterLast,
        );
    }
    // Go's Atoi and Rust's parser agree: an optional sign, leading zeros, 64 bits.
    if let Ok(index) = body.parse() {
        return Ok(Token::Index { index, modifiers });
    }
    *optional |= body.ends_with('?');
    if let Some((key, value)) = body.split_once('=') {
        let value = trim(value).to_string();
        return Ok(Token::Matching {
            key: key.to_string(),
            value,
            optional: *optional,
            modifiers,
        });
    }
    let token = Token::Key {
        key: trim(&body).to_string(),
        optional: *optional,
    };
    none(&modifiers, "Expected not to find any modifiers with key token", token)
}

fn modifiers(texts: &[&str]) -> Result<Vec<Modifier>, Error> {
    let parsed = texts.iter().map(|text| Modifier::named(text));
    // The text names the first modifier of the piece, even where a later one is the bad one: as go-patch does.
    parsed.collect::<Option<_>>().ok_or_else(|| {
        let first = texts.first().copied().unwrap_or_default();
        let known = "'prev', 'next', 'before', or 'after'";
        let message = format!("Expected to find one of the following modifiers: {known} but found '{first}'");
        Error::new(codes::PATH_SYNTAX, message)
    })
}

fn none(modifiers: &[Modifier], message: &str, token: Token) -> Result<Token, Error> {
    if modifiers.is_empty() {
        Ok(token)
    } else {
        Err(Error::new(codes::PATH_SYNTAX, message))
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
