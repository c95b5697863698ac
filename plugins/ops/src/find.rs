//! Find: the value at a path, never changing the document. Optional missing parts get a default.

use crate::codes;
use crate::error::{Attempt, Error};
use crate::path::{Path, Token};
use crate::scan::Scan;
use crate::{go, locate};
use boson_document::{Pointer, Tree};
use std::borrow::Cow;

/// The value at the path. `place` is left at the deepest value of the document that was reached.
pub fn find<'t>(document: &'t Tree, path: &Path, place: &mut Pointer, scan: &Scan) -> Attempt<Cow<'t, Tree>> {
    let mut current = Cow::Borrowed(document);
    for position in 0..path.tokens().len() {
        current = step(current, path, position, place, scan)?;
    }
    Ok(current)
}

fn step<'t>(
    current: Cow<'t, Tree>,
    path: &Path,
    position: usize,
    place: &mut Pointer,
    scan: &Scan,
) -> Attempt<Cow<'t, Tree>> {
    let at = path.prefix(position);
    let token = &path.tokens()[position];
    match token {
        Token::AfterLast => Err(Error::new(
            codes::TOKEN_NOT_ALLOWED,
            format!("Expected not to find after last index token in path '{path}' (not supported in find operations)"),
        )),
        Token::Index { .. } | Token::Matching { .. } => {
            match locate::item(token, locate::array(&current, at)?, at, scan)? {
                Some(number) => Ok(item(current, number, place)),
                None => Ok(Cow::Owned(default_item(token))),
            }
        }
        Token::Key { key, optional } => {
            let map = locate::map(&current, at)?;
            let name = go::member(key);
            if map.contains_key(&*name) {
                return Ok(member(current, &name, place));
            }
            if *optional {
                default_value(path, position)
            } else {
                Err(Error::missing_key(key, at, map))
            }
        }
    }
}

fn item<'t>(current: Cow<'t, Tree>, number: usize, place: &mut Pointer) -> Cow<'t, Tree> {
    match current {
        Cow::Borrowed(Tree::Array(items)) => {
            place.push(number);
            items.get(number).map_or(Cow::Owned(Tree::Null), Cow::Borrowed)
        }
        Cow::Owned(Tree::Array(mut items)) => Cow::Owned(items.swap_remove(number)),
        other => other,
    }
}

fn member<'t>(current: Cow<'t, Tree>, name: &str, place: &mut Pointer) -> Cow<'t, Tree> {
    match current {
        Cow::Borrowed(tree) => {
            place.push(name);
            tree.get(name).map_or(Cow::Owned(Tree::Null), Cow::Borrowed)
        }
        Cow::Owned(mut tree) => Cow::Owned(tree.get_mut(name).map(std::mem::take).unwrap_or_default()),
    }
}

/// The default of a missing optional key: null at the end of the path, else an empty value that the next token can step
/// into.
fn default_value<'t>(path: &Path, position: usize) -> Attempt<Cow<'t, Tree>> {
    match path.tokens().get(position + 1) {
        None => Ok(Cow::Owned(Tree::Null)),
        Some(Token::Matching { .. }) => Ok(Cow::Owned(Tree::Array(Vec::new()))),
        Some(Token::Key { .. }) => Ok(Cow::Owned(Tree::object())),
        Some(_) => {
            let at = path.prefix(position + 1);
            let message = format!("Expected to find key or matching index token at path '{at}'");
            Err(Error::new(codes::CANNOT_CREATE, message))
        }
    }
}

/// The default of an optional matcher without a match.
pub fn default_item(token: &Token) -> Tree {
    match token {
        Token::Matching { key, value, .. } => Tree::object().with(go::member(key), value.as_str()),
        _ => Tree::Null,
    }
}
