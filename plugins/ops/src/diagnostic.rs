//! What this stage has to tell: the contract's diagnostic without the contract's bindings.

use crate::codes::Code;
use boson_document::{Codes, Pointer};

/// Something to tell the user about the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind. It says the severity, too.
    pub code: Code,
    /// In go-patch's words.
    pub message: String,
    /// Name of the document.
    pub document: String,
    /// Where in it, where that is known.
    pub pointer: Option<Pointer>,
    /// What the ops file itself says to do. BOSH replaces it with the operation's position; cf-deployment's ops files say there what they need.
    pub advice: Option<String>,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// A diagnostic about a document.
    pub fn new(code: Code, message: impl Into<String>, document: &str) -> Self {
        Self {
            code,
            message: message.into(),
            document: document.to_string(),
            pointer: None,
            advice: None,
        }
    }

    /// With what the ops file's author says about it.
    #[must_use]
    pub fn advised(mut self, advice: Option<String>) -> Self {
        self.advice = advice;
        self
    }

    /// At this place of it.
    #[must_use]
    pub fn at(mut self, pointer: Pointer) -> Self {
        self.pointer = Some(pointer);
        self
    }

    /// What to do next.
    pub fn help(&self) -> Option<&str> {
        self.advice.as_deref().or_else(|| self.code.help())
    }
}
