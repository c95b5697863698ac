//! Finds where messages repeat secrets, whole or in part (at least eight bytes).
//!
//! Messages are few and short, secrets may be many and long. So the windows of the messages are stored, and the secrets
//! are read once.

use super::views::{self, View};
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

/// Length that two texts do not share by accident, in bytes.
pub(super) const WINDOW: usize = 8;
/// Bytes of messages that are searched together: all their views and windows may need a thousand times as much memory.
const AT_ONCE: usize = 32 << 10;

/// A part of a message that repeats a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub place: Range<usize>,
    /// It repeats a whole secret.
    pub whole: bool,
}

/// Windows with a filter in front: most windows that are looked up are not in the set.
struct Windows {
    filter: Vec<u64>,
    known: HashSet<u64>,
}

/// For each text the parts that repeat one of the secrets, which are [folded](views::folded); in order, without
/// overlaps.
pub(super) fn find(secrets: &BTreeSet<Vec<u8>>, texts: &[&str]) -> Vec<Vec<Stretch>> {
    let mut found = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut size = 0;
        let fitting = rest.iter().take_while(|text| {
            size += text.len();
            size <= AT_ONCE
        });
        let (now, later) = rest.split_at(fitting.count().max(1));
        let views: Vec<Vec<View>> = now.iter().map(|text| views::of(text)).collect();
        found.extend(in_views(secrets, &views));
        rest = later;
    }
    found
}

fn in_views(secrets: &BTreeSet<Vec<u8>>, texts: &[Vec<View>]) -> Vec<Vec<Stretch>> {
    let all = || texts.iter().flatten();
    let mut windows = Windows::new();
    for view in all() {
        rolling(&view.bytes).for_each(|window| windows.insert(window));
    }
    let mut repeated = HashSet::new();
    let mut whole: Vec<&[u8]> = Vec::new();
    for secret in secrets {
        if secret.len() < WINDOW {
            whole.extend(
                all()
                    .any(|view| contains(&view.bytes, secret))
                    .then_some(secret.as_slice()),
            );
            continue;
        }
        let mut complete = true;
        for window in rolling(secret) {
            let known = windows.holds(window);
            complete &= known;
            if known {
                repeated.insert(window);
            }
        }
        whole.extend(complete.then_some(secret.as_slice()));
    }
    texts
        .iter()
        .map(|views| {
            joined(
                views
                    .iter()
                    .flat_map(|view| stretches(view, &repeated, &whole))
                    .collect(),
            )
        })
        .collect()
}

fn stretches(view: &View, repeated: &HashSet<u64>, whole: &[&[u8]]) -> Vec<Stretch> {
    let mut found = Vec::new();
    if !repeated.is_empty() {
        for (at, window) in rolling(&view.bytes).enumerate() {
            if repeated.contains(&window) {
                found.push((at..at + WINDOW, false));
            }
        }
    }
    for secret in whole {
        let places = view.bytes.windows(secret.len()).enumerate();
        let places = places.filter(|(_, bytes)| bytes == secret);
        found.extend(places.map(|(at, bytes)| (at..at + bytes.len(), true)));
    }
    let stretch = |(range, whole): (Range<usize>, bool)| Stretch {
        place: view.place(range),
        whole,
    };
    found.into_iter().map(stretch).collect()
}

/// Sorts the stretches, and joins overlapping ones.
fn joined(mut all: Vec<Stretch>) -> Vec<Stretch> {
    all.sort_by_key(|one| (one.place.start, one.place.end));
    let mut joined: Vec<Stretch> = Vec::new();
    for one in all {
        match joined.last_mut() {
            Some(last) if one.place.start < last.place.end => {
                last.place.end = last.place.end.max(one.place.end);
                last.whole |= one.whole;
            }
            _ => joined.push(one),
        }
    }
    joined
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    !wanted.is_empty() && bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Each window as a number.
fn rolling(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let mut window = 0_u64;
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        window = (window << 8) | u64::from(*byte);
        (at + 1 >= WINDOW).then_some(window)
    })
}

// === impl Windows ===

impl Windows {
    const BITS: u32 = 18;

    fn new() -> Self {
        Self {
            filter: vec![0; 1 << (Self::BITS - 6)],
            known: HashSet::new(),
        }
    }

    fn insert(&mut self, window: u64) {
        let (word, bit) = Self::place(window);
        self.filter[word] |= bit;
        self.known.insert(window);
    }

    fn holds(&self, window: u64) -> bool {
        let (word, bit) = Self::place(window);
        self.filter[word] & bit != 0 && self.known.contains(&window)
    }

    fn place(window: u64) -> (usize, u64) {
        let hash = window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS);
        ((hash >> 6) as usize, 1 << (hash & 63))
    }
}
