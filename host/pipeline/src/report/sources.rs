//! The documents that diagnostics refer to: resolves pointers in them, and decides which of their lines may be shown.

use super::path::path;
use crate::diagnostic::Place;
use crate::stage::Origin;
use crate::yaml::{self, Document, Span};
use boson_document::{Pointer, Tree};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Sources {
    documents: HashMap<String, Source>,
    results: HashMap<String, Derived>,
    main: Option<String>,
    /// Limit on their memory, if there is one.
    limit: Option<Limit>,
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug)]
struct Limit {
    all: u64,
    left: u64,
}

#[derive(Clone, Debug)]
enum Source {
    /// Of a secret document, only its places: see [`redacted`].
    Yaml(Arc<Document>),
    /// A document without a text: lines of it can be shown, but have no numbers.
    Tree(Box<Document>),
    Text(Arc<str>),
}

/// Result of the ops stage for a document.
#[derive(Clone, Debug, Default)]
struct Derived {
    base: String,
    tree: Tree,
    /// By pointer in the result.
    origins: HashMap<Pointer, ValueOrigin>,
    /// Those of them whose document is not an ops file: users know them by their paths there.
    parts: HashSet<Pointer>,
}

/// Where a value of a result comes from.
#[derive(Clone, Debug)]
struct ValueOrigin {
    document: String,
    pointer: Pointer,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located {
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1, in characters.
    pub column: Option<u32>,
    /// Characters to underline; 0 if only the place is known.
    pub length: u32,
    /// The place as an ops file would name it: `/instance_groups/name=api/jobs/0`.
    pub path: Option<String>,
    /// The line, if it may be shown.
    pub excerpt: Option<String>,
}

// === impl Sources ===

impl Sources {
    /// An empty set whose documents may use this much memory together, in bytes.
    pub fn within(bytes: u64) -> Self {
        Self {
            limit: Some(Limit {
                all: bytes,
                left: bytes,
            }),
            ..Self::default()
        }
    }

    /// Reserves memory for a document that is about to be read. Registered documents stay in memory as long as this
    /// value.
    ///
    /// # Errors
    /// The limit for all documents, if there is not enough memory left.
    pub fn take(&mut self, bytes: u64) -> Result<(), u64> {
        let Some(limit) = &mut self.limit else { return Ok(()) };
        limit.left = limit.left.checked_sub(bytes).ok_or(limit.all)?;
        Ok(())
    }

    /// Limit on the memory of all documents, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.all)
    }

    /// Registers a YAML document. If it is `secret`, diagnostics show places in it but no text.
    pub fn add_document(&mut self, document: impl Into<Arc<Document>>, secret: bool) {
        let document = document.into();
        let name = document.name.clone();
        let document = if secret {
            Arc::new(redacted(&document))
        } else {
            document
        };
        self.documents.insert(name, Source::Yaml(document));
    }

    /// Registers a text that may be shown: a template, or YAML that cannot be read.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.documents.insert(name.to_string(), Source::Text(text.into()));
    }

    /// Registers a document that never was a text.
    pub fn add_tree(&mut self, name: &str, tree: &Tree) {
        if let Ok(document) = yaml::read(name, &yaml::write(tree)) {
            self.documents
                .insert(name.to_string(), Source::Tree(Box::new(document)));
        }
    }

    /// Registers the result of the ops stage for the document `base`. From now on, diagnostics about `name` (which may
    /// be `base` itself) are about the result, and are shown at the place in the manifest or the ops file that the
    /// value comes from.
    pub fn add_result(&mut self, name: &str, base: &str, tree: Tree, origins: &[Origin]) {
        let derived = Derived {
            base: base.to_string(),
            tree,
            origins: origins.iter().filter_map(parse_origin).collect(),
            parts: HashSet::new(),
        };
        self.results.insert(name.to_string(), derived);
    }

    /// Registers that `tree`, which a document or the ops stage's result of this name has become, contains unchanged
    /// parts of other documents: their paths are those in their own document.
    pub fn add_parts(&mut self, name: &str, tree: &Tree, origins: &[Origin]) {
        let derived = self.results.entry(name.to_string()).or_insert_with(|| Derived {
            base: name.to_string(),
            ..Derived::default()
        });
        derived.tree = tree.clone();
        for (pointer, source) in origins.iter().filter_map(parse_origin) {
            derived.parts.insert(pointer.clone());
            derived.origins.insert(pointer, source);
        }
    }

    /// The document for diagnostics without a document.
    pub fn set_main(&mut self, name: &str) {
        self.main = Some(name.to_string());
    }

    /// The texts of the documents of which lines may be shown, without templates.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        self.documents.values().filter_map(|source| match source {
            Source::Yaml(document) => Some(&*document.text),
            Source::Tree(document) => Some(&*document.text),
            Source::Text(_) => None,
        })
    }

    /// All texts of which lines may be shown.
    pub fn shown(&self) -> impl Iterator<Item = &str> {
        let texts = self.documents.values().filter_map(|source| match source {
            Source::Text(text) => Some(&**text),
            _ => None,
        });
        self.documents().chain(texts)
    }

    /// Whether a document of this name was registered.
    pub fn knows(&self, name: &str) -> bool {
        self.documents.contains_key(name) || self.results.contains_key(name)
    }

    /// Resolves the place of a diagnostic.
    pub fn locate(&self, place: &Place) -> Located {
        // Not about a document: a flag, a plugin.
        let nowhere = place.document.is_none() && place.pointer.is_none() && place.line.is_none();
        let main = self.main.as_ref().filter(|_| !nowhere);
        let Some(name) = place.document.as_ref().or(main) else {
            return Located::default();
        };
        if let Some(line) = place.line {
            return self.at_line(name, line, place.column);
        }
        match place.pointer.as_deref().and_then(Pointer::parse) {
            Some(pointer) => self.at_pointer(name, &pointer),
            None => Located {
                file: Some(name.clone()),
                ..Located::default()
            },
        }
    }

    fn at_line(&self, name: &str, line: u32, column: Option<u32>) -> Located {
        let text: &str = match self.documents.get(name) {
            Some(Source::Yaml(document)) => &document.text,
            Some(Source::Text(text)) => text,
            _ => "",
        };
        let excerpt = line_of(text, line);
        let (column, length) = match (column, &excerpt) {
            // Without a column, the whole line.
            (None, Some(line)) => {
                let indent = line.chars().take_while(|c| c.is_whitespace()).count();
                (Some(count(indent + 1)), count(line.trim().chars().count()))
            }
            (column, _) => (column, 0),
        };
        Located {
            file: Some(name.to_string()),
            line: Some(line),
            column,
            length,
            path: None,
            excerpt,
        }
    }

    fn at_pointer(&self, name: &str, pointer: &Pointer) -> Located {
        let Some(result) = self.results.get(name) else {
            return self.in_document(name, pointer);
        };
        let (document, source) = result.origin(pointer);
        let located = self.in_document(document, &source);
        if result.is_part(pointer) {
            return located;
        }
        Located {
            path: path(&result.tree, pointer),
            ..located
        }
    }

    fn in_document(&self, name: &str, pointer: &Pointer) -> Located {
        let file = Some(name.to_string());
        let (document, has_lines) = match self.documents.get(name) {
            Some(Source::Yaml(document)) => (&**document, true),
            Some(Source::Tree(document)) => (&**document, false),
            Some(Source::Text(_)) | None => {
                return Located {
                    file,
                    path: path(&Tree::Null, pointer),
                    ..Located::default()
                };
            }
        };
        let at = underlined_span(document, pointer);
        Located {
            file,
            line: has_lines.then_some(at.line),
            column: Some(at.column),
            length: at.length,
            path: path(&document.tree, pointer),
            excerpt: line_of(&document.text, at.line),
        }
    }
}

// === impl Derived ===

impl Derived {
    /// Whether the value at a pointer, or one above it, is a part of another document.
    fn is_part(&self, pointer: &Pointer) -> bool {
        find_nearest(pointer, |prefix| self.parts.get(prefix)).is_some()
    }

    /// The document and the pointer that the value at a pointer of the result comes from.
    fn origin(&self, pointer: &Pointer) -> (&str, Pointer) {
        let found = find_nearest(pointer, |prefix| {
            let found = self.origins.get(prefix)?;
            Some((found.document.as_str(), found.pointer.join(pointer.below(prefix)?)))
        });
        found.unwrap_or_else(|| (self.base.as_str(), pointer.clone()))
    }
}

/// What is found for the pointer, or else for the nearest value around it for which there is something. Plugins choose
/// pointers, which can be long: it is not copied at each step.
fn find_nearest<T>(pointer: &Pointer, find: impl Fn(&Pointer) -> Option<T>) -> Option<T> {
    let mut prefix = pointer.clone();
    loop {
        if let Some(found) = find(&prefix) {
            return Some(found);
        }
        prefix.pop()?;
    }
}

/// Pointer in the result, and where the value there comes from.
fn parse_origin(origin: &Origin) -> Option<(Pointer, ValueOrigin)> {
    let source = ValueOrigin {
        document: origin.document.clone(),
        pointer: Pointer::parse(&origin.source)?,
    };
    Some((Pointer::parse(&origin.pointer)?, source))
}

/// A document with its places, but without values: what is shown of a secret one. No text and no scalar is left:
/// nothing else keeps secret documents out of excerpts, of the names in paths, and of the texts that the scrubber takes
/// as public.
fn redacted(document: &Document) -> Document {
    Document {
        name: document.name.clone(),
        text: "".into(),
        tree: without_values(&document.tree),
        marks: document.marks.clone(),
        warnings: Vec::new(),
    }
}

fn without_values(tree: &Tree) -> Tree {
    match tree {
        Tree::Array(items) => Tree::Array(items.iter().map(without_values).collect()),
        Tree::Object(map) => map
            .iter()
            .map(|(name, value)| (name.as_str(), without_values(value)))
            .collect(),
        _ => Tree::Null,
    }
}

/// The span of a scalar value; else of the key, which names the value.
fn underlined_span(document: &Document, pointer: &Pointer) -> Span {
    match pointer.find(&document.tree) {
        Some(Tree::Null | Tree::Object(_) | Tree::Array(_)) | None => document.key_place(pointer),
        Some(_) => document.place(pointer),
    }
}

/// A line of a text, from 1, with the same line breaks as in the YAML reader.
fn line_of(text: &str, line: u32) -> Option<String> {
    let mut rest = text;
    for _ in 1..line {
        let at = rest.find(['\n', '\r'])?;
        let both = rest[at..].starts_with("\r\n");
        rest = &rest[at + if both { 2 } else { 1 }..];
    }
    let line = rest.split(['\n', '\r']).next()?;
    (!rest.is_empty()).then(|| line.to_string())
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
