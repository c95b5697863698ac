//! The lines of a manifest's diff, in the order and the form in which BOSH prints them.

use boson_document::Tree;
use indexmap::IndexMap;
use std::fmt;

/// Columns a level.
const INDENT_COLUMNS: usize = 2;
/// The sections that come first, in this order.
const FIRST_SECTIONS: [&str; 15] = [
    "azs",
    "vm_types",
    "vm_extensions",
    "resource_pools",
    "compilation",
    "networks",
    "disk_types",
    "name",
    "stemcells",
    "releases",
    "update",
    "jobs",
    "release",
    "addons",
    "variables",
];

/// What happens with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is the parent of lines that differ.
    Context,
    /// Only the new manifest has it.
    Added,
    /// Only the old manifest has it.
    Removed,
}

/// A line of YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub status: Status,
    /// With its indentation.
    pub text: String,
}

// === impl Status ===

impl Status {
    /// As `bosh deploy` prints it before the line.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Context => "  ",
            Self::Added => "+ ",
            Self::Removed => "- ",
        }
    }

    /// As the director calls it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Context => None,
            Self::Added => Some("added"),
            Self::Removed => Some("removed"),
        }
    }
}

// === impl Line ===

impl Line {
    /// `level`: of its indentation.
    pub(super) fn new(level: usize, text: &str, status: Status) -> Self {
        let text = format!("{}{text}", " ".repeat(INDENT_COLUMNS * level));
        Self { status, text }
    }
}

/// As `bosh deploy` prints it.
impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.status.sign(), self.text)
    }
}

/// The lines of a document, at this level.
pub(super) fn of_tree(tree: &Tree, level: usize, status: Status) -> Vec<Line> {
    let text = crate::yaml::write_as_psych(tree);
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    lines.into_iter().map(|line| Line::new(level, line, status)).collect()
}

/// The sections in BOSH's order, with an empty line between them (`DiffLines#order`).
pub(super) fn ordered(lines: Vec<Line>) -> Vec<Line> {
    let mut sections: IndexMap<String, Vec<Line>> = IndexMap::new();
    for line in lines {
        if !line.text.starts_with([' ', '-']) {
            sections.insert(line.text.clone(), vec![Line::new(0, "", Status::Context)]);
        }
        // The first line of a diff begins a section.
        if let Some(section) = sections.values_mut().next_back() {
            section.push(line);
        }
    }
    let mut ordered = Vec::new();
    for key in FIRST_SECTIONS {
        ordered.extend(sections.shift_remove(&format!("{key}:")).into_iter().flatten());
    }
    ordered.extend(sections.into_values().flatten());
    if !ordered.is_empty() {
        ordered.remove(0);
    }
    ordered
}
