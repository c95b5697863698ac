//! Collects diagnostics for the user, without duplicates.

use crate::codes;
use boson_processes::{Findings, Kind};
use std::collections::HashSet;

pub use boson_processes::Place;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// One of [`crate::codes::CODES`].
    pub code: &'static str,
    /// One sentence, without the place.
    pub message: String,
    /// The document it is about.
    pub document: String,
    /// Place in it: RFC 6901 pointer.
    pub pointer: String,
    /// What to do next.
    pub help: Option<String>,
    /// Code of the error that this one follows from; the host omits it if that one is reported.
    pub follows: Option<&'static str>,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// With advice.
    pub fn help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }

    /// As a consequence of errors with this code.
    pub fn follows(&mut self, code: &'static str) {
        self.follows = Some(code);
    }
}

/// Collects diagnostics.
#[derive(Debug, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    /// Code, message and place of all.
    seen: HashSet<(&'static str, String, String, String)>,
    /// Receives changes to a repeated diagnostic, which is dropped.
    repeated: Option<Diagnostic>,
}

// === impl Report ===

impl Report {
    /// Adds an error; the reply takes advice.
    pub fn error(&mut self, code: &'static str, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Error, code, place, message.into())
    }

    /// Adds a warning; the reply takes advice.
    pub fn warning(&mut self, code: &'static str, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Warning, code, place, message.into())
    }

    fn add(&mut self, severity: Severity, code: &'static str, place: &Place, message: String) -> &mut Diagnostic {
        let pointer = place.pointer.to_string();
        let fresh = self
            .seen
            .insert((code, message.clone(), place.document.clone(), pointer.clone()));
        let diagnostic = Diagnostic {
            severity,
            code,
            message,
            document: place.document.clone(),
            pointer,
            help: None,
            follows: None,
        };
        if !fresh {
            return self.repeated.insert(diagnostic);
        }
        self.diagnostics.push(diagnostic);
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Adds the diagnostics of another report, except those already reported for another copy of the same document: `seen` has code, message and
    /// pointer.
    pub fn absorb(&mut self, other: Self, seen: &mut HashSet<(&'static str, String, String)>) {
        for one in other.into_diagnostics() {
            if seen.insert((one.code, one.message.clone(), one.pointer.clone())) {
                self.diagnostics.push(one);
            }
        }
    }

    /// Adds what was found in a description of processes.
    pub fn found(&mut self, findings: Findings) {
        for one in findings.0 {
            let (severity, code) = match one.kind {
                Kind::Schema => (Severity::Error, codes::SCHEMA),
                Kind::PodIp => (Severity::Error, codes::POD_IP),
                Kind::Ignored => (Severity::Warning, codes::UNKNOWN_BPM_KEY),
                Kind::Monit => (Severity::Error, codes::MONIT),
                Kind::MonitIgnored => (Severity::Warning, codes::MONIT),
            };
            self.add(severity, code, &one.place, one.message);
        }
    }

    /// Is there an error?
    pub fn failed(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// All of them in order, errors first: a host that limits their number must not lose the reason for the failure.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics
            .sort_by_key(|diagnostic| diagnostic.severity == Severity::Warning);
        self.diagnostics
    }
}
