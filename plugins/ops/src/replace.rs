//! Replace: sets, inserts or appends a value, and creates what an optional path lacks.

use crate::codes;
use crate::error::{Attempt, Error};
use crate::find::default_item;
use crate::locate::Slot;
use crate::origins::{Part, Step, Trace, Traced};
use crate::path::{Path, Token};
use crate::scan::Scan;
use crate::{go, locate};
use boson_document::{MAX_DEPTH, Tree};

/// Puts `value` at the path. `step` is the number of the operation, for the trace.
pub fn replace(document: Traced<'_>, path: &Path, value: Tree, step: Step, scan: &Scan) -> Attempt<()> {
    let value = go::copied(value);
    // Each token is a level, existing or created. Without the check a chain of operations could nest the document until
    // its readers overflow their stacks.
    if path.tokens().len() + value.depth() > MAX_DEPTH {
        let message = format!("The document would be nested deeper than {MAX_DEPTH} levels");
        return Err(Error::new(codes::TOO_DEEP, message));
    }
    let Some(last) = path.tokens().len().checked_sub(1) else {
        *document.tree = value;
        *document.trace = Trace::operation(step, Part::Value);
        return Ok(());
    };
    let mut current = document;
    for position in 0..last {
        current = descend(current, path, position, step, scan)?;
    }
    put(current, path, value, step, scan)
}

fn descend<'t>(current: Traced<'t>, path: &Path, position: usize, step: Step, scan: &Scan) -> Attempt<Traced<'t>> {
    let Traced { tree, trace } = current;
    let at = path.prefix(position);
    match &path.tokens()[position] {
        Token::Key { key, optional } => {
            let map = locate::map_mut(tree, at)?;
            let name = go::member(key);
            if !map.contains_key(&*name) {
                if !optional {
                    return Err(Error::missing_key(key, at, map));
                }
                map.insert(name.to_string(), created(path, position)?);
                *trace.member(&name) = Trace::operation(step, Part::Path);
            }
            Ok(Traced {
                trace: trace.member(&name),
                tree: map.entry(name.into_owned()).or_default(),
            })
        }
        token => {
            let items = locate::array_mut(tree, at)?;
            let number = match locate::item(token, items, at, scan)? {
                Some(number) => number,
                None => append(items, trace, default_item(token), trace_of_default(token, step)),
            };
            let length = items.len();
            Ok(Traced {
                tree: &mut items[number],
                trace: &mut trace.items(length)[number],
            })
        }
    }
}

/// The new value of a missing optional key: an empty value that the next token can step into.
fn created(path: &Path, position: usize) -> Attempt<Tree> {
    match path.tokens().get(position + 1) {
        Some(Token::Key { .. }) => Ok(Tree::object()),
        Some(Token::Matching { .. } | Token::AfterLast) => Ok(Tree::Array(Vec::new())),
        _ => {
            let at = path.prefix(position + 1);
            let message = format!("Expected to find key, matching index or after last index token at path '{at}'");
            Err(Error::new(codes::CANNOT_CREATE, message))
        }
    }
}

fn trace_of_default(token: &Token, step: Step) -> Trace {
    let mut trace = Trace::operation(step, Part::Path);
    if let Token::Matching { key, .. } = token {
        *trace.member(&go::member(key)) = Trace::operation(step, Part::Path);
    }
    trace
}

fn append(items: &mut Vec<Tree>, trace: &mut Trace, value: Tree, from: Trace) -> usize {
    trace.items(items.len()).push(from);
    items.push(value);
    items.len() - 1
}

fn put(parent: Traced<'_>, path: &Path, value: Tree, step: Step, scan: &Scan) -> Attempt<()> {
    let Traced { tree, trace } = parent;
    let last = path.tokens().len() - 1;
    let at = path.prefix(last);
    let from = Trace::operation(step, Part::Value);
    match &path.tokens()[last] {
        Token::Key { key, optional } => {
            let map = locate::map_mut(tree, at)?;
            let name = go::member(key);
            if !optional && !map.contains_key(&*name) {
                return Err(Error::missing_key(key, at, map));
            }
            *trace.member(&name) = from;
            map.insert(name.into_owned(), value);
        }
        token => {
            let items = locate::array_mut(tree, at)?;
            let slot = match token {
                Token::AfterLast => None,
                other => locate::slot(other, items, at, scan)?,
            };
            let traces = trace.items(items.len());
            match slot.unwrap_or(Slot::New(items.len())) {
                Slot::Item(number) => {
                    traces[number] = from;
                    items[number] = value;
                }
                Slot::New(number) => {
                    traces.insert(number, from);
                    items.insert(number, value);
                }
            }
        }
    }
    Ok(())
}
