//! How a run ends, decided in one place: 0, 1 (your input), 2 (usage; differences of `host diff`), 70 (our bug); where
//! a command waits also 124 (timeout) and 130 (Ctrl-C); in pods of a conversion also 65 (your input, and the error was
//! reported to the operator) and 75 (try again).

use crate::output::{self, Color, OutputClosedError};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use std::process::ExitCode;

/// Why a command did not succeed. Except for `Io`, the messages have been shown. An [`anyhow::Error`] can contain it.
#[derive(Debug, thiserror::Error)]
#[error("the messages have been shown")]
pub enum ExitError {
    /// The user's input is wrong; diagnostics were shown.
    Input,
    /// A bug in a built-in plugin or in this program.
    Bug,
    /// The user's input is wrong, and this was reported to the operator.
    Reported,
    /// The inputs have changed; another attempt reads the new files. Not an error.
    Again,
    /// There are differences, which were printed. Not an error.
    Different,
    /// A condition was not met in time; the message has been shown.
    TimedOut,
    /// The user has ended it; the message has been shown.
    Interrupted,
    /// An error of the file system or of a stream.
    #[error(transparent)]
    Io(anyhow::Error),
    /// The reader of our output has closed it, which is not an error.
    BrokenPipe,
}

impl From<anyhow::Error> for ExitError {
    fn from(error: anyhow::Error) -> Self {
        let of_output = |cause: &std::io::Error| cause.get_ref().is_some_and(|inner| inner.is::<OutputClosedError>());
        if error.chain().filter_map(|cause| cause.downcast_ref()).any(of_output) {
            Self::BrokenPipe
        } else {
            match error.downcast_ref() {
                // With the context around it.
                None | Some(Self::Io(_)) => Self::Io(error),
                Some(_) => error.downcast().unwrap_or_else(Self::Io),
            }
        }
    }
}

impl From<std::io::Error> for ExitError {
    fn from(error: std::io::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

/// Codes of diagnostics that report a broken plugin, not wrong input.
const BUG_CODES: [&str; 2] = ["plugin-trapped", "plugin-malformed-reply"];

/// Classifies errors: the user's input, or our bug. `foreign`: the user gave plugins, and the broken one may be theirs.
pub fn failed(diagnostics: &[Diagnostic], foreign: bool) -> ExitError {
    if !foreign && diagnostics.iter().any(|one| BUG_CODES.contains(&one.code.as_str())) {
        ExitError::Bug
    } else {
        ExitError::Input
    }
}

/// Shows errors in the user's input, which end the command.
pub fn refused(diagnostics: &[Diagnostic], sources: &Sources, color: Color) -> ExitError {
    output::show(diagnostics, sources, color);
    ExitError::Input
}

/// As [`refused`], for one error that is about no document.
pub fn fail(error: Diagnostic, color: Color) -> ExitError {
    refused(&[error], &Sources::default(), color)
}

pub fn code(result: Result<(), ExitError>) -> ExitCode {
    match result {
        Ok(()) | Err(ExitError::BrokenPipe) => ExitCode::SUCCESS,
        Err(ExitError::Input) => ExitCode::from(1),
        Err(ExitError::Bug) => ExitCode::from(70),
        Err(ExitError::Reported) => ExitCode::from(boson_in_pod::REPORTED_EXIT_CODE),
        Err(ExitError::Again) => ExitCode::from(boson_in_pod::TRY_AGAIN_EXIT_CODE),
        Err(ExitError::Different) => ExitCode::from(2),
        // As timeout(1).
        Err(ExitError::TimedOut) => ExitCode::from(124),
        // As shells report it.
        Err(ExitError::Interrupted) => ExitCode::from(130),
        Err(ExitError::Io(error)) => {
            output::eprint(&format!("error: {error:#}\n"));
            ExitCode::from(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io::{Error, ErrorKind};

    #[test]
    fn only_a_closed_output_is_no_error() {
        let closed = Error::new(ErrorKind::BrokenPipe, OutputClosedError);
        let closed = Err::<(), _>(closed).context("cannot print").unwrap_err();
        assert!(matches!(ExitError::from(closed), ExitError::BrokenPipe));
        let connection = Error::from(ErrorKind::BrokenPipe);
        let connection = Err::<(), _>(connection).context("cannot list pods").unwrap_err();
        assert!(matches!(ExitError::from(connection), ExitError::Io(_)));
    }

    #[test]
    fn an_end_stays_what_it_is_inside_of_another_error() {
        let declined = Err::<(), _>(ExitError::Input).context("cannot deploy").unwrap_err();
        assert!(matches!(ExitError::from(declined), ExitError::Input));
        let closed = Err::<(), _>(ExitError::Io(anyhow::anyhow!("closed")));
        let closed = ExitError::from(closed.context("instance web/0").unwrap_err());
        assert!(matches!(closed, ExitError::Io(error) if format!("{error:#}") == "instance web/0: closed"));
    }
}
