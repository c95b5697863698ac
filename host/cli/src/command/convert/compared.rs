//! Conversions for `host diff`: nothing is written, and warnings are not shown.

use super::steps::{self, Done, Watching};
use super::{ConvertArguments, TargetArgument, with_defaults};
use crate::command::variables::Kept;
use boson_commands::exit::{self, ExitError};
use boson_commands::memory;
use boson_commands::output::{self, Color, Progress};
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;

/// Applies ops files and cloud configs, and nothing else.
///
/// # Errors
/// All errors, after they were shown.
pub fn merged(arguments: &ConvertArguments, color: Color) -> Result<Tree, ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    let merged = with_defaults(arguments, &mut sources, &mut warnings)
        .and_then(|arguments| steps::merged(&arguments, &mut sources, &mut warnings));
    merged.map_err(|errors| failed(arguments, &errors, &sources, color))
}

/// Converts to objects of the operator, and writes nothing.
///
/// # Errors
/// All errors, after they were shown.
pub fn to_compare(arguments: &ConvertArguments, kept: Kept, color: Color) -> Result<Done, ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let (mut warnings, progress) = (Vec::new(), Progress::start());
    let converted = with_defaults(arguments, &mut sources, &mut warnings).and_then(|mut arguments| {
        arguments.variables.kept = kept;
        arguments.target = TargetArgument::Quarks;
        let watching = Watching::Nothing;
        steps::convert(&arguments, watching, &mut sources, &mut warnings, &progress)
    });
    drop(progress);
    converted.map_err(|errors| failed(arguments, &errors, &sources, color))
}

/// Shows the errors.
fn failed(arguments: &ConvertArguments, errors: &[Diagnostic], sources: &Sources, color: Color) -> ExitError {
    output::show(errors, sources, color);
    exit::failed(errors, !arguments.plugins.replacements.is_empty())
}
