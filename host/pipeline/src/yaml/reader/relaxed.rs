//! Forms that YAML 1.1 allows and the parser, which reads YAML 1.2, does not: lines of a quoted or bracketed value that
//! begin left of the value's indentation, and a tab after `key:`.
//!
//! Indentation means nothing inside such values, so the lines are indented and the text is read again. Only lines for
//! which the parser itself reported such a value are changed; marks are moved back.

use super::syntax::count;
use crate::yaml::Span;
use saphyr_parser::ScanError;
use std::collections::BTreeMap;

/// Limit on the repairs of a document: each one parses from the start.
const MAX_REPAIRS: usize = 128;
/// Columns that are added in front of a line; more than the indentation of any block around it.
const EXTRA_COLUMNS: u32 = 200;
/// Limit on the text that is read again, over all repairs, in bytes.
const MAX_REREAD_BYTES: usize = 64 << 20;

/// The repairs of a text so far.
#[derive(Default)]
pub(super) struct Repairs {
    /// Columns added in front, by line.
    added: BTreeMap<u32, u32>,
    count: usize,
    bytes: usize,
}

// === impl Repairs ===

impl Repairs {
    /// The text with one more repair, if the error `found` can be repaired.
    pub(super) fn next(&mut self, text: &str, found: &ScanError) -> Option<String> {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(text.len());
        if self.count > MAX_REPAIRS || self.bytes > MAX_REREAD_BYTES {
            return None;
        }
        // The parser counts these as line breaks and `offset_of` does not: the wrong line would be indented.
        if text.replace("\r\n", "").contains('\r') {
            return None;
        }
        let (line, column) = (found.marker().line(), found.marker().col());
        let start = offset_of(text, line)?;
        let at = start
            + text[start..]
                .char_indices()
                .nth(column)
                .map_or(text.len() - start, |(offset, _)| offset);
        match found.info() {
            "invalid indentation" | "invalid indentation in flow construct" => Some(self.indent(text, line, &[start])),
            "invalid indentation in quoted scalar" => self.indent_quoted(text, line, at),
            "':' must be followed by a valid YAML whitespace" if text[..at].ends_with('\t') => {
                Some(format!("{} {}", &text[..at - 1], &text[at..]))
            }
            _ => None,
        }
    }

    /// The place in the original text for a place in the repaired one.
    pub(super) fn original(&self, at: Span) -> Span {
        let added = self.added.get(&at.line).copied().unwrap_or(0);
        Span {
            column: at.column.saturating_sub(added).max(1),
            ..at
        }
    }

    /// Indents lines that begin at these offsets, the first of them being number `line`.
    fn indent(&mut self, text: &str, line: usize, starts: &[usize]) -> String {
        let mut out = String::with_capacity(text.len() + starts.len() * EXTRA_COLUMNS as usize);
        let mut copied = 0;
        for (number, start) in starts.iter().enumerate() {
            out.push_str(&text[copied..*start]);
            out.extend(std::iter::repeat_n(' ', EXTRA_COLUMNS as usize));
            copied = *start;
            *self.added.entry(count(line + number)).or_default() += EXTRA_COLUMNS;
        }
        out.push_str(&text[copied..]);
        out
    }

    /// Indents the lines of the quoted scalar that begins at `at`.
    fn indent_quoted(&mut self, text: &str, line: usize, at: usize) -> Option<String> {
        let end = at + closing_quote(&text[at..])?;
        let starts: Vec<usize> = text[at..end]
            .match_indices('\n')
            .map(|(offset, _)| at + offset + 1)
            .collect();
        if starts.is_empty() || starts.len() * EXTRA_COLUMNS as usize > MAX_REREAD_BYTES {
            return None;
        }
        Some(self.indent(text, line + 1, &starts))
    }
}

/// Offset of the beginning of a line, counted from 1.
fn offset_of(text: &str, line: usize) -> Option<usize> {
    match line.checked_sub(2) {
        None => Some(0),
        Some(nth) => text.match_indices('\n').nth(nth).map(|(offset, _)| offset + 1),
    }
}

/// Offset of the quote that closes the scalar at the start of the text.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            byte if *byte != quote => at += 1,
            _ if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            _ => return Some(at),
        }
    }
}
