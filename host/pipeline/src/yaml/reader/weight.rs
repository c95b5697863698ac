//! How much memory a text needs, computed before it is read: readers request it from the budget of their process.

use super::anchors::{MAX_COPIED_BYTES, MAX_COPIED_VALUES, Size};
use super::events::Events;
use super::{Read, ReadError, with_repairs};
use saphyr_parser::Event;
use std::cell::Cell;
use std::collections::HashMap;

/// Bytes for a value in the tree and the marks, including the spare capacity of lists and maps while they are read.
const VALUE_BYTES: u64 = 320;
/// Additional bytes for a value with a key.
const KEY_BYTES: u64 = 160;
/// Bytes for a value between brackets, where the parser may hold all its tokens before it returns the first.
const FLOW_VALUE_BYTES: u64 = 640;
/// Bytes for a byte of text: the text itself, and its copy in the tree.
const TEXT_FACTOR: u64 = 3;
/// Most commas in a text whose copies are counted before memory is requested for it: the parser may hold so many
/// tokens, 6 MiB. Other texts with aliases need as much as the reader accepts.
const MAX_COUNTED_COMMAS: usize = 10_000;

/// Memory for reading this text and then for the document; an upper limit.
pub fn weight(text: &[u8]) -> u64 {
    let flow = text.iter().any(|byte| matches!(byte, b'[' | b'{'));
    let mut bytes = text.len() as u64 * TEXT_FACTOR;
    for byte in text {
        bytes += match byte {
            b'\n' | b'\r' | b'[' | b'{' => VALUE_BYTES,
            b',' if flow => FLOW_VALUE_BYTES,
            b':' => KEY_BYTES,
            _ => continue,
        };
    }
    if !may_have_aliases(text) {
        return bytes;
    }
    let copied = copies(text);
    bytes + copied.values as u64 * VALUE_BYTES + copied.bytes as u64
}

/// Whether there may be an alias of an anchor.
fn may_have_aliases(text: &[u8]) -> bool {
    let has = |sign: u8| {
        let begins = |three: &[u8]| match three {
            [before, at, after] => {
                *at == sign
                    && (before.is_ascii_whitespace() || matches!(before, b'[' | b',' | b':' | b'-'))
                    && !after.is_ascii_whitespace()
            }
            _ => false,
        };
        text.windows(3).any(begins)
    };
    has(b'&') && has(b'*')
}

/// What the reader copies for anchors and aliases before it ends, successfully or not.
fn copies(text: &[u8]) -> Size {
    let commas = text.iter().filter(|byte| **byte == b',').count();
    let Some(text) = std::str::from_utf8(text).ok().filter(|_| commas <= MAX_COUNTED_COMMAS) else {
        return Size {
            values: MAX_COPIED_VALUES,
            bytes: MAX_COPIED_BYTES,
        };
    };
    let most = Cell::new(Size::default());
    // Where this fails, the reader fails, too.
    let _ = with_repairs("", text, |events| {
        let mut count = Count::default();
        let counted = count.document(events);
        most.set(most.get().max(count.copied));
        counted
    });
    most.get()
}

/// The sizes of a document's anchors, and what was copied so far, as in [`super::anchors`].
#[derive(Default)]
struct Count {
    anchors: HashMap<usize, Size>,
    /// The collections around the current value: their anchors, and the size of the document before them.
    open: Vec<(usize, Size)>,
    size: Size,
    copied: Size,
}

// === impl Count ===

impl Count {
    fn document(&mut self, mut events: Events<'_>) -> Read<()> {
        loop {
            let before = self.size;
            self.size.values += 1;
            match events.next().map_err(ReadError::Scan)?.0 {
                Event::Scalar(text, _, anchor, _) => {
                    self.size.bytes += text.len();
                    self.end(anchor, before);
                }
                Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => self.open.push((anchor, before)),
                Event::SequenceEnd | Event::MappingEnd => {
                    if let Some((anchor, before)) = self.open.pop() {
                        self.end(anchor, before);
                    }
                }
                Event::Alias(anchor) => {
                    let size = self.anchors.get(&anchor).copied().unwrap_or_default();
                    self.size.add(size);
                    self.copied.add(size);
                }
                Event::DocumentEnd | Event::StreamEnd => return Ok(()),
                _ => {}
            }
            if self.copied.values > MAX_COPIED_VALUES || self.copied.bytes > MAX_COPIED_BYTES {
                return Ok(());
            }
        }
    }

    fn end(&mut self, anchor: usize, before: Size) {
        if anchor > 0 {
            let size = self.size.since(before);
            self.copied.add(size);
            self.anchors.insert(anchor, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Dialect;
    use crate::yaml::reader::read;

    #[test]
    fn a_text_with_more_values_needs_more_memory() {
        let long = weight("x".repeat(4000).as_bytes());
        let values = weight("- a\n".repeat(1000).as_bytes());
        let flow = weight(format!("[{}]", "a,".repeat(1000)).as_bytes());
        assert!(long < values && values < flow, "{long} {values} {flow}");
    }

    #[test]
    fn copies_of_anchors_count_and_globs_do_not() {
        let list = "- a\n".repeat(100);
        let plain = weight(format!("x:\n{list}y: '*.a'\n").as_bytes());
        let glob = weight(format!("x:\n{list}y: *.abc\n").as_bytes());
        assert_eq!(plain, glob);
        assert!(weight(format!("x: &a\n{list}y: *a\n").as_bytes()) > plain + 200 * VALUE_BYTES);
    }

    /// An alias costs what it copies, not the whole document.
    #[test]
    fn aliases_cost_what_they_copy() {
        let rest = "- {name: a, value: b}\n".repeat(2000);
        let aliases = "- *pair\n".repeat(40);
        let text = format!("pair: &pair {{a: 1, b: 2}}\nrest:\n{rest}aliases:\n{aliases}");
        let copied = copies(text.as_bytes());
        // Two members and the mapping, which the anchor keeps as well.
        assert!((41 * 5..=41 * 6).contains(&copied.values), "{copied:?}");
        let without = weight(text.replace("*pair", "pair*").as_bytes());
        assert!(weight(text.as_bytes()) < without + 41 * 6 * VALUE_BYTES + 1000);
    }

    /// What the reader copies before it refuses a text is counted, and little more.
    #[test]
    fn attacks_with_aliases_weigh_as_much_as_the_reader_would_copy() {
        let list = format!("a: &a [{}]\n", "x,".repeat(9));
        let layers: String = ('b'..='j')
            .map(|name| {
                let before = char::from(name as u8 - 1);
                format!("{name}: &{name} [{}]\n", format!("*{before},").repeat(9))
            })
            .collect();
        for text in [
            format!("{list}{layers}"),
            // A mistake after the bomb, a repair before it, and more commas than are counted.
            format!("{list}{layers}x: [\n"),
            format!("t:\tx\n{list}{layers}"),
            format!("{list}{layers}z: [{}]\n", "x,".repeat(20_000)),
        ] {
            assert!(read("", &text, Dialect::YamlV2).is_err());
            assert!(
                weight(text.as_bytes()) > MAX_COPIED_VALUES as u64 * VALUE_BYTES,
                "{}",
                text.len()
            );
        }
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(40));
        assert!(read("", &long, Dialect::YamlV2).is_err());
        assert!(weight(long.as_bytes()) > MAX_COPIED_BYTES as u64);
    }
}
