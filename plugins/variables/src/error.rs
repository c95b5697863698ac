//! Failures of single variables, which become diagnostics at the places that refer to them.

use boson_document::{Code, Diagnostic, Pointer};

/// Longest message, in bytes, that still gets another context.
const MAX_MESSAGE_BYTES: usize = 8192;

/// An error of a variable, without its place, which the caller adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub code: &'static Code,
    /// In BOSH's words.
    pub message: String,
}

// === impl Error ===

impl Error {
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The failure as the cause of another, as BOSH writes it on one line.
    #[must_use]
    pub fn within(self, context: &str) -> Self {
        // The texts of thousands of nested failures would grow with the square of their number.
        if self.message.len() > MAX_MESSAGE_BYTES {
            return self;
        }
        Self {
            message: format!("{context}: {}", self.message),
            ..self
        }
    }

    /// Sets the place.
    pub fn at(self, pointer: &Pointer) -> Diagnostic {
        Diagnostic::error(self.code, self.message).at(pointer)
    }
}
