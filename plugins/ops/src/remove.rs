//! Remove: takes a member or an item out of the document.

use crate::codes;
use crate::error::{Attempt, Error};
use crate::origins::Trace;
use crate::path::{Path, Token};
use crate::scan::Scan;
use crate::{go, locate};
use boson_document::Tree;

/// Takes out what is at the path. What is optional and missing is no failure.
pub fn remove(document: &mut Tree, trace: &mut Trace, path: &Path, scan: &Scan) -> Attempt<()> {
    let Some(last) = path.tokens().len().checked_sub(1) else {
        return Err(Error::new(codes::REMOVE_DOCUMENT, "Cannot remove entire document"));
    };
    let (mut tree, mut trace) = (document, trace);
    for position in 0..last {
        match step((tree, trace), path, position, scan)? {
            Some(next) => (tree, trace) = next,
            None => return Ok(()),
        }
    }
    take((tree, trace), path, last, scan)
}

type Place<'t> = (&'t mut Tree, &'t mut Trace);

fn step<'t>((tree, trace): Place<'t>, path: &Path, position: usize, scan: &Scan) -> Attempt<Option<Place<'t>>> {
    let at = path.upto(position);
    match &path.tokens()[position] {
        Token::Key { key, optional } => {
            let map = locate::map_mut(tree, at)?;
            let name = go::member(key);
            match map.contains_key(&*name) {
                true => Ok(map.get_mut(&*name).map(|value| (value, trace.member(&name)))),
                false if *optional => Ok(None),
                false => Err(Error::missing_key(key, at, map)),
            }
        }
        Token::AfterLast => Err(Error::after_last(at)),
        token => {
            let items = locate::array_mut(tree, at)?;
            let number = locate::item(token, items, at, scan)?;
            let length = items.len();
            Ok(number.map(|number| (&mut items[number], &mut trace.items(length)[number])))
        }
    }
}

fn take((tree, trace): Place<'_>, path: &Path, last: usize, scan: &Scan) -> Attempt<()> {
    let at = path.upto(last);
    match &path.tokens()[last] {
        Token::Key { key, optional } => {
            let map = locate::map_mut(tree, at)?;
            let name = go::member(key);
            if map.shift_remove(&*name).is_none() && !optional {
                return Err(Error::missing_key(key, at, map));
            }
            trace.forget(&name);
        }
        Token::AfterLast => return Err(Error::after_last(at)),
        token => {
            let items = locate::array_mut(tree, at)?;
            if let Some(number) = locate::item(token, items, at, scan)? {
                trace.items(items.len()).remove(number);
                items.remove(number);
            }
        }
    }
    Ok(())
}
