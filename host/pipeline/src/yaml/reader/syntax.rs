//! Errors of a text with their places, in libyaml's words if it has some.

use super::anchors::AliasError;
use super::words;
use crate::diagnostic::Diagnostic;
use crate::yaml::{MAX_DOCUMENT_BYTES, Span, codes};
use boson_document::{Code, MAX_DEPTH};
use saphyr_parser::ScanError;

/// Limit on line breaks, colons, commas and opening brackets.
const MAX_SEPARATORS: usize = 1_000_000;
/// Where a text begins.
const START_SPAN: Span = Span {
    line: 1,
    column: 1,
    length: 0,
};

/// Refuses input for every reader: too much text, control characters. Returns a warning if readers differ.
pub fn check_text(name: &str, text: &str) -> Result<Option<Diagnostic>, Diagnostic> {
    check_size(name, text.len())?;
    check_separators(name, text)?;
    // Bytes first: nearly every text has none of these, so it need not be decoded to check.
    let suspect =
        |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r') || matches!(byte, 0x7f | 0xc2 | 0xe2 | 0xef);
    if !text.bytes().any(suspect) {
        return Ok(None);
    }
    let at = |found: Diagnostic, offset: usize| {
        let (line, column) = position(text.as_bytes(), offset);
        found.in_document(name).on_line(line, Some(column))
    };
    if let Some((offset, c)) = text.char_indices().find(|(_, c)| is_control(*c)) {
        let code = c as u32;
        let help = format!("write U+{code:04X} as an escape (`\\x1b`, `\\uFEFF`) in double quotes, or remove it");
        let error = Diagnostic::error(codes::YAML_CONTROL, "control characters are not allowed");
        return Err(at(error.help(help), offset));
    }
    let separator = text
        .char_indices()
        .find(|(_, c)| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'));
    Ok(separator.map(|(offset, c)| {
        let code = c as u32;
        let message = format!("U+{code:04X} is a line break for BOSH, but an ordinary character here");
        let help = "remove it, or write it as an escape in double quotes";
        at(Diagnostic::warning(codes::YAML_LINE_BREAK, message).help(help), offset)
    }))
}

/// Refuses texts with too many values for the memory, if the parser would read all of them before it returns the first.
fn check_separators(name: &str, text: &str) -> Result<(), Diagnostic> {
    let separates = |byte: &u8| matches!(byte, b'\n' | b'\r' | b':' | b',' | b'[' | b'{');
    if text.bytes().filter(separates).count() <= MAX_SEPARATORS {
        Ok(())
    } else {
        Err(too_many_error(name, START_SPAN))
    }
}

/// The error for more values than any manifest needs.
pub(super) fn too_many_error(name: &str, at: Span) -> Diagnostic {
    too_large(name, at, "the document has too many values")
}

fn too_large(name: &str, at: Span, message: impl Into<String>) -> Diagnostic {
    error(name, codes::YAML_SIZE, at, message).help("move data from the manifest into a release")
}

fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        || c == '\u{feff}'
}

/// Refuses texts that are too long.
pub fn check_size(name: &str, bytes: usize) -> Result<(), Diagnostic> {
    if bytes <= MAX_DOCUMENT_BYTES {
        return Ok(());
    }
    let message = format!("the document has {bytes} bytes, more than the {MAX_DOCUMENT_BYTES} that are read");
    Err(too_large(name, START_SPAN, message))
}

/// The error for bytes that are not UTF-8 from `offset` on.
pub fn not_utf8(name: &str, bytes: &[u8], offset: usize) -> Diagnostic {
    let (line, column) = position(bytes, offset);
    let utf16 = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let help = if utf16 {
        "the file is UTF-16: save it as UTF-8"
    } else {
        "save the file as UTF-8; write binary content as base64 in a `!!binary` value"
    };
    Diagnostic::error(codes::YAML_ENCODING, "the document is not UTF-8")
        .in_document(name)
        .on_line(line, Some(column))
        .help(help)
}

/// Line and column of a byte offset.
fn position(bytes: &[u8], offset: usize) -> (u32, u32) {
    let before = &bytes[..offset];
    let newlines = before.iter().filter(|byte| **byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    // Continuation bytes begin no character.
    let characters = before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    (count(newlines + 1), count(characters + 1))
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// An error at a place of a document.
pub(super) fn error(name: &str, code: &Code, at: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, message)
        .in_document(name)
        .on_line(at.line, Some(at.column))
}

/// The error for what the scanner found.
pub(super) fn scan_error(name: &str, text: &str, found: &ScanError, at: Span) -> Diagnostic {
    let info = found.info();
    if info == "while parsing node, found unknown anchor" {
        let message = format!("unknown anchor '{}' referenced", name_after(text, at));
        return error(name, codes::YAML_ANCHOR, at, message)
            .help("an anchor (`&name`) must be before the aliases (`*name`) that refer to it, in the same document");
    }
    if info == "recursion limit exceeded" {
        return too_deep_error(name, at);
    }
    let at = if info.starts_with("simple key expect") {
        key_before(text, at)
    } else {
        at
    };
    let (message, help) = words::of(info);
    Diagnostic {
        help: help.map(str::to_string),
        ..error(name, codes::YAML_SYNTAX, at, message)
    }
}

/// Place of a key without `:`, which the parser notices only at the next token.
fn key_before(text: &str, at: Span) -> Span {
    let lines: Vec<&str> = text.lines().take(at.line as usize).collect();
    let begun = |line: &str, column: u32| line.chars().take(column.saturating_sub(1) as usize).any(|c| c != ' ');
    if lines
        .get(at.line.saturating_sub(1) as usize)
        .is_some_and(|line| begun(line, at.column))
    {
        return at;
    }
    let before = lines.iter().enumerate().take(at.line.saturating_sub(1) as usize).rev();
    let mut lines = before.map(|(index, line)| (index, line.trim_start(), line.len() - line.trim_start().len()));
    match lines.find(|(_, content, _)| !content.is_empty() && !content.starts_with('#')) {
        Some((index, _, indent)) => Span {
            line: count(index + 1),
            column: count(indent + 1),
            length: 0,
        },
        None => at,
    }
}

/// The error for nesting that no manifest needs.
pub(super) fn too_deep_error(name: &str, at: Span) -> Diagnostic {
    let message = format!("the document is nested more than {MAX_DEPTH} deep");
    error(name, codes::YAML_DEPTH, at, message)
}

pub(super) fn alias_error(name: &str, text: &str, at: Span, refused: &AliasError) -> Diagnostic {
    match refused {
        AliasError::Excessive => error(name, codes::YAML_ALIASES, at, "document contains excessive aliasing")
            .help("every alias becomes a copy of its anchor's value; copies of copies grow without bound"),
        AliasError::Itself => {
            let message = format!("anchor '{}' value contains itself", name_after(text, at));
            error(name, codes::YAML_ANCHOR, at, message)
        }
    }
}

/// The error for a list or mapping used as a key.
pub(super) fn collection_key_error(name: &str, at: Span) -> Diagnostic {
    let message = "invalid map key: neither a list nor a mapping can be a key";
    error(name, codes::YAML_KEY, at, message)
        .help("a value that begins with `{` or `[`, such as a placeholder of another tool, needs quotes")
}

/// The error for a value after `<<:` that cannot be merged. `list`: an alias of a list.
pub(super) fn merge_error(name: &str, at: Span, list: bool) -> Diagnostic {
    let message = "map merge requires map or sequence of maps as the value";
    let found = error(name, codes::YAML_MERGE, at, message);
    if list {
        found.help("an alias of a list can't be merged; write the list out: `<<: [*first, *second]`")
    } else {
        found
    }
}

/// The name of the anchor or alias at a place.
pub(super) fn name_after(text: &str, at: Span) -> String {
    let line = text.split('\n').nth(at.line.saturating_sub(1) as usize).unwrap_or("");
    let word = line
        .chars()
        .skip(at.column as usize)
        .take_while(|c| !c.is_whitespace() && !matches!(c, ',' | '[' | ']' | '{' | '}'));
    word.take(64).collect()
}

/// yaml.v3 allows one merge in a mapping.
pub(super) fn second_merge_error(name: &str, at: Span) -> Diagnostic {
    let message = "`<<` stands twice in one mapping, which BPM refuses";
    error(name, codes::YAML_DUPLICATE_KEY, at, message).help("merge a list: `<<: [*first, *second]`")
}
