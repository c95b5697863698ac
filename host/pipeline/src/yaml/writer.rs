//! Documents as text, laid out as yaml.v2 does: two columns a level, list items below their key, long lines folded.

use super::order::{self, Key};
use super::scalar::format_float;
use super::style::{self, Style};
use boson_document::{Map, Number, Tree, escape};

/// Column after which a space becomes a line break, where lines are folded.
const WIDTH: usize = 80;
/// Columns a level.
const INDENT: usize = 2;
/// Longest key, in bytes, that is written without `?`.
const MAX_SIMPLE_KEY: usize = 128;

/// The text of a document, keys sorted as yaml.v2 sorts them.
///
/// Guarantees: reads back as the same document, by [`super::read`], by yaml.v2 and by Psych (but a float that has no fraction
/// is written as an integer, as yaml.v2 does).
pub fn write(tree: &Tree) -> String {
    let mut writer = Writer::new(Order::Sorted);
    writer.document(tree);
    writer.out
}

/// Kubernetes objects as documents of one text, each after `---`, members in their order, lines as long as they are.
///
/// Guarantees: readers of YAML 1.1 and of YAML 1.2 take it for the same objects.
pub fn write_manifest(objects: &[Tree]) -> String {
    let mut writer = Writer::new(Order::Given);
    for object in objects {
        writer.out.push_str("---\n");
        writer.document(object);
    }
    writer.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As yaml.v2 has it, whose layout goes with it.
    Sorted,
    /// As it is, for people who know Kubernetes' manifests.
    Given,
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    Key,
    /// After `key:`; or, being a key itself, after `?`.
    Member,
}

struct Writer {
    order: Order,
    out: String,
    /// Characters since the last line break.
    column: usize,
    /// The last character is white, or there is none.
    white: bool,
    /// Nothing but indentation and `-` on this line yet.
    indention: bool,
}

// === impl Writer ===

impl Writer {
    fn new(order: Order) -> Self {
        Self {
            order,
            out: String::new(),
            column: 0,
            white: true,
            indention: true,
        }
    }

    fn document(&mut self, tree: &Tree) {
        (self.column, self.white, self.indention) = (0, true, true);
        self.value(tree, Context::Root, None);
        self.indent(0);
    }

    /// `indent`: of what the value stands in; none at the root.
    fn value(&mut self, tree: &Tree, context: Context, indent: Option<usize>) {
        match tree {
            Tree::Null => self.word("null"),
            Tree::Bool(value) => self.word(if *value { "true" } else { "false" }),
            Tree::Number(number) if number.is_integer() => self.word(number.text()),
            Tree::Number(number) => self.float(number),
            Tree::String(text) => self.string(text, context, indent),
            Tree::Array(items) if items.is_empty() => self.word("[]"),
            Tree::Array(items) => self.list(items, context, indent),
            Tree::Object(map) if map.is_empty() => self.word("{}"),
            Tree::Object(map) => match escape::as_special(tree) {
                Some(text) => self.word(text),
                None => self.mapping(map, indent),
            },
        }
    }

    fn float(&mut self, number: &Number) {
        let text = match self.order {
            Order::Sorted => format_float(number.as_f64()),
            Order::Given => number.text().to_string(),
        };
        match text.split_once(['e', 'E']) {
            // Without a point it is no number by YAML 1.1, and Psych takes it for a string.
            Some((digits, power)) if !digits.contains('.') => self.word(&format!("{digits}.0e{}", signed(power))),
            Some((digits, power)) => self.word(&format!("{digits}e{}", signed(power))),
            None => self.word(&text),
        }
    }

    fn list(&mut self, items: &[Tree], context: Context, indent: Option<usize>) {
        let below_key = context == Context::Member && !self.indention;
        let indent = indent.map_or(0, |indent| if below_key { indent } else { indent + INDENT });
        for item in items {
            self.indent(indent);
            self.indicator("-", true);
            self.value(item, Context::Item, Some(indent));
        }
    }

    fn mapping(&mut self, map: &Map, indent: Option<usize>) {
        let indent = indent.map_or(0, |indent| indent + INDENT);
        match self.order {
            Order::Sorted => order::sorted(map)
                .iter()
                .for_each(|(key, value)| self.member(key, value, indent)),
            Order::Given => map
                .iter()
                .for_each(|(name, value)| self.member(&Key::of(name), value, indent)),
        }
    }

    fn member(&mut self, key: &Key<'_>, value: &Tree, indent: usize) {
        self.indent(indent);
        if is_simple(key) {
            self.key(key, Context::Key, indent);
            self.put(":");
        } else {
            self.indicator("?", true);
            self.key(key, Context::Member, indent);
            self.indent(indent);
            self.indicator(":", true);
        }
        self.value(value, Context::Member, Some(indent));
    }

    fn key(&mut self, key: &Key<'_>, context: Context, indent: usize) {
        match key {
            Key::Text(text) => self.string(text, context, Some(indent)),
            Key::Other(tree) => self.value(tree, context, Some(indent)),
        }
    }

    fn string(&mut self, text: &str, context: Context, indent: Option<usize>) {
        let key = context == Context::Key;
        let fold = !key && self.order == Order::Sorted;
        let indent = indent.map_or(INDENT, |indent| indent + INDENT);
        match style::of_string(text, key) {
            Style::Plain => self.plain(text, indent, fold),
            Style::Single => self.single_quoted(text, indent, fold),
            Style::Double => self.double_quoted(text, indent, fold),
            Style::Literal => self.literal(text, indent),
        }
    }

    fn plain(&mut self, text: &str, indent: usize, fold: bool) {
        self.space();
        if self.column + text.len() <= WIDTH {
            self.put(text);
        } else {
            self.folded(text, fold.then_some(indent), false);
        }
        (self.white, self.indention) = (false, false);
    }

    fn single_quoted(&mut self, text: &str, indent: usize, fold: bool) {
        self.indicator("'", false);
        self.folded(text, fold.then_some(indent), true);
        self.put("'");
    }

    /// The characters; where a line is full, a single space between words becomes a line break.
    fn folded(&mut self, text: &str, fold: Option<usize>, quoted: bool) {
        let mut rest = text;
        let mut after_space = false;
        while let Some(c) = rest.chars().next() {
            let following = &rest[c.len_utf8()..];
            let inner = !quoted || (rest.len() < text.len() && !following.is_empty());
            match fold {
                Some(indent)
                    if c == ' ' && !after_space && self.column > WIDTH && inner && !following.starts_with(' ') =>
                {
                    self.indent_after_text(indent);
                }
                _ => self.push(c),
            }
            if c == '\'' && quoted {
                self.push(c);
            }
            after_space = c == ' ';
            if !after_space {
                self.indention = false;
            }
            rest = following;
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, fold: bool) {
        self.indicator("\"", false);
        let mut rest = text;
        let mut after_space = false;
        while let Some(c) = rest.chars().next() {
            let following = &rest[c.len_utf8()..];
            let full = fold
                && c == ' '
                && !after_space
                && self.column > WIDTH
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
        (self.white, self.indention) = (false, false);
    }

    fn literal(&mut self, text: &str, indent: usize) {
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
            (self.white, self.indention) = (false, false);
        }
    }

    /// Something without spaces.
    fn word(&mut self, text: &str) {
        self.space();
        self.put(text);
        (self.white, self.indention) = (false, false);
    }

    /// A sign that needs white space before it. `keeps`: the line counts as empty after it.
    fn indicator(&mut self, sign: &str, keeps: bool) {
        self.space();
        self.put(sign);
        self.white = false;
        self.indention = self.indention && keeps;
    }

    fn space(&mut self) {
        if !self.white {
            self.push(' ');
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        (self.white, self.indention) = (true, true);
    }

    fn indent_after_text(&mut self, indent: usize) {
        self.indention = false;
        self.indent(indent);
    }

    /// To this column, on a new line where something stands on this one.
    fn indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.white) {
            self.line_break();
        }
        while self.column < indent {
            self.push(' ');
        }
        (self.white, self.indention) = (true, true);
    }
}

/// Whether a key fits before a `:`.
fn is_simple(key: &Key<'_>) -> bool {
    let short = |text: &str| text.len() <= MAX_SIMPLE_KEY && !style::is_multiline(text);
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
