//! JSON text to tree and back, without loss: order of members, literal text of numbers.
//!
//! Our own reader, because the libraries' either round numbers or (serde_json's `arbitrary_precision`) change their
//! representation for every other crate of the process, which breaks Kubernetes' types.

use crate::number::{self, NoDigit};
use crate::{MAX_DEPTH, Map, Number, Tree};
use std::fmt;

/// Why a text is not a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub message: &'static str,
    /// Where: byte offset into the text.
    pub offset: usize,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the JSON text", self.message, self.offset)
    }
}

impl std::error::Error for Error {}

/// Reads a document.
///
/// # Errors
/// Text that is not one JSON value, or one nested deeper than [`MAX_DEPTH`]. Of members with the same name the last
/// wins.
pub fn parse(text: &str) -> Result<Tree, Error> {
    let mut reader = Reader {
        text,
        at: 0,
        members: Vec::new(),
        items: Vec::new(),
    };
    let tree = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        reader.fail("more text after the value")
    } else {
        Ok(tree)
    }
}

/// The text of a document, compact.
pub fn to_text(tree: &Tree) -> String {
    let mut out = String::new();
    write(tree, &mut out);
    out
}

/// The text of a document with a line for each member and item, indented by two spaces, and a newline at the end.
pub fn to_lines(tree: &Tree) -> String {
    let mut out = String::new();
    write_lines(tree, 0, &mut out);
    out.push('\n');
    out
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Members of the objects that are still open, the innermost last: a map that is made when all of its members are
    /// known is allocated once, and reading is mostly allocating.
    members: Vec<(String, Tree)>,
    /// Items of the lists that are still open.
    items: Vec<Tree>,
}

// === impl Reader ===

impl<'t> Reader<'t> {
    fn fail<T>(&self, message: &'static str) -> Result<T, Error> {
        Err(Error {
            message,
            offset: self.at,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, message: &'static str) -> Result<(), Error> {
        if self.accept(byte) { Ok(()) } else { self.fail(message) }
    }

    fn word(&mut self, word: &str, tree: Tree) -> Result<Tree, Error> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return self.fail("no such word");
        }
        self.at += word.len();
        Ok(tree)
    }

    fn value(&mut self, depth: usize) -> Result<Tree, Error> {
        self.space();
        match self.peek() {
            Some(b'{') if depth < MAX_DEPTH => self.object(depth),
            Some(b'[') if depth < MAX_DEPTH => self.array(depth),
            Some(b'{' | b'[') => self.fail("nesting is too deep"),
            Some(b'"') => Ok(Tree::String(self.string()?)),
            Some(b't') => self.word("true", Tree::Bool(true)),
            Some(b'f') => self.word("false", Tree::Bool(false)),
            Some(b'n') => self.word("null", Tree::Null),
            Some(_) => Ok(Tree::Number(self.number()?)),
            None => self.fail("the text ends where a value should be"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Tree, Error> {
        self.at += 1;
        self.space();
        if self.accept(b'}') {
            return Ok(Tree::object());
        }
        let first = self.members.len();
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.expect(b':', "no ':' after a member's name")?;
            let value = self.value(depth + 1)?;
            self.members.push((name, value));
            self.space();
            if self.accept(b'}') {
                let mut map = Map::with_capacity(self.members.len() - first);
                map.extend(self.members.drain(first..));
                return Ok(Tree::Object(map));
            }
            self.expect(b',', "neither ',' nor '}' after a member")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Tree, Error> {
        self.at += 1;
        self.space();
        if self.accept(b']') {
            return Ok(Tree::Array(Vec::new()));
        }
        let first = self.items.len();
        loop {
            let item = self.value(depth + 1)?;
            self.items.push(item);
            self.space();
            if self.accept(b']') {
                return Ok(Tree::Array(self.items.drain(first..).collect()));
            }
            self.expect(b',', "neither ',' nor ']' after an item")?;
        }
    }

    fn string(&mut self) -> Result<String, Error> {
        self.expect(b'"', "no string where one should be")?;
        let mut out = String::new();
        loop {
            let plain = self.plain();
            match self.peek() {
                // Most strings have no escape: one allocation of the right size.
                Some(b'"') if out.is_empty() => {
                    self.at += 1;
                    return Ok(plain.to_string());
                }
                Some(b'"') => {
                    self.at += 1;
                    out.push_str(plain);
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(plain);
                    out.push(self.escape()?);
                }
                Some(_) => return self.fail("a control character in a string"),
                None => return self.fail("a string does not end"),
            }
        }
    }

    /// The text up to what ends a string, starts an escape or has no place in one.
    fn plain(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest
            .bytes()
            .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn escape(&mut self) -> Result<char, Error> {
        self.at += 1;
        let byte = self.peek();
        self.at += 1;
        Ok(match byte {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => self.unicode()?,
            _ => return self.fail("no such escape"),
        })
    }

    fn unicode(&mut self) -> Result<char, Error> {
        let high = self.hex()?;
        let code = if (0xd800..0xdc00).contains(&high) && self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex()?;
            if !(0xdc00..0xe000).contains(&low) {
                return self.fail("half a surrogate pair");
            }
            0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).map_or_else(|| self.fail("half a surrogate pair"), Ok)
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let digits = self
            .text
            .as_bytes()
            .get(self.at..self.at + 4)
            .filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(value) = digits.and_then(|d| u32::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok()) else {
            return self.fail("no four hexadecimal digits");
        };
        self.at += 4;
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, Error> {
        let text = &self.text[self.at..];
        match number::scan(text) {
            Ok(length) => {
                self.at += length;
                Ok(Number::from_checked(&text[..length]))
            }
            Err(NoDigit(offset)) => {
                self.at += offset;
                self.fail("no digit where one should be")
            }
        }
    }
}

fn write(tree: &Tree, out: &mut String) {
    match tree {
        Tree::Null => out.push_str("null"),
        Tree::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Tree::Number(number) => out.push_str(number.text()),
        Tree::String(text) => write_string(text, out),
        Tree::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Tree::Object(map) => {
            out.push('{');
            for (index, (name, value)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn write_lines(tree: &Tree, depth: usize, out: &mut String) {
    let line = |depth: usize, nth: usize, out: &mut String| {
        out.push_str(if nth > 0 { ",\n" } else { "\n" });
        out.extend(std::iter::repeat_n("  ", depth));
    };
    let end = |bracket: char, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
        out.push(bracket);
    };
    match tree {
        Tree::Array(items) if !items.is_empty() => {
            out.push('[');
            for (nth, item) in items.iter().enumerate() {
                line(depth + 1, nth, out);
                write_lines(item, depth + 1, out);
            }
            end(']', out);
        }
        Tree::Object(map) if !map.is_empty() => {
            out.push('{');
            for (nth, (name, value)) in map.iter().enumerate() {
                line(depth + 1, nth, out);
                write_string(name, out);
                out.push_str(": ");
                write_lines(value, depth + 1, out);
            }
            end('}', out);
        }
        other => write(other, out),
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest
        .bytes()
        .position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            byte => out.push_str(&format!("\\u{byte:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_and_numbers_survive() {
        let text = r#"{"b":1.10,"a":[123456789012345678901234567890,-0.0,1E5],"":null}"#;
        assert_eq!(to_text(&parse(text).unwrap()), text);
    }

    #[test]
    fn lines_have_members_and_items() {
        let tree = parse(r#"{"b":1.10,"a":[[],{},{"c":"\n"}]}"#).unwrap();
        let lines = "{\n  \"b\": 1.10,\n  \"a\": [\n    [],\n    {},\n    {\n      \"c\": \"\\n\"\n    }\n  ]\n}\n";
        assert_eq!(to_lines(&tree), lines);
        assert_eq!(parse(lines).unwrap(), tree);
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(parse(r#""\u00e9\ud83d\ude00\n\/""#).unwrap(), Tree::from("é😀\n/"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "01",
            "1.",
            "+1",
            ".5",
            "\"\\x\"",
            "\"\\ud800\"",
            "nul",
            "1 2",
            "{\"a\" 1}",
            "\"\u{1}\"",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(
            parse(&nested(MAX_DEPTH + 1)).unwrap_err().message,
            "nesting is too deep"
        );
    }

    fn any_tree() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            Just(Tree::Null),
            any::<bool>().prop_map(Tree::Bool),
            any::<i64>().prop_map(Tree::from),
            any::<String>().prop_map(Tree::String),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Tree::Array),
                prop::collection::vec((any::<String>(), inner), 0..8).prop_map(Tree::from_iter),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_tree_comes_back(tree in any_tree()) {
            prop_assert_eq!(parse(&to_text(&tree)).unwrap(), tree);
        }

        #[test]
        fn serde_json_agrees(tree in any_tree()) {
            let ours: serde_json::Value = serde_json::from_str(&to_text(&tree)).unwrap();
            prop_assert_eq!(ours, serde_json::to_value(&tree).unwrap());
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
