//! How a run ends, decided in one place: 0, 1 (your input), 2 (usage), 70 (our bug); 124 of `host wait`; in pods of a conversion also 65 (your input, and the
//! operator was told) and 75 (try again).

use boson_controllers::in_pod;
use boson_pipeline::Diagnostic;
use std::process::ExitCode;

/// Why a command did not succeed. What there is to say has been said, but for `Io`.
#[derive(Debug)]
pub enum Failed {
    /// The user's input is wrong; diagnostics were shown.
    Input,
    /// A built-in rule or the host itself is.
    Bug,
    /// The user's input is wrong, and the operator was told.
    Told,
    /// Nobody's mistake: another try finds other files.
    Again,
    /// What was waited for did not come in time; that was said.
    TimedOut,
    /// The file system or a stream said no.
    Io(anyhow::Error),
    /// Whoever read our output has gone: no reason to complain.
    BrokenPipe,
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        let gone = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
        if error.chain().filter_map(|cause| cause.downcast_ref()).any(gone) {
            Self::BrokenPipe
        } else {
            Self::Io(error)
        }
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

/// Codes of diagnostics that say that a rule is broken, not the input.
const BUGS: [&str; 2] = ["plugin-trapped", "plugin-malformed-reply"];

/// Whether one of these is ours to mend. `foreign`: the user brought plugins, and theirs may be the broken one.
pub fn failed(diagnostics: &[Diagnostic], foreign: bool) -> Failed {
    if !foreign && diagnostics.iter().any(|one| BUGS.contains(&one.code.as_str())) {
        Failed::Bug
    } else {
        Failed::Input
    }
}

/// The process's exit code.
pub fn code(result: Result<(), Failed>) -> ExitCode {
    match result {
        Ok(()) | Err(Failed::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failed::Input) => ExitCode::from(1),
        Err(Failed::Bug) => ExitCode::from(70),
        Err(Failed::Told) => ExitCode::from(in_pod::REPORTED),
        Err(Failed::Again) => ExitCode::from(in_pod::TRY_AGAIN),
        // As timeout(1) has it.
        Err(Failed::TimedOut) => ExitCode::from(124),
        Err(Failed::Io(error)) => {
            crate::output::complain(&format!("error: {error:#}\n"));
            ExitCode::from(1)
        }
    }
}
