//! Diagnostics of the stages: the contract's record without its bindings.

use crate::{Code, Place, Pointer, Severity, closest, did_you_mean};
use std::borrow::Cow;

/// A message to the user about the input. Never contains the value of a variable or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: &'static Code,
    /// One sentence in BOSH's own words where BOSH has some, without the place.
    pub message: String,
    /// Name of the document it is about; `None`: the one that the call is about.
    pub document: Option<String>,
    /// Where in the document, if that is known.
    pub pointer: Option<Pointer>,
    /// What to do next.
    pub help: Option<Cow<'static, str>>,
    /// Code of the error that this one follows from; the host omits it if that one is reported.
    pub follows: Option<&'static Code>,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// An error without a place, with the help of its code.
    pub fn error(code: &'static Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning without a place, with the help of its code.
    pub fn warning(code: &'static Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    /// Information without a place, with the help of its code.
    pub fn info(code: &'static Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, code, message.into())
    }

    fn new(severity: Severity, code: &'static Code, message: String) -> Self {
        Self {
            severity,
            code,
            message,
            document: None,
            pointer: None,
            help: code.help.map(Cow::Borrowed),
            follows: None,
        }
    }

    #[must_use]
    pub fn in_document(mut self, name: &str) -> Self {
        self.document = Some(name.into());
        self
    }

    /// Sets the place; a place without a document does not change the document.
    #[must_use]
    pub fn at(mut self, place: impl Into<Place>) -> Self {
        let Place { document, pointer } = place.into();
        if !document.is_empty() {
            self.document = Some(document);
        }
        self.pointer = Some(pointer);
        self
    }

    /// Replaces the help text of the code.
    pub fn help(&mut self, help: impl Into<Cow<'static, str>>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Asks in the help text whether the closest of these names is meant, if one is close to what the user typed.
    pub fn suggest<'n>(&mut self, typed: &str, names: impl IntoIterator<Item = &'n str>) -> &mut Self {
        if let Some(near) = closest(typed, names) {
            let help = did_you_mean(near, self.help.as_deref().unwrap_or_default());
            self.help = Some(help.into());
        }
        self
    }

    /// Marks it as a consequence of errors with this code.
    pub fn follows(&mut self, code: &'static Code) -> &mut Self {
        self.follows = Some(code);
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The text of the pointer; empty where the place is not known.
    pub fn pointer_text(&self) -> String {
        self.pointer.as_ref().map(Pointer::to_string).unwrap_or_default()
    }
}
