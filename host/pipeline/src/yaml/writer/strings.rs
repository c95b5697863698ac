//! Strings in each of their styles, with long lines folded.

use super::lines::Lines;
use super::style;

/// Column after which a space becomes a line break, if lines are folded.
const FOLD_COLUMN: usize = 80;

// === impl Lines ===

/// `indent`: column of the lines after the first. `fold`: whether long lines may be folded.
impl Lines {
    pub(super) fn plain(&mut self, text: &str, indent: usize, fold: bool) {
        self.space();
        if self.column() + text.len() <= FOLD_COLUMN {
            self.put(text);
        } else {
            self.folded(text, fold.then_some(indent), false);
        }
        self.end_word();
    }

    /// Of a text with line breaks, all are at its end.
    pub(super) fn single_quoted(&mut self, text: &str, indent: usize, fold: bool) {
        self.indicator("'", false);
        let words = text.trim_end_matches('\n');
        self.folded(words, fold.then_some(indent), true);
        if words.len() < text.len() {
            // A single line break would be read as a space.
            (0..=text.len() - words.len()).for_each(|_| self.line_break());
            self.indent(indent);
        }
        self.put("'");
        self.end_word();
    }

    /// The characters; in a full line, a single space between words becomes a line break.
    fn folded(&mut self, text: &str, fold: Option<usize>, quoted: bool) {
        let mut rest = text;
        let mut after_space = false;
        while let Some(c) = rest.chars().next() {
            let following = &rest[c.len_utf8()..];
            let inner = !quoted || (rest.len() < text.len() && !following.is_empty());
            match fold {
                Some(indent)
                    if c == ' '
                        && !after_space
                        && self.column() > FOLD_COLUMN
                        && inner
                        && !following.starts_with(' ') =>
                {
                    self.indent_after_text(indent);
                }
                _ => self.push(c),
            }
            if c == '\'' && quoted {
                self.push(c);
            }
            after_space = c == ' ';
            rest = following;
        }
    }

    pub(super) fn double_quoted(&mut self, text: &str, indent: usize, fold: bool) {
        self.indicator("\"", false);
        let mut rest = text;
        let mut after_space = false;
        while let Some(c) = rest.chars().next() {
            let following = &rest[c.len_utf8()..];
            let full = fold
                && c == ' '
                && !after_space
                && self.column() > FOLD_COLUMN
                && rest.len() < text.len()
                && !following.is_empty();
            if full {
                self.indent_after_text(indent);
                if following.starts_with(' ') {
                    self.put("\\");
                }
            } else if c == '"' || c == '\\' || c == '\n' || !style::is_printable(c) {
                self.put(&escaped(c));
            } else {
                self.push(c);
            }
            after_space = c == ' ';
            rest = following;
        }
        self.put("\"");
        self.end_word();
    }

    pub(super) fn literal(&mut self, text: &str, indent: usize) {
        self.indicator("|", false);
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        let lines = text.trim_end_matches('\n');
        match text.len() - lines.len() {
            0 => self.put("-"),
            1 if !lines.is_empty() => {}
            _ => self.put("+"),
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.line_break();
            if !line.is_empty() {
                self.indent(indent);
                self.put(line);
            }
        }
        if text.ends_with('\n') {
            self.line_break();
        } else {
            self.end_word();
        }
    }
}

fn escaped(c: char) -> String {
    match c {
        '\0' => "\\0".into(),
        '\u{7}' => "\\a".into(),
        '\u{8}' => "\\b".into(),
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\u{b}' => "\\v".into(),
        '\u{c}' => "\\f".into(),
        '\r' => "\\r".into(),
        '\u{1b}' => "\\e".into(),
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\u{85}' => "\\N".into(),
        '\u{a0}' => "\\_".into(),
        '\u{2028}' => "\\L".into(),
        '\u{2029}' => "\\P".into(),
        c if c <= '\u{ff}' => format!("\\x{:02X}", c as u32),
        c if c <= '\u{ffff}' => format!("\\u{:04X}", c as u32),
        c => format!("\\U{:08X}", c as u32),
    }
}
