//! Places in the documents of a call.

use crate::Pointer;

/// A place in one of the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the document; empty for the one that the call is about.
    pub document: String,
    /// Where in it.
    pub pointer: Pointer,
}

// === impl Place ===

impl Place {
    /// A place by the text of its pointer; an invalid pointer is the whole document.
    pub fn new(document: &str, pointer: &str) -> Self {
        Self {
            document: document.into(),
            pointer: Pointer::parse(pointer).unwrap_or_default(),
        }
    }

    #[must_use]
    pub fn at(&self, token: impl ToString) -> Self {
        self.with(self.pointer.at(token))
    }

    /// The place below, by several tokens.
    #[must_use]
    pub fn join(&self, tokens: &[impl ToString]) -> Self {
        self.with(self.pointer.join(tokens))
    }

    /// The same place in this document.
    #[must_use]
    pub fn in_document(mut self, name: &str) -> Self {
        self.document = name.into();
        self
    }

    /// Another place in the same document.
    #[must_use]
    pub fn with(&self, pointer: Pointer) -> Self {
        Self {
            document: self.document.clone(),
            pointer,
        }
    }
}

impl From<Pointer> for Place {
    fn from(pointer: Pointer) -> Self {
        Self {
            document: String::new(),
            pointer,
        }
    }
}

impl From<&Pointer> for Place {
    fn from(pointer: &Pointer) -> Self {
        pointer.clone().into()
    }
}

impl From<&Self> for Place {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}
