//! The limit of this stage's reports: hostile input could cause millions of errors.

use crate::codes;
use boson_document::{Diagnostic, LeftOut, Pointer, Report};

/// Most errors, and most warnings, of one call.
const MAX_DIAGNOSTICS: usize = 500;

/// A report with the limit of this stage.
pub fn report() -> Report {
    Report::limited(MAX_DIAGNOSTICS)
}

/// All diagnostics; the last ones say how many were left out.
pub fn finish(report: Report) -> Vec<Diagnostic> {
    let LeftOut { errors, warnings } = report.left_out();
    let mut all = report.into_diagnostics();
    let mut add = |diagnostic: Diagnostic| {
        let mut last = diagnostic.at(Pointer::root());
        last.help("fix the reported errors, and run it again");
        all.push(last);
    };
    if errors > 0 {
        let message = format!("{errors} more errors are left out");
        add(Diagnostic::error(codes::LIMIT, message));
    }
    if warnings > 0 {
        let message = format!("{warnings} more warnings are left out");
        add(Diagnostic::warning(codes::LIMIT, message));
    }
    all
}
