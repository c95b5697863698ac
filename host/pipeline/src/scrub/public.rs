//! Public texts: the documents of which excerpts may be shown.

use super::exception;
use super::words::{holds, is_inner, words};
use crate::report::Sources;
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::ops::Range;

/// Limit on the phrases that are searched in all documents, for one run: each search reads all of them.
const MAX_PHRASES: u32 = 1000;

/// Documents that messages may quote.
pub struct Public<'a> {
    sources: &'a Sources,
    words: OnceCell<HashSet<&'a str>>,
    phrases: Cell<u32>,
}

// === impl Public ===

impl<'a> Public<'a> {
    pub fn of(sources: &'a Sources) -> Self {
        Self {
            sources,
            words: OnceCell::new(),
            phrases: Cell::new(0),
        }
    }

    /// Whether this part of a message may stay, although it repeats a secret.
    ///
    /// If it may only look like a part of a secret, its words have to be public, as words of our messages or in a
    /// document; if it certainly repeats one, it has to occur in a document.
    pub(super) fn shows(&self, text: &str, place: &Range<usize>, certain: bool) -> bool {
        let phrase = &text[whole_words(text, place)];
        let mut words = words(phrase).peekable();
        if words.peek().is_none() {
            return false;
        }
        let known = |word: &str| self.words().contains(word) || (!certain && exception::is_our_word(word));
        words.all(known) && (!certain || self.has_phrase(phrase))
    }

    fn words(&self) -> &HashSet<&'a str> {
        self.words
            .get_or_init(|| self.sources.shown().flat_map(words).collect())
    }

    fn has_phrase(&self, phrase: &str) -> bool {
        self.phrases.set(self.phrases.get() + 1);
        self.phrases.get() <= MAX_PHRASES && self.sources.shown().any(|text| holds(text, phrase))
    }
}

/// The range, extended to whole words at its ends.
fn whole_words(text: &str, place: &Range<usize>) -> Range<usize> {
    let inside = &text[place.clone()];
    let start = if inside.starts_with(is_inner) {
        text[..place.start].trim_end_matches(is_inner).len()
    } else {
        place.start
    };
    let end = if inside.ends_with(is_inner) {
        text.len() - text[place.end..].trim_start_matches(is_inner).len()
    } else {
        place.end
    };
    start..end
}
