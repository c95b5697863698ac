//! Events of the parser become a tree and its marks.

use super::marks::{Mark, Span};
use super::scalar::{Scalar, format_float};
use super::syntax::{self, count, error};
use crate::diagnostic::Diagnostic;
use boson_document::{MAX_DEPTH, Map, Number, Tree, escape};
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use std::collections::HashMap;

/// Most values that aliases may add: a document of a few lines must not fill the memory.
const MAX_ALIASED: usize = 1_000_000;
/// Most bytes of text that aliases may add.
const MAX_ALIASED_BYTES: usize = 64 << 20;

type Result<T> = std::result::Result<T, Diagnostic>;

/// Reads the first document.
pub(super) fn read(name: &str, text: &str) -> Result<(Tree, Mark, Vec<Diagnostic>)> {
    let mut reader = Reader {
        name,
        text,
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        size: Size::default(),
        aliased: Size::default(),
        warnings: Vec::new(),
    };
    let node = reader.document()?;
    Ok((node.tree, node.mark, reader.warnings))
}

/// What aliases are charged for.
#[derive(Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
}

/// A value that was read.
#[derive(Clone)]
struct Node {
    tree: Tree,
    mark: Mark,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    /// The key `<<`.
    Merge,
    List,
    Mapping,
}

struct Anchor {
    /// None while the value that bears it is being read.
    node: Option<Node>,
    size: Size,
}

struct Reader<'t> {
    name: &'t str,
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Anchor>,
    size: Size,
    aliased: Size,
    warnings: Vec<Diagnostic>,
}

// === impl Reader ===

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span)> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, narrow(span))),
            Some(Err(found)) => Err(syntax::scan_error(self.name, self.text, &found)),
            None => Ok((
                Event::StreamEnd,
                Span {
                    line: 1,
                    column: 1,
                    length: 0,
                },
            )),
        }
    }

    fn document(&mut self) -> Result<Node> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::Nothing, _) => {}
                (Event::DocumentStart(_), _) => break,
                (_, at) => {
                    return Ok(Node {
                        tree: Tree::Null,
                        mark: Mark::leaf(at),
                        kind: Kind::Scalar,
                    });
                }
            }
        }
        let (event, at) = self.next()?;
        let node = self.node(event, at, 0)?;
        self.next()?;
        // What follows is not read by BOSH, so it may even be broken.
        if let Ok((Event::DocumentStart(_), at)) = self.next() {
            let warning = Diagnostic::warning("yaml-more-documents", "only the first document of a file is read");
            self.warn(
                warning.help("remove what follows the second `---`, or move it to a file of its own"),
                at,
            );
        }
        Ok(node)
    }

    fn warn(&mut self, warning: Diagnostic, at: Span) {
        self.warnings
            .push(warning.in_document(self.name).on_line(at.line, Some(at.column)));
    }

    fn node(&mut self, event: Event<'t>, at: Span, depth: usize) -> Result<Node> {
        self.size.values += 1;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.size.bytes += text.len();
                let (tree, kind) = self.scalar(&text, style, tag.as_deref(), at)?;
                let node = Node {
                    tree,
                    mark: Mark::leaf(at),
                    kind,
                };
                if anchor > 0 {
                    let size = Size {
                        values: 1,
                        bytes: text.len(),
                    };
                    self.anchors.insert(
                        anchor,
                        Anchor {
                            node: Some(node.clone()),
                            size,
                        },
                    );
                }
                Ok(node)
            }
            Event::SequenceStart(anchor, _) => self.anchored(anchor, at, depth, Self::list),
            Event::MappingStart(anchor, _) => self.anchored(anchor, at, depth, Self::mapping),
            Event::Alias(anchor) => self.alias(anchor, at, depth),
            _ => Err(error(
                self.name,
                "yaml-syntax",
                at,
                "did not find expected node content",
            )),
        }
    }

    fn anchored(
        &mut self,
        anchor: usize,
        at: Span,
        depth: usize,
        read: fn(&mut Self, Span, usize) -> Result<Node>,
    ) -> Result<Node> {
        if depth >= MAX_DEPTH {
            return Err(syntax::too_deep(self.name, at));
        }
        if anchor == 0 {
            return read(self, at, depth + 1);
        }
        let before = self.size;
        self.anchors.insert(
            anchor,
            Anchor {
                node: None,
                size: Size::default(),
            },
        );
        let node = read(self, at, depth + 1)?;
        let size = Size {
            values: self.size.values - before.values + 1,
            bytes: self.size.bytes - before.bytes,
        };
        // Anchors within anchors are copies of copies too.
        self.charge(size, at)?;
        self.anchors.insert(
            anchor,
            Anchor {
                node: Some(node.clone()),
                size,
            },
        );
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, at: Span, depth: usize) -> Result<Node> {
        let size = self.anchors.get(&anchor).map_or(Size::default(), |anchor| anchor.size);
        // Before the copy is made: it may be what fills the memory.
        self.charge(size, at)?;
        let Some(node) = self.anchors.get(&anchor).and_then(|anchor| anchor.node.as_ref()) else {
            let name = syntax::name_after(self.text, at);
            return Err(error(
                self.name,
                "yaml-anchor",
                at,
                format!("anchor '{name}' value contains itself"),
            ));
        };
        if depth + height(&node.tree) > MAX_DEPTH {
            return Err(syntax::too_deep(self.name, at));
        }
        let mut copy = node.clone();
        (copy.mark.key, copy.mark.value) = (at, at);
        self.size.values += size.values;
        self.size.bytes += size.bytes;
        Ok(copy)
    }

    /// Counts a copy.
    fn charge(&mut self, size: Size, at: Span) -> Result<()> {
        self.aliased.values += size.values;
        self.aliased.bytes += size.bytes;
        if self.aliased.values <= MAX_ALIASED && self.aliased.bytes <= MAX_ALIASED_BYTES {
            return Ok(());
        }
        let found = error(self.name, "yaml-aliases", at, "document contains excessive aliasing");
        Err(found.help("every alias becomes a copy of its anchor's value; copies of copies grow without bound"))
    }

    fn list(&mut self, at: Span, depth: usize) -> Result<Node> {
        let (mut items, mut mark) = (Vec::new(), Mark::leaf(at));
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => {
                    return Ok(Node {
                        tree: Tree::Array(items),
                        mark,
                        kind: Kind::List,
                    });
                }
                (event, at) => {
                    let node = self.node(event, at, depth)?;
                    items.push(node.tree);
                    mark.children.push(node.mark);
                }
            }
        }
    }

    fn mapping(&mut self, at: Span, depth: usize) -> Result<Node> {
        let mut members = Members {
            map: Map::new(),
            mark: Mark::leaf(at),
            own: Vec::new(),
        };
        loop {
            let (event, at) = match self.next()? {
                (Event::MappingEnd, _) => {
                    return Ok(Node {
                        tree: Tree::Object(members.map),
                        mark: members.mark,
                        kind: Kind::Mapping,
                    });
                }
                other => other,
            };
            let key = self.node(event, at, depth)?;
            let (event, value_at) = self.next()?;
            if key.kind == Kind::Merge {
                self.merge(event, value_at, depth, &mut members)?;
                continue;
            }
            if matches!(key.kind, Kind::List | Kind::Mapping) {
                let found = error(
                    self.name,
                    "yaml-key",
                    at,
                    "invalid map key: neither a list nor a mapping can be a key",
                );
                return Err(found
                    .help("a value that begins with `{` or `[`, such as a placeholder of another tool, needs quotes"));
            }
            let mut value = self.node(event, value_at, depth)?;
            value.mark.key = key.mark.value;
            self.member(key, value, &mut members);
        }
    }

    fn member(&mut self, key: Node, value: Node, members: &mut Members) {
        let name = match key.tree {
            Tree::String(text) if !text.starts_with('\0') => text,
            // Spellings of one number are one key.
            Tree::Number(number) if !number.is_integer() => escape::key(&float(number.as_f64())),
            other => escape::key(&other),
        };
        let at = key.mark.value;
        if let Some(first) = members.insert(name, value, true) {
            let warning = Diagnostic::warning(
                "yaml-duplicate-key",
                "this key stands twice in one mapping; the last one counts",
            );
            self.warn(warning.help(format!("the first one is on line {}", first.line)), at);
        }
    }

    /// Members of other mappings. As in yaml.v2 they override what stands before `<<`, and what stands after overrides them.
    fn merge(&mut self, event: Event<'t>, at: Span, depth: usize, members: &mut Members) -> Result<()> {
        let aliased = matches!(event, Event::Alias(_));
        if let Event::SequenceStart(anchor, _) = event {
            let sources = self.anchored(anchor, at, depth, Self::merge_list)?;
            let Tree::Array(items) = sources.tree else {
                return Ok(());
            };
            // The first one listed wins.
            for (tree, mark) in items.into_iter().zip(sources.mark.children).rev() {
                members.extend(tree, mark);
            }
            return Ok(());
        }
        let node = self.node(event, at, depth)?;
        if node.kind != Kind::Mapping {
            return Err(self.no_mapping(at, aliased && node.kind == Kind::List));
        }
        members.extend(node.tree, node.mark);
        Ok(())
    }

    fn merge_list(&mut self, at: Span, depth: usize) -> Result<Node> {
        let (mut items, mut mark) = (Vec::new(), Mark::leaf(at));
        loop {
            let (event, at) = match self.next()? {
                (Event::SequenceEnd, _) => {
                    return Ok(Node {
                        tree: Tree::Array(items),
                        mark,
                        kind: Kind::List,
                    });
                }
                other => other,
            };
            let node = self.node(event, at, depth)?;
            if node.kind != Kind::Mapping {
                return Err(self.no_mapping(at, false));
            }
            items.push(node.tree);
            mark.children.push(node.mark);
        }
    }

    fn no_mapping(&self, at: Span, list: bool) -> Diagnostic {
        let found = error(
            self.name,
            "yaml-merge",
            at,
            "map merge requires map or sequence of maps as the value",
        );
        if list {
            found.help("an alias of a list can't be merged; write the list out: `<<: [*first, *second]`")
        } else {
            found
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>, at: Span) -> Result<(Tree, Kind)> {
        let Some(tag) = tag else {
            return Ok(match style {
                ScalarStyle::Plain => plain(text),
                _ => (text.into(), Kind::Scalar),
            });
        };
        let tag = if tag.handle == "tag:yaml.org,2002:" {
            tag.suffix.as_str()
        } else {
            tag.suffix.strip_prefix("tag:yaml.org,2002:").unwrap_or("")
        };
        let meaning = match tag {
            "binary" => return Ok((self.binary(text, at)?, Kind::Scalar)),
            "merge" if text == "<<" => return Ok((text.into(), Kind::Merge)),
            "null" | "bool" | "int" | "float" | "timestamp" => Scalar::resolve(text, tag == "timestamp"),
            _ => return Ok((text.into(), Kind::Scalar)),
        };
        let tree = match (tag, meaning) {
            ("float", Scalar::Int(digits)) if digits.parse::<i64>().is_ok() => float(digits.parse().unwrap_or(0.0)),
            (_, meaning) if meaning.tag().strip_prefix("!!") == Some(tag) => value(text, meaning).0,
            (_, meaning) => {
                let found = format!("cannot decode {} `{text}` as a !!{tag}", meaning.tag());
                return Err(error(self.name, "yaml-tag", at, found));
            }
        };
        Ok((tree, Kind::Scalar))
    }

    fn binary(&self, text: &str, at: Span) -> Result<Tree> {
        let bytes = super::base64::decode(text)
            .ok_or_else(|| error(self.name, "yaml-tag", at, "!!binary value contains invalid base64 data"))?;
        String::from_utf8(bytes).map(Tree::String).map_err(|_| {
            error(self.name, "yaml-tag", at, "!!binary value is not UTF-8 text")
                .help("manifests hold text; keep binary content base64-encoded in a string")
        })
    }
}

/// A mapping that is being read.
struct Members {
    map: Map,
    mark: Mark,
    /// Whether each member stands in the mapping itself, and not in one that was merged.
    own: Vec<bool>,
}

// === impl Members ===

impl Members {
    /// The place of the key where the mapping itself had it already.
    fn insert(&mut self, name: String, value: Node, own: bool) -> Option<Span> {
        let (index, old) = self.map.insert_full(name, value.tree);
        if old.is_none() {
            self.mark.children.push(value.mark);
            self.own.push(own);
            return None;
        }
        let first = self.mark.children[index].key;
        self.mark.children[index] = value.mark;
        let twice = std::mem::replace(&mut self.own[index], own) && own;
        twice.then_some(first)
    }

    fn extend(&mut self, tree: Tree, mark: Mark) {
        let Tree::Object(map) = tree else { return };
        for ((name, tree), mark) in map.into_iter().zip(mark.children) {
            self.insert(
                name,
                Node {
                    tree,
                    mark,
                    kind: Kind::Scalar,
                },
                false,
            );
        }
    }
}

/// How many levels of lists and mappings there are.
fn height(tree: &Tree) -> usize {
    match tree {
        Tree::Array(items) => 1 + items.iter().map(height).max().unwrap_or(0),
        Tree::Object(map) => 1 + map.values().map(height).max().unwrap_or(0),
        _ => 0,
    }
}

fn plain(text: &str) -> (Tree, Kind) {
    value(text, Scalar::plain(text))
}

fn value(text: &str, meaning: Scalar) -> (Tree, Kind) {
    let tree = match meaning {
        Scalar::Null => Tree::Null,
        Scalar::Bool(value) => Tree::Bool(value),
        Scalar::Int(digits) => Number::new(&digits).map_or(Tree::Null, Tree::Number),
        // An integer that is too large for 64 bits reads as a float; by its text it would pass for an integer.
        Scalar::Float(value) => Number::new(text)
            .filter(|n| !n.is_integer())
            .map_or_else(|| float(value), Tree::Number),
        Scalar::Merge => return (text.into(), Kind::Merge),
        Scalar::Timestamp | Scalar::String => text.into(),
    };
    (tree, Kind::Scalar)
}

/// A double as JSON spells it, always told apart from an integer.
fn float(value: f64) -> Tree {
    let text = format_float(value);
    if text.contains(['.', 'e']) {
        return Number::new(&text).map_or_else(|| escape::special(&text), Tree::Number);
    }
    Number::new(&format!("{text}.0")).map_or(Tree::Null, Tree::Number)
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
