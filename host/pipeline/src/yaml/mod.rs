//! YAML as BOSH reads and writes it, with the place of every value.
//!
//! Each program of BOSH has its own reader, and a plain scalar such as `off`, `0027` or `12:30` has another meaning to
//! each: see [`Dialect`]. Differences from YAML 1.2, and so from most libraries, are in `scalar` (the meaning of a
//! plain scalar) and in `reader` (merge keys, aliases, only the first document counts). Values that JSON lacks are
//! escaped as in `boson_document::escape`.

pub mod codes;
mod marks;
mod reader;
mod scalar;
mod sent;
mod writer;

pub use marks::{Mark, Span};
pub use reader::weight::weight;
pub use sent::as_sent;
pub use writer::{write, write_as_psych, write_manifest};

use crate::diagnostic::Diagnostic;
use boson_document::{Pointer, Tree};
use reader::syntax;
use std::sync::Arc;

/// Largest text that is read, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 32 << 20;

/// Whose rules decide what a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// BOSH's command line (gopkg.in/yaml.v2 2.4.0): manifests, ops files, variables, cloud configs.
    YamlV2,
    /// The director (Ruby's Psych 5): job specs and `release.MF`, whose keys all become strings.
    Psych,
    /// BPM (gopkg.in/yaml.v3 3.0.1, into its own types): `bpm.yml`.
    Bpm,
}

/// A document, its text, and the places of its content.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name: of a file, its path as the user gave it.
    pub name: String,
    /// The text, without byte order mark.
    pub text: Arc<str>,
    pub tree: Tree,
    pub marks: Mark,
    /// Warnings about parts without effect: duplicate keys, further documents.
    pub warnings: Vec<Diagnostic>,
}

// === impl Document ===

impl Document {
    /// Place of the value at this pointer; or of the deepest part that exists, if the pointer is longer.
    pub fn place(&self, pointer: &Pointer) -> Span {
        self.marks.find(&self.tree, pointer).value
    }

    /// Where the key of the member at this pointer is (or the value, if it is not a member); or the deepest part that
    /// exists, if the pointer is further.
    pub fn key_place(&self, pointer: &Pointer) -> Span {
        self.marks.find(&self.tree, pointer).key
    }
}

/// Reads the first document of a text, as BOSH's command line does. An empty text is null.
///
/// # Errors
/// One diagnostic, with line and column: `yaml-syntax`, `yaml-tag`, `yaml-key`, `yaml-merge`, `yaml-anchor`,
/// `yaml-aliases`, `yaml-depth`, `yaml-size`, `yaml-control`.
pub fn read(name: &str, text: &str) -> Result<Document, Diagnostic> {
    read_as(Dialect::YamlV2, name, text)
}

/// Like [`read`], by the rules of the dialect.
///
/// # Errors
/// As [`read`]; of [`Dialect::Psych`], `yaml-class`; of [`Dialect::Bpm`], `yaml-duplicate-key`.
pub fn read_as(dialect: Dialect, name: &str, text: &str) -> Result<Document, Diagnostic> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let warning = syntax::check_text(name, text)?;
    let mut document = reader::read(name, text, dialect)?;
    document.warnings.extend(warning);
    Ok(document)
}

/// Like [`read`], for bytes.
///
/// # Errors
/// As [`read`], and `yaml-encoding` for what is not UTF-8.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Document, Diagnostic> {
    read_bytes_as(Dialect::YamlV2, name, bytes)
}

/// Like [`read_as`], for bytes.
///
/// # Errors
/// As [`read_as`], and `yaml-encoding` for what is not UTF-8.
pub fn read_bytes_as(dialect: Dialect, name: &str, bytes: &[u8]) -> Result<Document, Diagnostic> {
    syntax::check_size(name, bytes.len())?;
    let text = std::str::from_utf8(bytes).map_err(|error| syntax::not_utf8(name, bytes, error.valid_up_to()))?;
    read_as(dialect, name, text)
}
