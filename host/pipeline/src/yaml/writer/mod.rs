//! Writes documents in the layout of libyaml, which yaml.v2 and Psych share: two columns a level, list items below
//! their key, long lines folded.

mod lines;
pub(super) mod order;
mod strings;
pub(super) mod style;

use crate::yaml::scalar::format_float;
use boson_document::{Map, Number, Tree, escape, ruby};
use lines::Lines;
use order::Key;
use style::{Readers, Style};

/// Columns a level.
const INDENT_COLUMNS: usize = 2;
/// Longest key, in bytes, that is written without `?`.
const MAX_SIMPLE_KEY_BYTES: usize = 128;

/// The text of a document, byte for byte as yaml.v2 writes it, and so as `bosh interpolate` prints it.
///
/// Guarantees: reads back as the same document, by [`super::read`] and by yaml.v2 (except that a float without a
/// fraction is written as an integer, as in yaml.v2). Not by Psych, which reads `1e+06` as a string and `1,000` as a
/// number.
pub fn write(tree: &Tree) -> String {
    let mut writer = Writer::new(Order::Sorted);
    writer.document(tree);
    writer.lines.into_text()
}

/// Kubernetes objects as documents of one text, each after `---`, members in their order, lines not folded.
///
/// Guarantees: readers of YAML 1.1, including Psych, and of YAML 1.2 read the same objects.
pub fn write_manifest(objects: &[Tree]) -> String {
    let mut writer = Writer::new(Order::Given);
    for object in objects {
        writer.lines.put("---");
        writer.lines.line_break();
        writer.document(object);
    }
    writer.lines.into_text()
}

/// The text of a document, byte for byte as Ruby's `to_yaml` writes it without its first line `---`. Members keep their
/// order.
///
/// Differences: U+2028 and U+2029, and dates that do not exist, are quoted in another way.
pub fn write_as_psych(tree: &Tree) -> String {
    let mut writer = Writer::new(Order::Psych);
    writer.document(tree);
    if writer.is_open_ended {
        writer.lines.put("...");
        writer.lines.line_break();
    }
    writer.lines.into_text()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The order and layout of yaml.v2.
    Sorted,
    /// The original order, for people who know Kubernetes' manifests.
    Given,
    /// The original order, in the layout of Psych.
    Psych,
}

/// The position of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    Key,
    /// After `key:`; or, as a key, after `?`.
    Member,
}

struct Writer {
    order: Order,
    lines: Lines,
    /// The last block of lines ends with empty ones: libyaml then marks the end of the document, also if more followed.
    is_open_ended: bool,
}

// === impl Writer ===

impl Writer {
    fn new(order: Order) -> Self {
        Self {
            order,
            lines: Lines::new(),
            is_open_ended: false,
        }
    }

    fn document(&mut self, tree: &Tree) {
        self.value(tree, Context::Root, None);
        self.lines.indent(0);
    }

    /// `indent`: indentation of the parent; `None` at the root.
    fn value(&mut self, tree: &Tree, context: Context, indent: Option<usize>) {
        match tree {
            Tree::Null if self.order == Order::Psych => self.psych_null(context),
            Tree::Null => self.lines.word("null"),
            Tree::Bool(value) => self.lines.word(if *value { "true" } else { "false" }),
            Tree::Number(number) if number.is_integer() => self.lines.word(number.text()),
            Tree::Number(number) => self.float(number),
            Tree::String(text) => self.string(text, context, indent),
            Tree::Array(items) if items.is_empty() => self.lines.word("[]"),
            Tree::Array(items) => self.list(items, context, indent),
            Tree::Object(map) if map.is_empty() => self.lines.word("{}"),
            Tree::Object(map) => match escape::as_special(tree) {
                Some(text) => self.lines.word(text),
                None => self.mapping(map, indent),
            },
        }
    }

    fn psych_null(&mut self, context: Context) {
        match context {
            Context::Key => self.lines.word("''"),
            _ => self.lines.end_word(),
        }
    }

    fn float(&mut self, number: &Number) {
        let text = match self.order {
            Order::Sorted => format_float(number.as_f64()),
            Order::Psych => return self.lines.word(&ruby::number(number)),
            Order::Given => number.text().to_string(),
        };
        match text.split_once(['e', 'E']) {
            // Without a point it is not a number in YAML 1.1, and Psych reads it as a string.
            Some((digits, power)) if !digits.contains('.') && self.order == Order::Given => {
                self.lines.word(&format!("{digits}.0e{}", signed(power)));
            }
            Some((digits, power)) => self.lines.word(&format!("{digits}e{}", signed(power))),
            None => self.lines.word(&text),
        }
    }

    fn list(&mut self, items: &[Tree], context: Context, indent: Option<usize>) {
        let below_key = context == Context::Member && self.lines.is_begun();
        let indent = indent.map_or(0, |indent| if below_key { indent } else { indent + INDENT_COLUMNS });
        for item in items {
            self.lines.indent(indent);
            self.lines.indicator("-", true);
            self.value(item, Context::Item, Some(indent));
        }
    }

    fn mapping(&mut self, map: &Map, indent: Option<usize>) {
        let indent = indent.map_or(0, |indent| indent + INDENT_COLUMNS);
        match self.order {
            Order::Sorted => order::sorted(map)
                .iter()
                .for_each(|(key, value)| self.member(key, value, indent)),
            Order::Given | Order::Psych => map
                .iter()
                .for_each(|(name, value)| self.member(&Key::of(name), value, indent)),
        }
    }

    fn member(&mut self, key: &Key<'_>, value: &Tree, indent: usize) {
        self.lines.indent(indent);
        if is_simple(key) {
            self.key(key, Context::Key, indent);
            self.lines.put(":");
        } else {
            self.lines.indicator("?", true);
            self.key(key, Context::Member, indent);
            self.lines.indent(indent);
            self.lines.indicator(":", true);
        }
        self.value(value, Context::Member, Some(indent));
    }

    fn key(&mut self, key: &Key<'_>, context: Context, indent: usize) {
        match key {
            // Psych merges even a quoted key. yaml.v2 leaves it plain, and so loses the member when it reads it again.
            Key::Text("<<") if self.order != Order::Psych => self.lines.word("!!str \"<<\""),
            Key::Text(text) => self.string(text, context, Some(indent)),
            Key::Other(tree) => self.value(tree, context, Some(indent)),
        }
    }

    fn string(&mut self, text: &str, context: Context, indent: Option<usize>) {
        if text == "<<" && self.order == Order::Psych {
            return self.lines.word("!!str '<<'");
        }
        let key = context == Context::Key;
        let fold = !key && self.order != Order::Given;
        let indent = indent.map_or(INDENT_COLUMNS, |indent| indent + INDENT_COLUMNS);
        let style = match self.order {
            Order::Sorted => style::of_string(text, key, Readers::YamlV2),
            Order::Given => style::of_string(text, key, Readers::All),
            Order::Psych => style::of_psych(text, key),
        };
        if style == Style::Literal {
            self.is_open_ended = text.ends_with("\n\n");
        }
        match style {
            Style::Plain => self.lines.plain(text, indent, fold),
            Style::Single => self.lines.single_quoted(text, indent, fold),
            Style::Double => self.lines.double_quoted(text, indent, fold),
            Style::Literal => self.lines.literal(text, indent),
        }
    }
}

/// Whether a key fits before a `:`.
fn is_simple(key: &Key<'_>) -> bool {
    let short = |text: &str| text.len() <= MAX_SIMPLE_KEY_BYTES && !style::is_multiline(text);
    match key {
        Key::Text(text) => short(text),
        Key::Other(Tree::String(text)) => short(text),
        Key::Other(Tree::Array(items)) => items.is_empty(),
        Key::Other(tree @ Tree::Object(map)) => map.is_empty() || escape::as_special(tree).is_some(),
        Key::Other(_) => true,
    }
}

/// An exponent with a sign, as YAML 1.1 asks for.
fn signed(power: &str) -> String {
    if power.starts_with(['+', '-']) {
        power.to_string()
    } else {
        format!("+{power}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/psych.json`: values, and their texts as `to_yaml(indent: 2)` of Psych 5 with libyaml 0.2.5 wrote them.
    #[test]
    fn documents_are_written_as_ruby_writes_them() {
        let recorded = boson_document::json::parse(include_str!("../../../tests/psych.json")).unwrap();
        let cases = recorded.as_array().unwrap().iter();
        let written = cases.map(|case| (write_as_psych(case.get("value").unwrap()), case.str("text").unwrap()));
        let wrong: Vec<_> = written.filter(|(written, wanted)| written != wanted).collect();
        assert_eq!(wrong, []);
    }
}
