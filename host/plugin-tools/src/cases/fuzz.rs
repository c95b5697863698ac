//! Changed inputs for plugins: `host plugin test --fuzz`. Whatever the input is, a plugin gives a reply or diagnostics;
//! a trap is a defect.

use super::Case;
use boson_document::Tree;

/// Changes of one input, at most.
const MAX_CHANGES: usize = 4;
/// Characters of a long text, and nesting of a deep value; the contract allows 128.
const LONG_TEXT_CHARS: usize = 20_000;
const NESTING_DEPTH: usize = 60;
const TEXTS: [&str; 14] = [
    "",
    "\0",
    "a",
    "ä😀",
    "((a))",
    "((",
    "..",
    "/",
    "~",
    "-1",
    "true",
    "<%= 1 %>",
    "\u{1b}[31m",
    "x\r\n",
];
const NUMBERS: [&str; 8] = [
    "0",
    "-1",
    "1.10",
    "1e999",
    "2147483648",
    "4294967296",
    "12345678901234567890",
    "-0.0",
];

/// The same numbers on every machine.
struct Random(u64);

// === impl Random ===

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from((self.0 >> 11) % bound).unwrap_or(0)
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts.get(self.below(texts.len())).copied().unwrap_or_default()
    }
}

/// The case with some values of its input changed, differently for each number.
pub fn changed(case: &Case, number: u64) -> Case {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut case = case.clone();
    for _ in 0..=random.below(MAX_CHANGES) {
        if let Some(request) = case.request_mut() {
            change(request, &mut random);
        }
    }
    case.name = format!("{}-{number}", case.name);
    case
}

/// Changes a value below this one.
fn change(tree: &mut Tree, random: &mut Random) {
    let count = children(tree);
    let chosen = random.below(count);
    // Deeper places are as likely as those near the root.
    let stays = random.below(4) == 0;
    match tree {
        Tree::Object(map) if count > 0 => match random.below(12) {
            0 => drop(map.shift_remove_index(chosen)),
            1 => drop(map.insert(random.of(&TEXTS).to_string(), value(random))),
            _ => {
                if let Some((_, child)) = map.get_index_mut(chosen) {
                    replace_or_change(child, stays, random);
                }
            }
        },
        Tree::Array(items) if count > 0 => match random.below(12) {
            0 => drop(items.remove(chosen)),
            1 => {
                let again = items.get(chosen).cloned();
                items.extend(again);
            }
            _ => {
                if let Some(child) = items.get_mut(chosen) {
                    replace_or_change(child, stays, random);
                }
            }
        },
        leaf => *leaf = value(random),
    }
}

fn replace_or_change(child: &mut Tree, replaces: bool, random: &mut Random) {
    if replaces {
        *child = value(random);
    } else {
        change(child, random);
    }
}

fn children(tree: &Tree) -> usize {
    match tree {
        Tree::Object(map) => map.len(),
        Tree::Array(items) => items.len(),
        _ => 0,
    }
}

/// A value that authors do not expect.
fn value(random: &mut Random) -> Tree {
    match random.below(12) {
        0 => Tree::Null,
        1 => (random.below(2) == 0).into(),
        2 => Tree::object(),
        3 => Vec::<Tree>::new().into(),
        4 | 5 => boson_document::Number::new(random.of(&NUMBERS)).map_or(Tree::Null, Tree::Number),
        6 => "x".repeat(LONG_TEXT_CHARS).into(),
        7 => (0..NESTING_DEPTH).fold(Tree::Null, |inner, _| Tree::Array(vec![inner])),
        8 => Tree::object().with("", Tree::object().with("name", vec![Tree::Null])),
        _ => random.of(&TEXTS).into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::cases::edge;
    use boson_document::json;
    use boson_pipeline::Stage;
    use std::collections::HashSet;

    #[test]
    fn inputs_change_in_many_ways_and_always_the_same() {
        let cases = edge::inputs(Stage::Bpm).unwrap();
        let case = cases.last().unwrap();
        let texts = || -> Vec<String> {
            let changed = (0..500).map(|number| changed(case, number));
            changed.map(|case| json::to_text(&case.arguments)).collect()
        };
        let all = texts();
        assert_eq!(all, texts());
        let different: HashSet<&String> = all.iter().collect();
        assert!(different.len() > 250, "{}", different.len());
    }
}
