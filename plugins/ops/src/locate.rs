//! One step of a path in one value: the rules that all operations share.

use crate::error::{Attempt, Error};
use crate::path::{Modifier, Prefix, Token};
use crate::scan::Scan;
use boson_document::{Map, Tree, go};

/// The place at which `:before`, `:after` or a plain index put a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// It replaces this item.
    Item(usize),
    /// It becomes a new item with this number.
    New(usize),
}

/// The items, where the value is an array.
pub fn array<'t>(value: &'t Tree, at: Prefix<'_>) -> Attempt<&'t Vec<Tree>> {
    value.as_array().ok_or_else(|| Error::mismatch("an array", at, value))
}

/// The items, to change them.
pub fn array_mut<'t>(value: &'t mut Tree, at: Prefix<'_>) -> Attempt<&'t mut Vec<Tree>> {
    match value {
        Tree::Array(items) => Ok(items),
        other => Err(Error::mismatch("an array", at, other)),
    }
}

/// The members, where the value is a map.
pub fn map<'t>(value: &'t Tree, at: Prefix<'_>) -> Attempt<&'t Map> {
    value.as_map().ok_or_else(|| Error::mismatch("a map", at, value))
}

/// The members, to change them.
pub fn map_mut<'t>(value: &'t mut Tree, at: Prefix<'_>) -> Attempt<&'t mut Map> {
    map(value, at)?;
    match value {
        Tree::Object(map) => Ok(map),
        other => Err(Error::mismatch("a map", at, other)),
    }
}

/// Number of the item that an index or a matcher means. None: an optional matcher that nothing matches.
pub fn item(token: &Token, items: &[Tree], at: Prefix<'_>, scan: &Scan) -> Attempt<Option<usize>> {
    let Some((index, modifiers)) = matched_index(token, items, at, scan)? else {
        return Ok(None);
    };
    shifted_index(index, modifiers, items.len(), at).map(Some)
}

/// Where the last token of a replace puts its value. None: an optional matcher that nothing matches.
pub fn slot(token: &Token, items: &[Tree], at: Prefix<'_>, scan: &Scan) -> Attempt<Option<Slot>> {
    let Some((index, modifiers)) = matched_index(token, items, at, scan)? else {
        return Ok(None);
    };
    let insertion = modifiers
        .iter()
        .position(|modifier| matches!(modifier, Modifier::Before | Modifier::After));
    let (shifts, rest) = modifiers.split_at(insertion.unwrap_or(modifiers.len()));
    if let [insertion, surplus, ..] = rest {
        return Err(Error::modifier_after(insertion.name(), *surplus));
    }
    let number = shifted_index(index, shifts, items.len(), at)?;
    Ok(Some(match rest.first() {
        None => Slot::Item(number),
        Some(Modifier::After) => Slot::New(number + 1),
        Some(_) => Slot::New(number),
    }))
}

/// The index that a token means before its modifiers are applied.
fn matched_index<'p>(
    token: &'p Token,
    items: &[Tree],
    at: Prefix<'_>,
    scan: &Scan,
) -> Attempt<Option<(i64, &'p [Modifier])>> {
    match token {
        Token::Index { index, modifiers } => Ok(Some((*index, modifiers))),
        Token::Matching {
            key,
            value,
            optional,
            modifiers,
        } => match scan.matching(items, key, value)? {
            (Some(index), 1) => Ok(Some((index, modifiers))),
            (None, _) if *optional => Ok(None),
            (_, count) => {
                let name = crate::go::member(key);
                let found = items.iter().filter_map(|item| item.str(&name));
                Err(Error::matches(count, at, value, found))
            }
        },
        Token::AfterLast | Token::Key { .. } => Err(Error::after_last(at)),
    }
}

/// Shifts an index and checks it. Shifts come before the check and negative numbers count from the end, so `/0:prev` is
/// the last item: as go-patch has it.
fn shifted_index(index: i64, shifts: &[Modifier], length: usize, at: Prefix<'_>) -> Attempt<usize> {
    let mut shifted = index;
    for shift in shifts {
        shifted = match shift {
            Modifier::Prev => shifted.wrapping_sub(1),
            Modifier::Next => shifted.wrapping_add(1),
            other => return Err(Error::not_a_shift(*other)),
        };
    }
    go::index(shifted, length).ok_or_else(|| Error::missing_index(shifted, length, at))
}
