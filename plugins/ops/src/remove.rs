//! Remove: takes a member or an item out of the document.

use crate::codes;
use crate::error::{Attempt, Error};
use crate::origins::Traced;
use crate::path::{Path, Token};
use crate::scan::Scan;
use crate::{go, locate};

/// Takes out what is at the path. What is optional and missing is no failure.
pub fn remove(document: Traced<'_>, path: &Path, scan: &Scan) -> Attempt<()> {
    let Some(last) = path.tokens().len().checked_sub(1) else {
        return Err(Error::new(codes::REMOVE_DOCUMENT, "Cannot remove entire document"));
    };
    let mut current = document;
    for position in 0..last {
        match step(current, path, position, scan)? {
            Some(next) => current = next,
            None => return Ok(()),
        }
    }
    take(current, path, last, scan)
}

fn step<'t>(current: Traced<'t>, path: &Path, position: usize, scan: &Scan) -> Attempt<Option<Traced<'t>>> {
    let Traced { tree, trace } = current;
    let at = path.prefix(position);
    match &path.tokens()[position] {
        Token::Key { key, optional } => {
            let map = locate::map_mut(tree, at)?;
            let name = go::member(key);
            if !map.contains_key(&*name) && !optional {
                return Err(Error::missing_key(key, at, map));
            }
            let found = map.get_mut(&*name);
            Ok(found.map(|tree| Traced {
                tree,
                trace: trace.member(&name),
            }))
        }
        Token::AfterLast => Err(Error::after_last(at)),
        token => {
            let items = locate::array_mut(tree, at)?;
            let number = locate::item(token, items, at, scan)?;
            let length = items.len();
            Ok(number.map(|number| Traced {
                tree: &mut items[number],
                trace: &mut trace.items(length)[number],
            }))
        }
    }
}

fn take(parent: Traced<'_>, path: &Path, last: usize, scan: &Scan) -> Attempt<()> {
    let Traced { tree, trace } = parent;
    let at = path.prefix(last);
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
