//! The results of a conversion job's containers: output that becomes Secrets, and diagnostics for the operator.

use anyhow::Context;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_commands::storage::durable;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::stored_documents::Texts;
use boson_pipeline::report::Sources;
use clap::Args;
use std::path::{Path, PathBuf};

/// Options for the results of a container.
#[derive(Args, Clone, Debug)]
pub struct ResultArguments {
    /// Write the output to this file: a JSON object of strings
    #[arg(long, value_name = "FILE", default_value = boson_in_pod::OUTPUT_PATH)]
    output: PathBuf,
    /// Write errors and warnings for the operator to this file
    #[arg(long, value_name = "FILE", default_value = boson_in_pod::TERMINATION_LOG_PATH)]
    report: PathBuf,
    /// Size limit of the report in bytes: the kubelet truncates longer messages
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    report_limit: usize,
}

// === impl ResultArguments ===

impl ResultArguments {
    /// Writes the output, or errors. `warnings` are reported in both cases. `manifest`: the document whose lines only
    /// the operator knows, so the operator adds the places in it.
    pub fn write(
        &self,
        outcome: Result<Texts, Vec<Diagnostic>>,
        warnings: Vec<Diagnostic>,
        sources: &Sources,
        manifest: &str,
        color: Color,
    ) -> Result<(), ExitError> {
        let (texts, mut reported) = match outcome {
            Ok(texts) => (Some(texts), Vec::new()),
            Err(errors) => (None, errors),
        };
        reported.extend(warnings);
        output::show(&reported, sources, color);
        let located: Vec<Diagnostic> = reported.iter().map(|one| placed(one, sources, manifest)).collect();
        let message = boson_in_pod::to_message(&located, self.report_limit);
        // In place: the kubelet has mounted this file, so it cannot be replaced by a rename.
        let written = std::fs::write(&self.report, message);
        written.with_context(|| format!("cannot write '{}'", self.report.display()))?;
        match texts {
            Some(texts) => write_texts(&self.output, &texts),
            None => Err(match exit::failed(&reported, false) {
                ExitError::Input => ExitError::Reported,
                other => other,
            }),
        }
    }
}

/// Writes texts that become a Secret.
pub fn write_texts(path: &Path, texts: &Texts) -> Result<(), ExitError> {
    let text = serde_json::to_string(texts).map_err(anyhow::Error::from)?;
    Ok(durable::write(path, text.as_bytes(), 0o640)?)
}

/// Adds line and column in documents that only this container has.
fn placed(one: &Diagnostic, sources: &Sources, manifest: &str) -> Diagnostic {
    let mut one = one.clone();
    if one.place.line.is_none() && one.place.document.as_deref() != Some(manifest) {
        let located = sources.locate(&one.place);
        (one.place.line, one.place.column) = (located.line, located.column);
    }
    one
}
