//! Events of the parser become a tree and its marks.

use super::marks::{Mark, Span};
use super::members::Members;
use super::relaxed::Repairs;
use super::syntax::{self, count};
use super::value;
use crate::diagnostic::Diagnostic;
use boson_document::{MAX_DEPTH, Tree};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};
use std::borrow::Cow;
use std::collections::HashMap;

/// Most values of a document: each takes a hundred times the bytes of its text.
const MAX_VALUES: usize = 2_000_000;
/// Most values that aliases may add: a document of a few lines must not fill the memory.
const MAX_ALIASED: usize = 1_000_000;
/// Most bytes of text that aliases may add.
const MAX_ALIASED_BYTES: usize = 64 << 20;

/// Most warnings of a document; who reads a hundred does not read more.
const MAX_WARNINGS: usize = 100;

/// Reads the first document.
pub(super) fn read(name: &str, source: &str) -> Result<(Tree, Mark, Vec<Diagnostic>), Diagnostic> {
    let ended = source.ends_with(['\n', '\r']);
    // The parser makes up a line break at the end of a block; with a real one there, `end_block` knows what to take back.
    let mut text = if ended {
        Cow::Borrowed(source)
    } else {
        Cow::Owned(format!("{source}\n"))
    };
    let mut repairs = Repairs::default();
    loop {
        let mut reader = Reader::new(name, source, &text, ended, &repairs);
        let found = match reader.document() {
            Ok(node) => return Ok((node.tree, node.mark, reader.warnings)),
            Err(Failure::Found(diagnostic)) => return Err(*diagnostic),
            Err(Failure::Scan(found)) => found,
        };
        match repairs.next(&text, &found) {
            Some(repaired) => text = Cow::Owned(repaired),
            None => {
                return Err(syntax::scan_error(
                    name,
                    source,
                    &found,
                    repairs.original(start(&found)),
                ));
            }
        }
    }
}

/// Why a document could not be read.
pub(super) enum Failure {
    /// The parser's reason; perhaps it is too strict.
    Scan(ScanError),
    /// Our own reason.
    Found(Box<Diagnostic>),
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Found(Box::new(diagnostic))
    }
}

pub(super) type Read<T> = Result<T, Failure>;

/// What aliases are charged for.
#[derive(Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
}

/// A value that was read.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) tree: Tree,
    pub(super) mark: Mark,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
    /// The text as it was given.
    source: &'t str,
    /// The text as it is read.
    text: &'t str,
    /// The text ends with a line break of its own.
    ended: bool,
    /// Characters of the text; counted only where it does not.
    characters: usize,
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Anchor>,
    /// Values and aliases so far.
    events: usize,
    /// What they come to, aliases replaced.
    size: Size,
    /// What anchors and aliases were charged for.
    aliased: Size,
    warnings: Vec<Diagnostic>,
    repairs: &'t Repairs,
}

// === impl Reader ===

impl<'t> Reader<'t> {
    fn new(name: &'t str, source: &'t str, text: &'t str, ended: bool, repairs: &'t Repairs) -> Self {
        Self {
            name,
            source,
            text,
            ended,
            characters: if ended { 0 } else { text.chars().count() },
            parser: Parser::new_from_str(text),
            anchors: HashMap::new(),
            events: 0,
            size: Size::default(),
            aliased: Size::default(),
            warnings: Vec::new(),
            repairs,
        }
    }

    fn next(&mut self) -> Read<(Event<'t>, Span)> {
        match self.parser.next_event() {
            Some(Ok((mut event, span))) => {
                if !self.ended && span.end.index() == self.characters {
                    end_block(&mut event, self.text);
                }
                Ok((event, self.repairs.original(narrow(span))))
            }
            Some(Err(found)) => Err(Failure::Scan(found)),
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

    fn document(&mut self) -> Read<Node> {
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
        let node = self.node(0)?;
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
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings
                .push(warning.in_document(self.name).on_line(at.line, Some(at.column)));
        }
    }

    fn node(&mut self, depth: usize) -> Read<Node> {
        let (event, at) = self.next()?;
        self.node_of(event, at, depth)
    }

    fn node_of(&mut self, event: Event<'t>, at: Span, depth: usize) -> Read<Node> {
        self.size.values += 1;
        self.events += 1;
        if self.events > MAX_VALUES {
            return Err(syntax::too_many(self.name, at).into());
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let size = Size {
                    values: 1,
                    bytes: text.len(),
                };
                self.size.bytes += size.bytes;
                let (tree, kind) = value::of_scalar(text, style, tag.as_deref())
                    .map_err(|found| found.in_document(self.name).on_line(at.line, Some(at.column)))?;
                let node = Node {
                    tree,
                    mark: Mark::leaf(at),
                    kind,
                };
                if anchor > 0 {
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
            _ => Err(syntax::error(self.name, "yaml-syntax", at, "did not find expected node content").into()),
        }
    }

    fn anchored(
        &mut self,
        anchor: usize,
        at: Span,
        depth: usize,
        read: fn(&mut Self, Span, usize) -> Read<Node>,
    ) -> Read<Node> {
        if depth >= MAX_DEPTH {
            return Err(syntax::too_deep(self.name, at).into());
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

    fn alias(&mut self, anchor: usize, at: Span, depth: usize) -> Read<Node> {
        let size = self.anchors.get(&anchor).map_or(Size::default(), |anchor| anchor.size);
        // Before the copy is made: it may be what fills the memory.
        self.charge(size, at)?;
        let Some(node) = self.anchors.get(&anchor).and_then(|anchor| anchor.node.as_ref()) else {
            let message = format!("anchor '{}' value contains itself", syntax::name_after(self.source, at));
            return Err(syntax::error(self.name, "yaml-anchor", at, message).into());
        };
        if depth + height(&node.tree) > MAX_DEPTH {
            return Err(syntax::too_deep(self.name, at).into());
        }
        let mut copy = node.clone();
        (copy.mark.key, copy.mark.value) = (at, at);
        self.size.values += size.values;
        self.size.bytes += size.bytes;
        Ok(copy)
    }

    /// Counts a copy.
    fn charge(&mut self, size: Size, at: Span) -> Read<()> {
        self.aliased.values += size.values;
        self.aliased.bytes += size.bytes;
        if self.aliased.values <= MAX_ALIASED && self.aliased.bytes <= MAX_ALIASED_BYTES {
            return Ok(());
        }
        let found = syntax::error(self.name, "yaml-aliases", at, "document contains excessive aliasing");
        Err(found
            .help("every alias becomes a copy of its anchor's value; copies of copies grow without bound")
            .into())
    }

    fn list(&mut self, at: Span, depth: usize) -> Read<Node> {
        let (mut items, mut mark) = (Vec::new(), Mark::leaf(at));
        loop {
            let (event, at) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Node {
                    tree: Tree::Array(items),
                    mark,
                    kind: Kind::List,
                });
            }
            let node = self.node_of(event, at, depth)?;
            items.push(node.tree);
            mark.children.push(node.mark);
        }
    }

    fn mapping(&mut self, at: Span, depth: usize) -> Read<Node> {
        let mut members = Members::new(at);
        loop {
            let (event, at) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(members.into_node());
            }
            let key = self.node_of(event, at, depth)?;
            match key.kind {
                Kind::Merge => self.merge(depth, &mut members)?,
                Kind::Scalar => {
                    let value = self.node(depth)?;
                    if let Some(warning) = members.add(key, value) {
                        self.warn(warning, at);
                    }
                }
                Kind::List | Kind::Mapping => return Err(syntax::collection_key(self.name, at).into()),
            }
        }
    }

    /// What stands after `<<:`.
    fn merge(&mut self, depth: usize, members: &mut Members) -> Read<()> {
        let (event, at) = self.next()?;
        // yaml.v2 takes a list that is written out, but no alias of one.
        let written = matches!(event, Event::SequenceStart(..));
        let node = match event {
            Event::SequenceStart(anchor, _) => self.anchored(anchor, at, depth, Self::merge_list)?,
            event => self.node_of(event, at, depth)?,
        };
        match node.tree {
            // The first one listed wins.
            Tree::Array(items) if written => {
                items
                    .into_iter()
                    .zip(node.mark.children)
                    .rev()
                    .for_each(|(tree, mark)| members.merge(tree, mark));
            }
            tree if node.kind == Kind::Mapping => members.merge(tree, node.mark),
            _ => return Err(syntax::no_mapping(self.name, at, node.kind == Kind::List).into()),
        }
        Ok(())
    }

    fn merge_list(&mut self, at: Span, depth: usize) -> Read<Node> {
        let (mut items, mut mark) = (Vec::new(), Mark::leaf(at));
        loop {
            let (event, at) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Node {
                    tree: Tree::Array(items),
                    mark,
                    kind: Kind::List,
                });
            }
            let node = self.node_of(event, at, depth)?;
            if node.kind != Kind::Mapping {
                return Err(syntax::no_mapping(self.name, at, false).into());
            }
            items.push(node.tree);
            mark.children.push(node.mark);
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

/// Takes back the line break that is not in the text, of a block scalar that reaches its end.
fn end_block(event: &mut Event<'_>, text: &str) {
    let Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) = event else {
        return;
    };
    let last_line = text.trim_end_matches('\n').rsplit(['\n', '\r']).next().unwrap_or("");
    let Some(content) = value.strip_suffix('\n') else {
        return;
    };
    let last_content = content.rsplit('\n').next().unwrap_or("");
    // A last line of nothing but indentation is no line of the value.
    if !last_line.trim_matches(' ').is_empty() || last_content.trim_matches(' ').is_empty() {
        *value = Cow::Owned(content.to_string());
    }
}

fn start(found: &ScanError) -> Span {
    Span {
        line: count(found.marker().line()),
        column: count(found.marker().col() + 1),
        length: 0,
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
