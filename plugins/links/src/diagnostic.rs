//! Diagnostics for the user, collected over the whole deployment.

use crate::codes::{self, Code};
use boson_document::Pointer;
use std::collections::HashSet;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The conversion fails.
    Error,
    /// Something of the input has no effect, or not the effect one would expect.
    Warning,
}

/// A message to the user (`wit/types`). Never holds a value of a variable or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// Which kind.
    pub code: &'static Code,
    /// In BOSH's words, without the place.
    pub message: String,
    /// Name of the document it is about.
    pub document: String,
    /// Where in it.
    pub pointer: Pointer,
    /// What to do next.
    pub help: Option<String>,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// An error for text that is not a document.
    pub fn malformed(message: String, document: &str) -> Self {
        let pointer = Pointer::root();
        Self {
            severity: Severity::Error,
            code: codes::MALFORMED_DOCUMENT,
            message,
            document: document.into(),
            pointer,
            help: None,
        }
    }
}

/// Most diagnostics of one severity: hostile input could cause millions.
const MOST: usize = 500;

/// Collects diagnostics.
#[derive(Debug, Default)]
pub struct Report {
    manifest: String,
    diagnostics: Vec<Diagnostic>,
    /// Code, place and message of all, so that an addon's error is reported once and not for each group.
    seen: HashSet<(&'static str, String, String)>,
    errors: usize,
    warnings: usize,
}

// === impl Report ===

impl Report {
    /// For the manifest of this name.
    pub fn new(manifest: &str) -> Self {
        Self {
            manifest: manifest.into(),
            ..Self::default()
        }
    }

    /// An error in the manifest.
    pub fn error(&mut self, code: &'static Code, at: Pointer, message: impl Into<String>) {
        self.add(Severity::Error, code, None, at, message.into(), None);
    }

    /// An error in the manifest, with advice.
    pub fn error_with_help(
        &mut self,
        code: &'static Code,
        at: Pointer,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Error, code, None, at, message.into(), Some(help.into()));
    }

    /// An error in another document: a job's spec.
    pub fn error_in(&mut self, document: &str, code: &'static Code, at: Pointer, message: impl Into<String>) {
        self.add(Severity::Error, code, Some(document), at, message.into(), None);
    }

    /// A warning about the manifest, with advice.
    pub fn warning(&mut self, code: &'static Code, at: Pointer, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Warning, code, None, at, message.into(), Some(help.into()));
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static Code,
        document: Option<&str>,
        pointer: Pointer,
        message: String,
        help: Option<String>,
    ) {
        if !self.seen.insert((
            code.name,
            format!("{}{pointer}", document.unwrap_or_default()),
            message.clone(),
        )) {
            return;
        }
        let count = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MOST {
            let document = document.unwrap_or(&self.manifest).to_string();
            self.diagnostics.push(Diagnostic {
                severity,
                code,
                message,
                document,
                pointer,
                help,
            });
        }
    }

    /// Is there an error?
    pub fn failed(&self) -> bool {
        self.errors > 0
    }

    /// All of them, in order; a last one says how many were left out.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        for (severity, count, word) in [
            (Severity::Error, self.errors, "errors"),
            (Severity::Warning, self.warnings, "warnings"),
        ] {
            if count > MOST {
                let message = format!("{} more {word} are left out", count - MOST);
                let document = self.manifest.clone();
                let help = Some("fix the reported errors, and run it again".into());
                self.diagnostics.push(Diagnostic {
                    severity,
                    code: codes::LIMIT,
                    message,
                    document,
                    pointer: Pointer::root(),
                    help,
                });
            }
        }
        self.diagnostics
    }
}
