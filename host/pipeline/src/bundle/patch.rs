//! JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) on a tree.
//!
//! Written by hand instead of using json-patch, which the tests compare with: see docs/decisions/0035-json-patch.md.

use boson_document::{MAX_DEPTH, Map, Pointer, Tree, json};

/// Limit on the operations in one patch.
const MAX_OPERATIONS: usize = 10_000;
/// Limit on the objects that a plugin patches plus everything that its patches add, in bytes of JSON.
const MAX_PATCHED_BYTES: usize = 128 << 20;
/// Limit on what one patch may add, in bytes of JSON; more than any object has.
const MAX_GROWTH_BYTES: usize = 4 << 20;
/// Limit on the members and items that removals and insertions of one plugin may shift: about half a second.
const MAX_SHIFTS: usize = 20_000_000;

/// What the patches of one plugin may still use.
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
    shifts: usize,
    /// Of the current patch.
    growth: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: MAX_PATCHED_BYTES,
            shifts: MAX_SHIFTS,
            growth: MAX_GROWTH_BYTES,
        }
    }
}

/// Why a patch does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation {operation} of its patch, at '{path}': {reason}")]
pub struct Error {
    /// Which operation, from 0.
    pub operation: usize,
    /// What was wrong with it.
    pub reason: &'static str,
    /// Its path, as far as it had one.
    pub path: String,
}

/// Applies a patch: a list of operations.
///
/// # Errors
/// The first operation that does not apply; the tree is then half patched.
pub fn apply(tree: &mut Tree, patch: &Tree, budget: &mut Budget) -> Result<(), Error> {
    let fail = |operation, reason, path: &str| {
        Err(Error {
            operation,
            reason,
            path: path.to_string(),
        })
    };
    let Some(operations) = patch.as_array() else {
        return fail(0, "a patch is a list of operations", "");
    };
    if operations.len() > MAX_OPERATIONS {
        return fail(MAX_OPERATIONS, "there are too many operations", "");
    }
    budget.growth = MAX_GROWTH_BYTES;
    // Many patches of one large object cost as much as one patch of many operations.
    if let Err(reason) = budget.spend(tree) {
        return fail(0, reason, "");
    }
    for (nth, operation) in operations.iter().enumerate() {
        apply_one(tree, operation, budget)
            .or_else(|reason| fail(nth, reason, operation.str("path").unwrap_or_default()))?;
    }
    Ok(())
}

/// Applies a merge patch: members of the patch replace those of the tree, and null removes them.
///
/// # Errors
/// A patch that is not an object, or too large; the tree is then half patched.
pub fn merge(tree: &mut Tree, patch: &Tree, budget: &mut Budget) -> Result<(), Error> {
    let fail = |reason| Error {
        operation: 0,
        reason,
        path: String::new(),
    };
    if patch.as_object().is_none() {
        return Err(fail("a merge patch is an object"));
    }
    budget.growth = MAX_GROWTH_BYTES;
    budget.spend(tree).map_err(fail)?;
    let patch = budget.grow(patch.clone(), &Pointer::root()).map_err(fail)?;
    merge_value(tree, patch);
    Ok(())
}

fn merge_value(tree: &mut Tree, patch: Tree) {
    let Tree::Object(members) = patch else {
        *tree = patch;
        return;
    };
    if tree.as_object().is_none() {
        *tree = Tree::object();
    }
    let Tree::Object(map) = tree else { return };
    // One pass, however many members are removed: removing them one by one would shift the others each time.
    map.retain(|name, _| members.get(name) != Some(&Tree::Null));
    for (name, value) in members.into_iter().filter(|(_, value)| *value != Tree::Null) {
        merge_value(map.entry(name).or_insert(Tree::Null), value);
    }
}

fn apply_one(tree: &mut Tree, operation: &Tree, budget: &mut Budget) -> Result<(), &'static str> {
    let pointer = |member: &str| operation.str(member).and_then(pointer);
    let path = pointer("path").ok_or("its path is not a JSON pointer")?;
    let value = || operation.get("value").ok_or("it has no value");
    let from = || pointer("from").ok_or("its 'from' is not a JSON pointer");
    match operation.str("op").unwrap_or_default() {
        "add" => add(tree, &path, budget.grow(value()?.clone(), &path)?, budget),
        "remove" => remove(tree, &path, budget).map(|_| ()),
        "replace" => {
            *find(tree, &path)? = budget.grow(value()?.clone(), &path)?;
            Ok(())
        }
        "test" if same(find(tree, &path)?, value()?) => Ok(()),
        "test" => Err("the test failed: the value differs"),
        "copy" => {
            let copy = find(tree, &from()?)?.clone();
            add(tree, &path, budget.grow(copy, &path)?, budget)
        }
        "move" => {
            let from = from()?;
            if path != from && path.below(&from).is_some() {
                return Err("a value cannot be moved into itself");
            }
            let moved = remove(tree, &from, budget)?;
            add(tree, &path, budget.grow(moved, &path)?, budget)
        }
        _ => Err("its 'op' is not one of add, remove, replace, move, copy and test"),
    }
}

/// Reads a pointer strictly: `~` is only ever part of `~0` and `~1`.
fn pointer(text: &str) -> Option<Pointer> {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    Pointer::parse(text).filter(|_| escapes)
}

// === impl Budget ===

impl Budget {
    /// Charges a value that is added at this place.
    fn grow(&mut self, value: Tree, path: &Pointer) -> Result<Tree, &'static str> {
        let size = self.spend(&value)?;
        self.growth = self
            .growth
            .checked_sub(size)
            .ok_or("the patch makes the object too large")?;
        if path.tokens().len() + value.depth() > MAX_DEPTH {
            Err("the result is nested too deeply")
        } else {
            Ok(value)
        }
    }

    /// Charges the copying of a value.
    fn spend(&mut self, value: &Tree) -> Result<usize, &'static str> {
        let size = json::to_text(value).len();
        self.bytes = self
            .bytes
            .checked_sub(size)
            .ok_or("the patches need too much computation")?;
        Ok(size)
    }

    /// Charges the members or items that move.
    fn shift(&mut self, count: usize) -> Result<(), &'static str> {
        self.shifts = self
            .shifts
            .checked_sub(count)
            .ok_or("the patches need too much computation")?;
        Ok(())
    }
}

const NO_VALUE: &str = "there is no value at this place";

pub(crate) fn find<'t>(tree: &'t mut Tree, path: &Pointer) -> Result<&'t mut Tree, &'static str> {
    path.tokens()
        .iter()
        .try_fold(tree, |tree, token| match tree {
            Tree::Object(map) => map.get_mut(token),
            Tree::Array(items) => position(token).and_then(|at| items.get_mut(at)),
            _ => None,
        })
        .ok_or(NO_VALUE)
}

/// Container of a place, and the place's last token.
fn parent<'t, 'p>(tree: &'t mut Tree, path: &'p Pointer) -> Result<Option<(&'t mut Tree, &'p str)>, &'static str> {
    let Some((last, above)) = path.tokens().split_last() else {
        return Ok(None);
    };
    Ok(Some((find(tree, &Pointer::from(above.to_vec()))?, last)))
}

fn add(tree: &mut Tree, path: &Pointer, value: Tree, budget: &mut Budget) -> Result<(), &'static str> {
    match parent(tree, path)? {
        None => *tree = value,
        Some((Tree::Object(map), name)) => {
            map.insert(name.to_string(), value);
        }
        Some((Tree::Array(items), "-")) => items.push(value),
        Some((Tree::Array(items), token)) => {
            let at = position(token)
                .filter(|at| *at <= items.len())
                .ok_or("the list has no such position")?;
            budget.shift(items.len() - at)?;
            items.insert(at, value);
        }
        Some(_) => return Err("the parent of this place is neither an object nor a list"),
    }
    Ok(())
}

fn remove(tree: &mut Tree, path: &Pointer, budget: &mut Budget) -> Result<Tree, &'static str> {
    match parent(tree, path)? {
        None => Err("the whole object can't be removed by a patch"),
        // Not `swap_remove`: the members after it keep their order.
        Some((Tree::Object(map), name)) => {
            budget.shift(map.len())?;
            Map::shift_remove(map, name).ok_or(NO_VALUE)
        }
        Some((Tree::Array(items), token)) => match position(token) {
            Some(at) if at < items.len() => {
                budget.shift(items.len() - at)?;
                Ok(items.remove(at))
            }
            _ => Err(NO_VALUE),
        },
        Some(_) => Err(NO_VALUE),
    }
}

/// An index by RFC 6901: no sign, no leading zeros.
fn position(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    plain.then(|| token.parse().ok()).flatten()
}

/// Equality by RFC 6902: numbers by their value, members in any order.
fn same(left: &Tree, right: &Tree) -> bool {
    match (left, right) {
        (Tree::Number(left), Tree::Number(right)) => {
            if left.is_integer() && right.is_integer() {
                left.text() == right.text() || left.as_i64().is_some_and(|value| right.as_i64() == Some(value))
            } else {
                left.as_f64().total_cmp(&right.as_f64()).is_eq()
            }
        }
        (Tree::Array(left), Tree::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Tree::Object(left), Tree::Object(right)) => {
            let member = |(name, value): (&String, &Tree)| right.get(name).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(member)
        }
        (left, right) => left == right,
    }
}
