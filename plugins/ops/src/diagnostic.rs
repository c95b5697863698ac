//! Diagnostics of this stage: the contract's record without its bindings.

use crate::codes::Code;
use boson_document::{Codes, Pointer, did_you_mean};

/// A message to the user about the input.
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
    /// Advice from the ops file itself. BOSH replaces it with the operation's position; cf-deployment's ops files name their requirements there.
    pub advice: Option<String>,
    /// The name that is most likely meant.
    pub near: Option<Box<str>>,
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
            near: None,
        }
    }

    /// With the name that is most likely meant.
    #[must_use]
    pub fn suggesting(mut self, near: Option<Box<str>>) -> Self {
        self.near = near;
        self
    }

    /// With advice from the ops file's author.
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
    pub fn help(&self) -> Option<String> {
        let help = self.advice.as_deref().or_else(|| self.code.help());
        match &self.near {
            Some(near) => Some(did_you_mean(near, help.unwrap_or_default())),
            None => help.map(str::to_string),
        }
    }
}
