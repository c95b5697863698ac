//! Colors, if the terminal supports them.

use crate::diagnostic::Severity;

/// Colors of the parts of one diagnostic.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    color: bool,
    severity: &'static str,
}

// === impl Paint ===

impl Paint {
    pub(super) fn new(color: bool, severity: Severity) -> Self {
        let severity = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Info => "1;36",
        };
        Self { color, severity }
    }

    /// The head and the underline.
    pub(super) fn severity(self, text: &str) -> String {
        self.with(self.severity, text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Lines and numbers around the excerpt.
    pub(super) fn frame(self, text: &str) -> String {
        self.with("1;34", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_string()
        }
    }
}
