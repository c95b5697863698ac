//! Where the parts of the result come from: a shadow of the document that grows only where operations reach.

use boson_contract::ops::Origin;
use boson_document::{Pointer, Tree};
use std::collections::BTreeMap;

/// Which operation of which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Position of the file.
    pub file: usize,
    /// Position of the operation in it.
    pub position: usize,
}

/// The part of an operation that a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The value was created because the path asked for it.
    Path,
    /// The value is the operation's.
    Value,
}

/// A value of the document, with its trace.
pub struct Traced<'t> {
    pub tree: &'t mut Tree,
    pub trace: &'t mut Trace,
}

/// Where one value of the document comes from, and what below it comes from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    provenance: Provenance,
    /// Boxed, because an array that is touched has a trace for each of its items, and most have nothing below.
    below: Option<Box<Below>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provenance {
    /// The place of the same name below the parent's source.
    Parent,
    /// The item of this number below the parent's source.
    Item(usize),
    Operation(Step, Part),
}

/// What was touched below a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Below {
    /// Of a map: the members that were touched.
    members: BTreeMap<String, Trace>,
    /// Of an array that was touched: all items, because one insertion moves all that follow.
    items: Option<Vec<Trace>>,
}

// === impl Trace ===

impl Trace {
    /// The trace of the unchanged document.
    pub fn unchanged() -> Self {
        Self {
            provenance: Provenance::Parent,
            below: None,
        }
    }

    /// The trace of a value from an operation.
    pub fn operation(step: Step, part: Part) -> Self {
        Self {
            provenance: Provenance::Operation(step, part),
            below: None,
        }
    }

    /// The trace of a member of this map.
    pub fn member(&mut self, name: &str) -> &mut Self {
        self.below
            .get_or_insert_default()
            .members
            .entry(name.to_string())
            .or_insert_with(Self::unchanged)
    }

    /// Forgets a member that was removed.
    pub fn forget(&mut self, name: &str) {
        if let Some(below) = &mut self.below {
            below.members.remove(name);
        }
    }

    /// The traces of the items of this array. `length` is its current length.
    pub fn items(&mut self, length: usize) -> &mut Vec<Self> {
        let item = |number| Self {
            provenance: Provenance::Item(number),
            below: None,
        };
        self.below
            .get_or_insert_default()
            .items
            .get_or_insert_with(|| (0..length).map(item).collect())
    }

    /// The parts of the result that do not come from the same place of the input document, and whether the list is
    /// complete.
    pub fn origins(&self, document: &str, files: &[String]) -> (Vec<Origin>, bool) {
        let mut walk = Walk {
            document,
            files,
            origins: Vec::new(),
            remaining: MAX_TEXT_BYTES,
            place: Pointer::root(),
        };
        walk.value(
            self,
            Source {
                file: None,
                pointer: Pointer::root(),
            },
            true,
        );
        (walk.origins, walk.remaining > 0)
    }
}

/// Most bytes in a list of origins: a long key above a long list would make it the product of the two.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// A place in the input document or in an ops file.
#[derive(Clone)]
struct Source {
    file: Option<usize>,
    pointer: Pointer,
}

struct Walk<'a> {
    document: &'a str,
    files: &'a [String],
    origins: Vec<Origin>,
    remaining: usize,
    place: Pointer,
}

// === impl Walk ===

impl Walk<'_> {
    /// `source`: where the value at `self.place` comes from if its trace does not say otherwise. `implied`: the origins
    /// listed so far say the same.
    fn value(&mut self, trace: &Trace, mut source: Source, mut implied: bool) {
        if let Provenance::Operation(step, part) = trace.provenance {
            let part = if part == Part::Path { "path" } else { "value" };
            source = Source {
                file: Some(step.file),
                pointer: Pointer::root().at(step.position).at(part),
            };
            implied = false;
        }
        if !implied {
            self.list(&source);
        }
        let Some(below) = &trace.below else { return };
        for (name, member) in &below.members {
            self.below(name, member, &source, name);
        }
        for (number, item) in below.items.iter().flatten().enumerate() {
            match item.provenance {
                Provenance::Item(old) if old == number && item.below.is_none() => {}
                Provenance::Item(old) => self.below(&number.to_string(), item, &source, &old.to_string()),
                _ => self.below(&number.to_string(), item, &source, &number.to_string()),
            }
        }
    }

    fn below(&mut self, token: &str, trace: &Trace, parent: &Source, old: &str) {
        if self.remaining == 0 {
            return;
        }
        self.place.push(token);
        self.value(
            trace,
            Source {
                file: parent.file,
                pointer: parent.pointer.at(old),
            },
            token == old,
        );
        self.place.pop();
    }

    fn list(&mut self, source: &Source) {
        let document = match source.file {
            None => self.document,
            Some(file) => self.files.get(file).map_or("", String::as_str),
        };
        let origin = Origin {
            pointer: self.place.to_string(),
            document: document.into(),
            source: source.pointer.to_string(),
        };
        let size = origin.pointer.len() + origin.document.len() + origin.source.len();
        self.remaining = self.remaining.saturating_sub(size);
        self.origins.push(origin);
    }
}
