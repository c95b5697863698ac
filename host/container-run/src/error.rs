//! Why container-run itself gave up: a sentence and the status that it exits with.

use std::fmt::Display;
use std::io;
use std::path::Path;

pub const USAGE_EXIT_CODE: u8 = 2;
/// container-run cannot do its work: a file is missing or malformed, a limit is out of reach.
pub const FAILURE_EXIT_CODE: u8 = 125;
/// The program was found but cannot be executed.
pub const NOT_EXECUTABLE_EXIT_CODE: u8 = 126;
pub const NOT_FOUND_EXIT_CODE: u8 = 127;

/// The end of container-run, by its own fault or that of what it was given.
#[derive(Debug)]
pub struct Error {
    pub code: u8,
    /// One sentence, lower case, without values that could be secret.
    pub text: String,
}

/// What most functions here give back.
pub type Result<T> = std::result::Result<T, Error>;

// === impl Error ===

impl Error {
    /// container-run cannot do its work.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            code: FAILURE_EXIT_CODE,
            text: text.into(),
        }
    }

    /// A program could not be started.
    pub fn of_exec(error: &io::Error, text: String) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound => NOT_FOUND_EXIT_CODE,
            _ => NOT_EXECUTABLE_EXIT_CODE,
        };
        Self { code, text }
    }

    pub fn usage(text: impl Into<String>) -> Self {
        Self {
            code: USAGE_EXIT_CODE,
            text: text.into(),
        }
    }
}

/// Adds what was being done to an error of the system.
pub trait Context<T> {
    /// `<what> <path>: <error>`.
    fn path_context(self, what: &str, path: &Path) -> Result<T>;
    /// `<what>: <error>`.
    fn context(self, what: &str) -> Result<T>;
}

// === impl Context ===

impl<T, E: Display> Context<T> for std::result::Result<T, E> {
    fn path_context(self, what: &str, path: &Path) -> Result<T> {
        self.map_err(|error| Error::new(format!("{what} {}: {error}", path.display())))
    }

    fn context(self, what: &str) -> Result<T> {
        self.map_err(|error| Error::new(format!("{what}: {error}")))
    }
}
