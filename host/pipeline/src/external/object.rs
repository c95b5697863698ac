//! A native object, with its place for messages.

use crate::diagnostic::Diagnostic;
use crate::object::{name, namespace};
use boson_document::{Code, Pointer, Tree};
use std::fmt;

#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// Name of the document that it is in, for diagnostics.
    pub document: &'a str,
    pub pointer: Pointer,
    /// The object, as the API server has it.
    pub tree: &'a Tree,
}

// === impl Object ===

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.kind(), self.name())
    }
}

impl<'a> Object<'a> {
    pub fn kind(&self) -> &'a str {
        self.tree.str("kind").unwrap_or("object")
    }

    pub fn name(&self) -> &'a str {
        name(self.tree)
    }

    /// Its namespace; `None` if it is not set, which means that of the deployment.
    pub fn namespace(&self) -> Option<&'a str> {
        namespace(self.tree)
    }

    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.metadata("annotations", key)
    }

    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.metadata("labels", key)
    }

    /// A text below `metadata`, such as its `uid`.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.tree.get("metadata")?.str(key)
    }

    fn metadata(&self, map: &str, key: &str) -> Option<&'a str> {
        self.tree.get("metadata")?.get(map)?.str(key)
    }

    /// A member of `spec`.
    pub fn spec(&self, key: &str) -> Option<&'a Tree> {
        self.tree.get("spec")?.get(key).filter(|value| !value.is_null())
    }

    /// An error about a member of its metadata, or about the whole object if `member` is empty.
    pub fn error(&self, code: &Code, member: &[&str], message: String, help: &str) -> Diagnostic {
        self.placed(Diagnostic::error(code, message).help(help), member)
    }

    /// A warning about the whole object.
    pub fn warning(&self, code: &Code, message: String, help: &str) -> Diagnostic {
        self.placed(Diagnostic::warning(code, message).help(help), &[])
    }

    fn placed(&self, diagnostic: Diagnostic, member: &[&str]) -> Diagnostic {
        let mut pointer = self.pointer.clone();
        if !member.is_empty() {
            pointer = pointer.at("metadata");
        }
        let pointer = member.iter().fold(pointer, |pointer, piece| pointer.at(*piece));
        diagnostic.in_document(self.document).at(pointer)
    }
}
