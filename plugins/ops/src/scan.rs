//! Limits the cost of matchers: each is compared with every item of its list, so the cost is the number of operations
//! times the length of the list.

use crate::codes;
use crate::error::{Attempt, Error};
use crate::go;
use boson_document::Tree;
use std::cell::Cell;

/// Most comparisons of one run, in those of a first member.
const MAX_COMPARISONS: u64 = 100_000_000;
/// What searching a member that is not the first costs in addition.
const COMPARISONS_PER_SEARCH: u64 = 4;

/// Comparisons that are left.
#[derive(Debug)]
pub struct Scan(Cell<u64>);

// === impl Scan ===

impl Default for Scan {
    fn default() -> Self {
        Self(Cell::new(MAX_COMPARISONS))
    }
}

impl Scan {
    /// The items whose member `key` is the string `value`: the number of the first, and how many there are.
    pub fn matching(&self, items: &[Tree], key: &str, value: &str) -> Attempt<(Option<i64>, usize)> {
        let name = go::member(key);
        let (mut first, mut count) = (None, 0);
        for (number, item) in (0_i64..).zip(items) {
            self.charge(1)?;
            let Some(map) = item.as_map() else { continue };
            let found = match map.get_index(0) {
                Some((own, found)) if *own == *name => Some(found),
                _ => {
                    self.charge(COMPARISONS_PER_SEARCH)?;
                    map.get(&*name)
                }
            };
            if found.and_then(Tree::as_str) == Some(value) {
                first = first.or(Some(number));
                count += 1;
            }
        }
        Ok((first, count))
    }

    fn charge(&self, cost: u64) -> Attempt<()> {
        let left = self.0.get().checked_sub(cost).ok_or_else(|| {
            let message = "The matchers of all operations up to this one were compared with too many items";
            Error::new(codes::TOO_MUCH_MATCHING, message)
        })?;
        self.0.set(left);
        Ok(())
    }
}
