//! The parser's errors in libyaml's words, which users of BOSH know, with help texts.

const ONE_COLUMN: &str = "keys of one mapping, and items of one list, begin in the same column";
const NO_TABS: &str = "indent with spaces";

/// Start of the parser's error, libyaml's words, and the help text.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "mapping values are not allowed in this context",
        "mapping values are not allowed in this context",
        "a plain value that holds `: ` needs quotes; or the indentation is off",
    ),
    (
        "simple key expect",
        "could not find expected ':'",
        "a key needs `: ` after it; or the line before it is not finished",
    ),
    (
        "while parsing a block mapping, did not",
        "did not find expected key",
        ONE_COLUMN,
    ),
    (
        "while parsing a block collection, did not",
        "did not find expected '-' indicator",
        ONE_COLUMN,
    ),
    (
        "while parsing a flow sequence, expected",
        "did not find expected ',' or ']'",
        "a `[` is not closed, or a comma is missing",
    ),
    (
        "while parsing a flow mapping, did not",
        "did not find expected ',' or '}'",
        "a `{` is not closed, or a comma is missing",
    ),
    (
        "illegal placement of ':'",
        "did not find expected ',' or ']'",
        "a `[` before it is not closed",
    ),
    (
        "misplaced bracket",
        "found a closing bracket that nothing opened",
        "a plain value that begins with a bracket needs quotes",
    ),
    (
        "invalid trailing content after double-quoted",
        "found text after the closing quote",
        "a quote inside the value is doubled (`''`) or escaped (`\\\"`)",
    ),
    (
        "tabs disallowed",
        "found a tab character that violates indentation",
        NO_TABS,
    ),
    (
        "tab cannot be used",
        "found a tab character that violates indentation",
        NO_TABS,
    ),
    (
        "while scanning a plain scalar, found a tab",
        "found a tab character that violates indentation",
        NO_TABS,
    ),
    (
        "unexpected character: `",
        "found character that cannot start any token",
        "a plain value can't begin with `%`, `@` or a backtick: quote it",
    ),
];

/// Message and help for an error of the parser.
pub(super) fn of(reason: &str) -> (&str, Option<&'static str>) {
    match WORDS.iter().find(|(start, ..)| reason.starts_with(start)) {
        Some((_, message, help)) => (message, Some(help)),
        // "while scanning a quoted scalar, found unexpected end of stream"
        None if reason.starts_with("while ") => (reason.split_once(", ").map_or(reason, |(_, rest)| rest), None),
        None => (reason, None),
    }
}
