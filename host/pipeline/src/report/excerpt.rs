//! One line of a document, cut to a limited width, and the position of the underline.

use super::clean;
use unicode_width::UnicodeWidthChar;

/// Characters of a line that are shown; longer lines are cut around the place.
const MAX_LINE_CHARS: usize = 120;
/// Characters before the place that are shown.
const MAX_CHARS_BEFORE: usize = 40;

/// A line to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) shown: String,
    /// Columns before the underline.
    pub(super) before: usize,
    /// Columns of the underline, at least one.
    pub(super) under: usize,
}

// === impl Excerpt ===

impl Excerpt {
    /// `column` from 1, `length` in characters.
    pub(super) fn of(line: &str, column: u32, length: u32) -> Self {
        let line = line.trim_end();
        let at = column.saturating_sub(1) as usize;
        let total = line.chars().count();
        let at = at.min(total);
        let from = if total <= MAX_LINE_CHARS {
            0
        } else {
            at.saturating_sub(MAX_CHARS_BEFORE)
        };
        let end = at.saturating_add(length.max(1) as usize);
        let mut excerpt = Self {
            shown: String::new(),
            before: 0,
            under: 0,
        };
        if from > 0 {
            excerpt.shown.push('…');
            excerpt.before += 1;
        }
        for (index, c) in line.chars().enumerate().skip(from).take(MAX_LINE_CHARS) {
            let (text, width) = cell(c);
            excerpt.shown.push_str(&text);
            if index < at {
                excerpt.before += width;
            } else if index < end {
                excerpt.under += width;
            }
        }
        if from + MAX_LINE_CHARS < total {
            excerpt.shown.push('…');
        }
        excerpt.under = excerpt.under.max(1);
        excerpt
    }
}

/// The visible form of a character, and its columns.
fn cell(c: char) -> (String, usize) {
    match c {
        '\t' => ("    ".to_string(), 4),
        c if clean::is_harmful(c) => {
            let text = clean::visible(c);
            let width = text.chars().count();
            (text, width)
        }
        c => (c.to_string(), c.width().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_underline_is_below_its_text() {
        let at = |line: &str, column, length| {
            let Excerpt { shown, before, under } = Excerpt::of(line, column, length);
            (shown, before, under)
        };
        assert_eq!(at("  name: x", 3, 4), ("  name: x".into(), 2, 4));
        assert_eq!(at("\ta: b  ", 2, 1), ("    a: b".into(), 4, 1));
        assert_eq!(at("日本: x", 5, 1), ("日本: x".into(), 6, 1));
        assert_eq!(at("a\u{1b}[2Jb", 6, 1), ("a␛[2Jb".into(), 5, 1));
        assert_eq!(at("short", 90, 3), ("short".into(), 5, 1));
        assert_eq!(at("", 1, 0), (String::new(), 0, 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}HERE{}", "a".repeat(1_000_000), "b".repeat(1_000_000));
        let excerpt = Excerpt::of(&line, 1_000_001, 4);
        assert_eq!(excerpt.shown, format!("…{}HERE{}…", "a".repeat(40), "b".repeat(76)));
        assert_eq!((excerpt.before, excerpt.under), (41, 4));
        assert_eq!(Excerpt::of(&line, 1, 2_000_004).under, MAX_LINE_CHARS);
    }
}
