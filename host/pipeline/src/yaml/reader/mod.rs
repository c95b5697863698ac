//! Builds a tree and its marks from the parser's events.

mod anchors;
mod bpm;
mod events;
mod members;
mod node;
mod relaxed;
pub(super) mod syntax;
pub(super) mod value;
pub(super) mod weight;
mod words;

use crate::diagnostic::Diagnostic;
use crate::yaml::{Dialect, Document, Mark, Span, codes};
use anchors::{Anchors, Size};
use boson_document::{MAX_DEPTH, Tree};
use events::Events;
use members::Members;
use node::{Kind, Node};
use relaxed::Repairs;
use saphyr_parser::{Event, ScanError};
use std::borrow::Cow;

/// Limit on the values of a document: each takes a hundred times the bytes of its text.
const MAX_VALUES: usize = 500_000;
/// Limit on the warnings of a document; a longer list is not useful.
const MAX_WARNINGS: usize = 100;

/// Reads the first document.
pub(super) fn read(name: &str, source: &str, dialect: Dialect) -> Result<Document, Diagnostic> {
    with_repairs(name, source, |events| {
        let mut reader = Reader {
            name,
            source,
            dialect,
            events,
            anchors: Anchors::default(),
            read: 0,
            size: Size::default(),
            warnings: Vec::new(),
        };
        let mut node = reader.document()?;
        if dialect == Dialect::Bpm {
            bpm::decode(&mut node.tree);
        }
        Ok(Document {
            name: name.to_string(),
            text: source.into(),
            tree: node.tree,
            marks: node.mark,
            warnings: reader.warnings,
        })
    })
}

/// Visits the events of a text; from the start again after each repair.
fn with_repairs<T>(name: &str, source: &str, mut visit: impl FnMut(Events<'_>) -> Read<T>) -> Result<T, Diagnostic> {
    let ended = source.ends_with(['\n', '\r']);
    // The parser invents a line break at the end of a block; with a real one there, `end_block` knows what to remove.
    let mut text = if ended {
        Cow::Borrowed(source)
    } else {
        Cow::Owned(format!("{source}\n"))
    };
    let mut repairs = Repairs::default();
    loop {
        let found = match visit(Events::new(&text, ended, &repairs)) {
            Ok(visited) => return Ok(visited),
            Err(ReadError::Found(diagnostic)) => return Err(*diagnostic),
            Err(ReadError::Scan(found)) => found,
        };
        match repairs.next(&text, &found) {
            Some(repaired) => text = Cow::Owned(repaired),
            None => {
                let at = repairs.original(events::place(&found));
                return Err(syntax::scan_error(name, source, &found, at));
            }
        }
    }
}

/// Why a document could not be read.
enum ReadError {
    /// An error of the parser, which may be too strict.
    Scan(ScanError),
    /// An error of this reader.
    Found(Box<Diagnostic>),
}

impl From<Diagnostic> for ReadError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Found(Box::new(diagnostic))
    }
}

type Read<T> = Result<T, ReadError>;

struct Reader<'t, 'n> {
    name: &'n str,
    /// The original text.
    source: &'n str,
    dialect: Dialect,
    events: Events<'t>,
    anchors: Anchors,
    /// Values and aliases so far.
    read: usize,
    /// Their size, aliases replaced.
    size: Size,
    warnings: Vec<Diagnostic>,
}

// === impl Reader ===

impl<'t> Reader<'t, '_> {
    fn next(&mut self) -> Read<(Event<'t>, Span)> {
        self.events.next().map_err(ReadError::Scan)
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
        // BOSH does not read the rest, so it may even be malformed.
        if let Ok((Event::DocumentStart(_), at)) = self.next() {
            let warning = Diagnostic::warning(codes::YAML_MORE_DOCUMENTS, "only the first document of a file is read");
            let help = "remove what follows the second `---`, or move it to a file of its own";
            self.warn(warning.help(help), at);
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
        self.read += 1;
        if self.read > MAX_VALUES {
            return Err(syntax::too_many_error(self.name, at).into());
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let before = self.size;
                self.size.bytes += text.len();
                let (tree, kind) = value::of_scalar(text, style, tag.as_deref(), self.dialect)
                    .map_err(|found| found.in_document(self.name).on_line(at.line, Some(at.column)))?;
                let node = Node {
                    tree,
                    mark: Mark::leaf(at),
                    kind,
                };
                self.end_anchor(anchor, &node, before, at)?;
                Ok(node)
            }
            Event::SequenceStart(anchor, _) => self.collection(anchor, at, depth, Self::list),
            Event::MappingStart(anchor, _) => self.collection(anchor, at, depth, Self::mapping),
            Event::Alias(anchor) => self.alias(anchor, at, depth),
            _ => Err(syntax::error(self.name, codes::YAML_SYNTAX, at, "did not find expected node content").into()),
        }
    }

    fn collection(
        &mut self,
        anchor: usize,
        at: Span,
        depth: usize,
        read: fn(&mut Self, Span, usize) -> Read<Node>,
    ) -> Read<Node> {
        if depth >= MAX_DEPTH {
            return Err(syntax::too_deep_error(self.name, at).into());
        }
        let before = self.size;
        if anchor > 0 {
            self.anchors.begin(anchor);
        }
        let node = read(self, at, depth + 1)?;
        self.end_anchor(anchor, &node, before, at)?;
        Ok(node)
    }

    /// `before`: size of the document without the node's content.
    fn end_anchor(&mut self, anchor: usize, node: &Node, before: Size, at: Span) -> Read<()> {
        if anchor == 0 {
            return Ok(());
        }
        let mut size = self.size.since(before);
        size.values += 1;
        self.anchors
            .end(anchor, node, size)
            .map_err(|refused| syntax::alias_error(self.name, self.source, at, &refused))?;
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Span, depth: usize) -> Read<Node> {
        let found = self.anchors.find(anchor);
        let (node, size) = found.map_err(|refused| syntax::alias_error(self.name, self.source, at, &refused))?;
        if depth + node.tree.depth() > MAX_DEPTH {
            return Err(syntax::too_deep_error(self.name, at).into());
        }
        let mut copy = node.clone();
        (copy.mark.key, copy.mark.value) = (at, at);
        self.size.add(size);
        Ok(copy)
    }

    fn list(&mut self, at: Span, depth: usize) -> Read<Node> {
        self.items(at, depth, |_| true)
    }

    /// The values allowed after `<<:`.
    fn merge_list(&mut self, at: Span, depth: usize) -> Read<Node> {
        self.items(at, depth, |kind| kind == Kind::Mapping)
    }

    fn items(&mut self, at: Span, depth: usize, allowed: fn(Kind) -> bool) -> Read<Node> {
        let (mut items, mut mark) = (Vec::new(), Mark::leaf(at));
        loop {
            let (event, at) = self.next()?;
            if event == Event::SequenceEnd {
                // Lists reserve memory for as many items again; most documents never grow.
                items.shrink_to_fit();
                mark.children.shrink_to_fit();
                return Ok(Node {
                    tree: Tree::Array(items),
                    mark,
                    kind: Kind::List,
                });
            }
            let node = self.node_of(event, at, depth)?;
            if !allowed(node.kind) {
                return Err(syntax::merge_error(self.name, at, false).into());
            }
            items.push(node.tree);
            mark.children.push(node.mark);
        }
    }

    fn mapping(&mut self, at: Span, depth: usize) -> Read<Node> {
        let mut members = Members::new(at, self.dialect);
        let mut merges = 0;
        loop {
            let (event, at) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(members.into_node());
            }
            let key = self.node_of(event, at, depth)?;
            match key.kind {
                Kind::Merge if self.dialect == Dialect::Psych => self.merge_if_possible(key, depth, &mut members)?,
                Kind::Merge => {
                    merges += 1;
                    if merges > 1 && self.dialect == Dialect::Bpm {
                        return Err(syntax::second_merge_error(self.name, at).into());
                    }
                    self.merge(depth, &mut members)?;
                }
                Kind::Scalar => {
                    let value = self.node(depth)?;
                    self.add(key, value, at, &mut members)?;
                }
                Kind::List | Kind::Mapping => return Err(syntax::collection_key_error(self.name, at).into()),
            }
        }
    }

    fn add(&mut self, key: Node, value: Node, at: Span, members: &mut Members) -> Read<()> {
        match members.add(key, value) {
            Some(error) if error.is_error() => {
                return Err(error.in_document(self.name).on_line(at.line, Some(at.column)).into());
            }
            Some(warning) => self.warn(warning, at),
            None => {}
        }
        Ok(())
    }

    /// Reads the value after `<<:` as Psych does: what cannot be merged becomes a member.
    fn merge_if_possible(&mut self, key: Node, depth: usize, members: &mut Members) -> Read<()> {
        let (event, at) = self.next()?;
        let written = matches!(event, Event::SequenceStart(..));
        let node = self.node_of(event, at, depth)?;
        let is_mapping = |tree: &Tree| tree.as_map().is_some();
        match node.tree {
            Tree::Array(items) if written && items.iter().all(is_mapping) => {
                members.merge_all(items, node.mark.children);
            }
            tree if is_mapping(&tree) => members.merge(tree, node.mark),
            tree => self.add(key, Node { tree, ..node }, at, members)?,
        }
        Ok(())
    }

    /// Reads the value after `<<:`.
    fn merge(&mut self, depth: usize, members: &mut Members) -> Read<()> {
        let (event, at) = self.next()?;
        // yaml.v2 accepts a list that is written out, but no alias of one.
        let written = matches!(event, Event::SequenceStart(..));
        let node = match event {
            Event::SequenceStart(anchor, _) => self.collection(anchor, at, depth, Self::merge_list)?,
            event => self.node_of(event, at, depth)?,
        };
        match node.tree {
            Tree::Array(items) if written => members.merge_all(items, node.mark.children),
            tree if node.kind == Kind::Mapping => members.merge(tree, node.mark),
            _ => return Err(syntax::merge_error(self.name, at, node.kind == Kind::List).into()),
        }
        Ok(())
    }
}
