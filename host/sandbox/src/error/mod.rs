//! Why a plugin gave no reply, classified so that each class has its own help text.

pub mod codes;

use boson_oci::{Digest, short_digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::codes::Code;
use boson_pipeline::stage::StageError;
use std::fmt;

/// Begin of the message about a file.
pub(crate) const CANNOT_BE_READ: &str = "cannot be read: ";

/// Begin of the line of a compiler about a component with async functions.
pub const ASYNC_MARK: &str = "plugin-async: ";

/// Bytes of a message. It may quote names of a component, of any length.
const MAX_MESSAGE_BYTES: usize = 1000;

/// The classes of failure that are a plugin's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It was not loaded: not a component, imports something, exports no stage, machine code.
    Refused,
    /// It was not loaded, because it uses async functions.
    Async,
    Trapped,
    Exception,
    TooDeep,
    OutOfFuel,
    /// The calls of its conversion used up their common fuel.
    OverBudget,
    /// It asked for more memory or table than it may have.
    OverMemory,
    /// Its reply was larger than allowed.
    OverOutput,
    /// It ran longer than the wall clock allows.
    Deadline,
    /// Its reply violates the contract.
    Malformed,
}

/// A plugin that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// Plugin: `ops` or a file's name.
    pub plugin: String,
    /// Its digest, if it does not ship with the host: names do not identify versions.
    pub digest: Option<Digest>,
    /// What happened, one sentence.
    pub message: String,
    /// Function names from the innermost outwards, for a trap.
    pub functions: Vec<String>,
}

// === impl ErrorKind ===

impl ErrorKind {
    pub fn code(self) -> &'static Code {
        match self {
            Self::Refused => codes::PLUGIN_REFUSED,
            Self::Async => codes::PLUGIN_ASYNC,
            Self::Trapped => codes::PLUGIN_TRAPPED,
            Self::Exception => codes::PLUGIN_EXCEPTION,
            Self::TooDeep => codes::PLUGIN_TOO_DEEP,
            Self::OutOfFuel => codes::PLUGIN_OUT_OF_FUEL,
            Self::OverBudget => codes::CONVERSION_OUT_OF_FUEL,
            Self::OverMemory => codes::PLUGIN_OVER_MEMORY,
            Self::OverOutput => codes::PLUGIN_OVER_OUTPUT,
            Self::Deadline => codes::PLUGIN_DEADLINE,
            Self::Malformed => codes::PLUGIN_MALFORMED_REPLY,
        }
    }

    /// Whether the size or form of the input may be the cause.
    pub(crate) fn may_be_by_input(self) -> bool {
        matches!(
            self,
            Self::TooDeep | Self::OutOfFuel | Self::OverMemory | Self::OverOutput
        )
    }
}

// === impl Error ===

impl Error {
    /// The message becomes one line of limited length.
    pub(crate) fn new(kind: ErrorKind, plugin: &str, message: impl Into<String>) -> Self {
        let message = message.into().replace(char::is_control, " ");
        Self {
            kind,
            plugin: plugin.into(),
            digest: None,
            message: cut(message, MAX_MESSAGE_BYTES, "..."),
            functions: Vec::new(),
        }
    }

    /// What the compiler in another process has reported in one line.
    pub(crate) fn of_compiler(plugin: &str, line: &str) -> Self {
        match line.strip_prefix(ASYNC_MARK) {
            Some(message) => Self::new(ErrorKind::Async, plugin, message),
            None => Self::new(ErrorKind::Refused, plugin, line),
        }
    }

    /// As the error of a stage.
    pub(crate) fn stage_error(&self) -> StageError {
        StageError::Plugin(self.diagnostic())
    }

    /// The failure as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self.kind {
            ErrorKind::Refused if self.message.starts_with(CANNOT_BE_READ) => {
                "check the path: a component is a file that ends in .wasm".to_string()
            }
            ErrorKind::Refused | ErrorKind::Malformed => "fix the plugin, or rebuild it against `wit/`".to_string(),
            ErrorKind::Async => {
                "build it without async functions: for Rust the target `wasm32-wasip2`, for JavaScript \
                 `componentize-qjs --sync`, for Python a world without async functions"
                    .to_string()
            }
            ErrorKind::Trapped if self.functions.first().is_some_and(|name| name.starts_with(WASI)) => format!(
                "a plugin has no files, input, network and randomness: build it without what calls the first of these \
                 functions; active functions: {}",
                self.functions.join(" < ")
            ),
            ErrorKind::Trapped | ErrorKind::Exception if self.functions.is_empty() => {
                "this is a defect of the plugin, not of your input".to_string()
            }
            ErrorKind::Trapped | ErrorKind::Exception => format!(
                "this is a defect of the plugin, not of your input; active functions: {}",
                self.functions.join(" < ")
            ),
            ErrorKind::TooDeep => "check the input for endless recursion or very deep nesting".to_string(),
            ErrorKind::OutOfFuel => "check the input for an endless loop, or for its size".to_string(),
            ErrorKind::OverBudget => "reduce the number of instances, or what their templates compute".to_string(),
            ErrorKind::OverMemory | ErrorKind::OverOutput => {
                "check the input for huge values or loops that build them".to_string()
            }
            ErrorKind::Deadline => "try again when the machine is less busy".to_string(),
        };
        Diagnostic::error(self.kind.code(), self.to_string()).help(help)
    }
}

/// Begin of the names of functions that answer for WASI.
const WASI: &str = "wasi:";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin '{}' {}", self.plugin, self.message)?;
        match &self.digest {
            Some(digest) => write!(f, " ({})", short_digest(digest.as_ref())),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        error.diagnostic()
    }
}

impl From<Error> for Vec<Diagnostic> {
    fn from(error: Error) -> Self {
        vec![error.diagnostic()]
    }
}

/// The text, or so many bytes of it and `end`.
pub(crate) fn cut(mut text: String, most: usize, end: &str) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push_str(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::stage::CALL_FAILURES;

    #[test]
    fn whoever_reads_codes_knows_those_of_all_calls_without_a_reply() {
        let mut failures = [
            ErrorKind::Trapped,
            ErrorKind::Exception,
            ErrorKind::TooDeep,
            ErrorKind::OutOfFuel,
            ErrorKind::OverMemory,
            ErrorKind::OverOutput,
            ErrorKind::Deadline,
        ]
        .map(|kind| kind.code().name);
        let mut known = CALL_FAILURES;
        failures.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, failures);
    }
}
