//! What the containers of a conversion job leave: output that becomes Secrets, and what they have to say, for the operator.

use crate::exit::{self, Failed};
use crate::output::{self, Color};
use crate::storage::durable;
use boson_controllers::in_pod;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::kept::Texts;
use boson_pipeline::report::Sources;
use clap::Args;
use std::path::{Path, PathBuf};

/// Options about what a container leaves.
#[derive(Args, Clone, Debug)]
pub struct Leaving {
    /// Where the output goes: a JSON object of texts
    #[arg(long, value_name = "FILE", default_value = in_pod::OUTPUT)]
    output: PathBuf,
    /// Where errors and warnings go, for the operator
    #[arg(long, value_name = "FILE", default_value = in_pod::TERMINATION_LOG)]
    report: PathBuf,
    /// Most bytes of these: the kubelet cuts what is longer
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    report_limit: usize,
}

/// What a command found: texts for a Secret, or why there are none.
pub type Outcome = Result<Texts, Vec<Diagnostic>>;

// === impl Leaving ===

impl Leaving {
    /// Writes the output, or what is wrong. `warnings` are told in both cases; `manifest`: the document that the operator knows better than
    /// we do: its places are left for the operator to find.
    pub fn leave(
        &self,
        outcome: Outcome,
        warnings: Vec<Diagnostic>,
        sources: &Sources,
        manifest: &str,
        color: Color,
    ) -> Result<(), Failed> {
        let (texts, mut said) = match outcome {
            Ok(texts) => (Some(texts), Vec::new()),
            Err(errors) => (None, errors),
        };
        said.extend(warnings);
        output::show(&said, sources, color);
        let reported: Vec<Diagnostic> = said.iter().map(|one| placed(one, sources, manifest)).collect();
        write(
            &self.report,
            in_pod::to_message(&reported, self.report_limit).as_bytes(),
        )?;
        match texts {
            Some(texts) => {
                let text = serde_json::to_string(&texts).map_err(anyhow::Error::from)?;
                Ok(durable::write(&self.output, text.as_bytes(), 0o640)?)
            }
            None => Err(match exit::failed(&said, false) {
                Failed::Input => Failed::Told,
                other => other,
            }),
        }
    }
}

/// With the line and column of a document that only we have.
fn placed(one: &Diagnostic, sources: &Sources, manifest: &str) -> Diagnostic {
    let mut one = one.clone();
    if one.place.line.is_none() && one.place.document.as_deref() != Some(manifest) {
        let located = sources.locate(&one);
        (one.place.line, one.place.column) = (located.line, located.column);
    }
    one
}

/// In place: the kubelet has mounted the file itself, so that no other can be put there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    std::fs::write(path, bytes)
        .map_err(|error| anyhow::anyhow!("cannot write '{}': {error}", path.display()))
        .map_err(Failed::from)
}
