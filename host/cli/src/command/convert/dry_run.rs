//! Conversions that write nothing and whose warnings are not shown: of `host diff`, `host plugin diff` and `host
//! blame`.

use super::steps::{self, Done, Watching};
use super::{ConvertArguments, with_defaults};
use boson_commands::exit::ExitError;
use boson_commands::memory;
use boson_commands::output::{Color, Progress};
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;

/// Applies ops files, cloud configs and runtime configs, and nothing else.
///
/// # Errors
/// All errors, after they were shown.
pub fn merged(arguments: &ConvertArguments, color: Color) -> Result<Tree, ExitError> {
    let merged = run_and_report(arguments, color, |arguments, sources, warnings| {
        steps::merged(&arguments, sources, warnings)
    });
    merged.map(|(manifest, _)| manifest)
}

/// Converts. `change`: sets what the command itself decides, after the options of boson.yaml.
///
/// # Errors
/// All errors, after they were shown.
pub fn dry_run(
    arguments: &ConvertArguments,
    watching: Watching<'_>,
    color: Color,
    change: impl FnOnce(&mut ConvertArguments),
) -> Result<(Done, Sources), ExitError> {
    run_and_report(arguments, color, |mut arguments, sources, warnings| {
        change(&mut arguments);
        steps::convert(&arguments, watching, sources, warnings, &Progress::start())
    })
}

/// Does the work with the options of boson.yaml, and shows its errors.
fn run_and_report<T>(
    arguments: &ConvertArguments,
    color: Color,
    work: impl FnOnce(ConvertArguments, &mut Sources, &mut Vec<Diagnostic>) -> Result<T, Vec<Diagnostic>>,
) -> Result<(T, Sources), ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    let done = with_defaults(arguments, &mut sources, &mut warnings)
        .and_then(|arguments| work(arguments, &mut sources, &mut warnings));
    match done {
        Ok(done) => Ok((done, sources)),
        Err(errors) => Err(arguments.plugins.failed(&errors, &sources, color)),
    }
}
