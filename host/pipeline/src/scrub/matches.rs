//! Finds where messages repeat secrets, whole or in part (at least eight bytes).
//!
//! Messages are few and short, secrets may be many and long. So the windows of the messages are stored, and the secrets
//! are read once.

use super::MIN_UNNAMED_BYTES;
use super::views::{self, View};
use super::words::is_inner;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

/// Length that two texts do not share by accident, in bytes.
pub(super) const WINDOW_BYTES: usize = 8;
/// Bytes of messages that are searched together: all their views and windows may need some thousand times as much
/// memory.
const MAX_BATCH_BYTES: usize = 8 << 10;

/// A part of a message that repeats a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub place: Range<usize>,
    /// It repeats a whole secret, or a part in a form that no wording has.
    pub certain: bool,
}

/// Windows with a filter in front: most windows that are looked up are not in the set.
struct Windows {
    filter: Vec<u64>,
    known: HashSet<u64>,
}

/// For each text the parts that repeat one of the secrets, which are [folded](views::folded); in order, without
/// overlaps.
pub(super) fn find(secrets: &BTreeSet<Vec<u8>>, texts: &[&str]) -> Vec<Vec<Match>> {
    let mut found = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut size = 0;
        let fitting = rest.iter().take_while(|text| {
            size += text.len();
            size <= MAX_BATCH_BYTES
        });
        let (now, later) = rest.split_at(fitting.count().max(1));
        let views: Vec<Vec<View>> = now.iter().map(|text| views::of(text)).collect();
        found.extend(in_views(secrets, now, &views));
        rest = later;
    }
    found
}

fn in_views(secrets: &BTreeSet<Vec<u8>>, texts: &[&str], views: &[Vec<View>]) -> Vec<Vec<Match>> {
    let all = || views.iter().flatten();
    let mut windows = Windows::new();
    for view in all() {
        window_numbers(&view.bytes).for_each(|window| windows.insert(window));
    }
    let mut repeated = HashSet::new();
    let mut whole: Vec<&[u8]> = Vec::new();
    for secret in secrets {
        if secret.len() < WINDOW_BYTES {
            whole.extend(
                all()
                    .any(|view| contains(&view.bytes, secret))
                    .then_some(secret.as_slice()),
            );
            continue;
        }
        let mut complete = true;
        for window in window_numbers(secret) {
            let known = windows.holds(window);
            complete &= known;
            if known {
                repeated.insert(window);
            }
        }
        whole.extend(complete.then_some(secret.as_slice()));
    }
    let of_text = |(text, views): (&&str, &Vec<View>)| {
        let matches = views.iter().flat_map(|view| in_view(text, view, &repeated, &whole));
        joined(matches.collect())
    };
    texts.iter().zip(views).map(of_text).collect()
}

fn in_view(text: &str, view: &View, repeated: &HashSet<u64>, whole: &[&[u8]]) -> Vec<Match> {
    let mut found = Vec::new();
    if !repeated.is_empty() {
        for (at, window) in window_numbers(&view.bytes).enumerate() {
            if repeated.contains(&window) {
                found.push((view.place(at..at + WINDOW_BYTES), false));
            }
        }
    }
    for secret in whole {
        let places = view.bytes.windows(secret.len()).enumerate();
        let places = places.filter(|(_, bytes)| bytes == secret);
        let places = places.map(|(at, bytes)| view.place(at..at + bytes.len()));
        // A short one is also a part of other words.
        let places = places.filter(|place| secret.len() >= MIN_UNNAMED_BYTES || is_word(text, place));
        found.extend(places.map(|place| (place, true)));
    }
    let one = |(place, whole): (Range<usize>, bool)| Match {
        place,
        certain: whole || view.disguised,
    };
    found.into_iter().map(one).collect()
}

/// Whether no letter or digit is next to this part of the text.
fn is_word(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).is_some_and(|before| before.ends_with(is_inner));
    let after = text.get(place.end..).is_some_and(|after| after.starts_with(is_inner));
    !before && !after
}

/// Sorts the matches, and joins overlapping ones.
fn joined(mut all: Vec<Match>) -> Vec<Match> {
    all.sort_by_key(|one| (one.place.start, one.place.end));
    let mut joined: Vec<Match> = Vec::new();
    for one in all {
        match joined.last_mut() {
            Some(last) if one.place.start < last.place.end => {
                last.place.end = last.place.end.max(one.place.end);
                last.certain |= one.certain;
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
fn window_numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let mut window = 0_u64;
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        window = (window << 8) | u64::from(*byte);
        (at + 1 >= WINDOW_BYTES).then_some(window)
    })
}

// === impl Windows ===

impl Windows {
    const INDEX_BITS: u32 = 18;

    fn new() -> Self {
        Self {
            filter: vec![0; 1 << (Self::INDEX_BITS - 6)],
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
        let hash = window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::INDEX_BITS);
        ((hash >> 6) as usize, 1 << (hash & 63))
    }
}
