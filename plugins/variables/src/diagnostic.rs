//! Diagnostics of this stage: the contract's record without its bindings.

use crate::codes::Code;
use boson_document::Pointer;

/// Most errors that one call gives. A manifest that follows another syntax has thousands.
pub const MAX: usize = 100;

/// Longest message, in bytes, that still gets another context.
const LONGEST: usize = 8192;

/// A message to the user about the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind. It says the severity, too.
    pub code: Code,
    /// In BOSH's words.
    pub message: String,
    /// Where in the document.
    pub pointer: Pointer,
}

/// An error of a variable, without its place, which the caller adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which kind.
    pub code: Code,
    /// In BOSH's words.
    pub message: String,
}

/// Collects errors (up to [`MAX`]) and warnings.
#[derive(Clone, Debug, Default)]
pub struct Report {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    left_out: usize,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// A diagnostic about a place.
    pub fn new(code: Code, message: impl Into<String>, pointer: Pointer) -> Self {
        Self {
            code,
            message: message.into(),
            pointer,
        }
    }
}

// === impl Failure ===

impl Failure {
    /// A failure.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The failure as the cause of another, as BOSH writes it on one line.
    #[must_use]
    pub fn within(self, context: &str) -> Self {
        // The texts of thousands of nested failures would grow with the square of their number.
        if self.message.len() > LONGEST {
            return self;
        }
        Self {
            message: format!("{context}: {}", self.message),
            ..self
        }
    }

    /// At a place.
    pub fn at(self, pointer: &Pointer) -> Diagnostic {
        Diagnostic::new(self.code, self.message, pointer.clone())
    }
}

// === impl Report ===

impl Report {
    /// Takes in a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let list = if diagnostic.code.is_warning() {
            &mut self.warnings
        } else {
            &mut self.errors
        };
        if list.len() < MAX {
            list.push(diagnostic);
        } else {
            self.left_out += 1;
        }
    }

    /// The first error.
    pub fn into_first_error(self) -> Option<Diagnostic> {
        self.errors.into_iter().next()
    }

    /// The warnings, where there are no errors; else the errors and the warnings.
    pub fn finish(mut self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        if self.left_out > 0 {
            let message = format!("{} more diagnostics are left out", self.left_out);
            self.warnings
                .push(Diagnostic::new(Code::LeftOut, message, Pointer::root()));
        }
        if self.errors.is_empty() {
            return Ok(self.warnings);
        }
        self.errors.append(&mut self.warnings);
        Err(self.errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_bounded_and_the_rest_is_counted() {
        let mut report = Report::default();
        for _ in 0..MAX + 5 {
            report.push(Diagnostic::new(Code::InvalidName, "x", Pointer::root()));
        }
        let reported = report.finish().unwrap_err();
        assert_eq!(reported.len(), MAX + 1);
        assert_eq!(reported[MAX].message, "5 more diagnostics are left out");
    }
}
