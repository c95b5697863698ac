//! The parser's events, with places in the original text.

use super::relaxed::Repairs;
use super::syntax::count;
use crate::yaml::Span;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};
use std::borrow::Cow;

pub(super) struct Events<'t> {
    parser: Parser<'t, StrInput<'t>>,
    text: &'t str,
    /// Length in characters of a text to which a final line break was added; else `None`.
    characters: Option<usize>,
    repairs: &'t Repairs,
}

// === impl Events ===

impl<'t> Events<'t> {
    /// `ended`: the text had a final line break.
    pub(super) fn new(text: &'t str, ended: bool, repairs: &'t Repairs) -> Self {
        let characters = (!ended).then(|| text.chars().count());
        Self {
            parser: Parser::new_from_str(text),
            text,
            characters,
            repairs,
        }
    }

    pub(super) fn next(&mut self) -> Result<(Event<'t>, Span), ScanError> {
        let (mut event, span) = self
            .parser
            .next_event()
            .unwrap_or(Ok((Event::StreamEnd, saphyr_parser::Span::default())))?;
        if self.characters == Some(span.end.index()) {
            end_block(&mut event, self.text);
        }
        Ok((event, self.repairs.original(narrow(span))))
    }
}

/// Place of a parser error.
pub(super) fn place(found: &ScanError) -> Span {
    Span {
        line: count(found.marker().line()),
        column: count(found.marker().col() + 1),
        length: 0,
    }
}

/// Removes the added line break from a block scalar that reaches the end of the text.
fn end_block(event: &mut Event<'_>, text: &str) {
    let Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) = event else {
        return;
    };
    let last_line = text.trim_end_matches('\n').rsplit(['\n', '\r']).next().unwrap_or("");
    let Some(content) = value.strip_suffix('\n') else {
        return;
    };
    let last_content = content.rsplit('\n').next().unwrap_or("");
    // A last line with nothing but indentation is not part of the value.
    if !last_line.trim_matches(' ').is_empty() || last_content.trim_matches(' ').is_empty() {
        *value = Cow::Owned(content.to_string());
    }
}

fn narrow(span: saphyr_parser::Span) -> Span {
    let (start, end) = (span.start, span.end);
    let length = if start.line() == end.line() {
        end.col().saturating_sub(start.col())
    } else {
        0
    };
    Span {
        line: count(start.line()),
        column: count(start.col() + 1),
        length: count(length),
    }
}
