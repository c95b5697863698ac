//! Reports: the diagnostics of a call, each once and up to a limit.

use crate::{Code, Diagnostic, Place};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Debug)]
pub struct Report {
    /// Most errors, and most warnings.
    limit: usize,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    left_out: LeftOut,
    /// Hashes of all diagnostics: hostile input can cause millions.
    seen: HashSet<u64>,
    /// Takes the changes to a diagnostic that is not stored.
    dropped: Option<Diagnostic>,
}

/// How many different diagnostics exceeded the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub errors: usize,
    /// Warnings and notes.
    pub warnings: usize,
}

// === impl Report ===

impl Report {
    /// Creates a report for at most this many errors and this many warnings.
    pub fn limited(limit: usize) -> Self {
        Self {
            limit,
            errors: Vec::new(),
            warnings: Vec::new(),
            left_out: LeftOut::default(),
            seen: HashSet::new(),
            dropped: None,
        }
    }

    /// Adds an error; the result takes help.
    pub fn error(
        &mut self,
        code: &'static Code,
        place: impl Into<Place>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::error(code, message).at(place))
    }

    /// Adds a warning; the result takes help.
    pub fn warning(
        &mut self,
        code: &'static Code,
        place: impl Into<Place>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::warning(code, message).at(place))
    }

    /// Adds a diagnostic, unless it was added before or the limit is reached.
    pub fn push(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        let fresh = self.seen.insert(hash(&diagnostic));
        let (list, left_out) = if diagnostic.is_error() {
            (&mut self.errors, &mut self.left_out.errors)
        } else {
            (&mut self.warnings, &mut self.left_out.warnings)
        };
        if !fresh || list.len() >= self.limit {
            *left_out += usize::from(fresh);
            return self.dropped.insert(diagnostic);
        }
        list.push(diagnostic);
        let last = list.len() - 1;
        &mut list[last]
    }

    /// Whether there is an error.
    pub fn failed(&self) -> bool {
        !self.errors.is_empty()
    }

    /// How many exceeded the limit.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// All diagnostics in order, errors first: a host that limits their number must not lose the reason for the
    /// failure.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut all = self.errors;
        all.extend(self.warnings);
        all
    }
}

/// Without a limit: the host limits the diagnostics of a reply.
impl Default for Report {
    fn default() -> Self {
        Self::limited(usize::MAX)
    }
}

fn hash(diagnostic: &Diagnostic) -> u64 {
    let Diagnostic {
        severity,
        code,
        message,
        document,
        pointer,
        ..
    } = diagnostic;
    let mut hasher = DefaultHasher::new();
    (severity, code.name, message, document, pointer).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pointer;

    const CODE: &Code = &Code::new("demo-code", "Demo", "Explained.");

    fn places(report: Report) -> Vec<String> {
        let all = report.into_diagnostics();
        all.iter().map(Diagnostic::pointer_text).collect()
    }

    #[test]
    fn errors_come_first_and_each_diagnostic_once() {
        let (mut report, root) = (Report::default(), Pointer::root());
        report.warning(CODE, root.at("a"), "x");
        report.error(CODE, root.at("b"), "x").help("first");
        report.error(CODE, root.at("b"), "x").help("repeated");
        report.error(CODE, root.at("c"), "x");
        assert!(report.failed());
        assert_eq!(report.left_out(), LeftOut::default());
        assert_eq!(report.errors[0].help.as_deref(), Some("first"));
        assert_eq!(places(report), ["/b", "/c", "/a"]);
    }

    #[test]
    fn diagnostics_over_the_limit_are_counted() {
        let mut report = Report::limited(2);
        for index in [0, 1, 2, 3, 3, 4] {
            report.error(CODE, Pointer::root().at(index), "x");
            report.warning(CODE, Pointer::root().at(index), "x");
        }
        let left_out = LeftOut { errors: 3, warnings: 3 };
        assert_eq!(report.left_out(), left_out);
        assert_eq!(places(report), ["/0", "/1", "/0", "/1"]);
    }
}
