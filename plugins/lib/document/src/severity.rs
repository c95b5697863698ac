//! Severities of diagnostics.

/// How severe a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The conversion fails.
    Error,
    /// A part of the input has no effect, or an unexpected one.
    Warning,
    /// Information for the user.
    Info,
}
