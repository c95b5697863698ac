//! The limit of this stage's reports: a document that follows another syntax has thousands of errors.

use crate::codes;
use boson_document::{Diagnostic, LeftOut, Pointer, Report};

/// Most errors, and most warnings, of one call.
pub const MAX_DIAGNOSTICS: usize = 100;

/// A report with the limit of this stage.
pub fn report() -> Report {
    Report::limited(MAX_DIAGNOSTICS)
}

/// The warnings if there are no errors; else the errors and the warnings. The last warning counts those over the limit.
pub fn finish(report: Report) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let LeftOut { errors, warnings } = report.left_out();
    let failed = report.failed();
    let mut all = report.into_diagnostics();
    if errors + warnings > 0 {
        let message = format!("{} more diagnostics are left out", errors + warnings);
        all.push(Diagnostic::warning(codes::LEFT_OUT, message).at(Pointer::root()));
    }
    if failed { Err(all) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_bounded_and_the_rest_is_counted() {
        let mut report = report();
        for index in 0..MAX_DIAGNOSTICS + 5 {
            report.error(codes::INVALID_NAME, Pointer::root().at(index), "x");
        }
        let reported = finish(report).unwrap_err();
        assert_eq!(reported.len(), MAX_DIAGNOSTICS + 1);
        assert_eq!(reported[MAX_DIAGNOSTICS].message, "5 more diagnostics are left out");
    }
}
