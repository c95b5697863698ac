//! Checks a BOSHDeployment before it is stored: its documents, its ops files, and every check of the manifest that
//! needs no release. It calls the same functions as the controller, and writes nothing.

use super::merge;
use super::variables::{Depth, request_values};
use crate::codes;
use crate::deployment::context::Context;
use crate::deployment::error::DeployError;
use crate::deployment::inputs;
use crate::deployment::observe;
use crate::deployment::progress::Progress;
use crate::deployment::reconcile::Reconcile;
use boson_api::BoshDeployment;
use boson_cluster::client::Error;
use boson_document::Code;
use boson_in_pod::Values;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources};

/// Not errors yet: a missing object may be the next one in the same `kubectl apply`, and a web server may be available
/// again later.
const RECOVERABLE_CODES: &[&Code] = &[
    codes::DEPLOYMENT_NOT_FOUND,
    codes::DEPLOYMENT_NO_VALUE,
    codes::DEPLOYMENT_URL_UNREAD,
];

pub(crate) enum Checked {
    /// All errors with their positions, as in the condition of the deployment.
    Invalid(String),
    /// What has no effect, and what is still missing; a sentence each.
    Valid(Vec<String>),
}

// === impl Context ===

impl Context {
    /// Checks a deployment as it is about to be stored.
    ///
    /// # Errors
    /// A call to the API server that failed.
    pub(crate) async fn check(&self, mut object: BoshDeployment, namespace: &str) -> Result<Checked, Error> {
        // A new object may have no UID yet; nothing that refers to it is written.
        object.metadata.uid.get_or_insert_default();
        let progress = Progress::default();
        let active = match observe::plugins::resolve(self, &object, namespace) {
            Some(resolution) => resolution.active,
            None => Err(DeployError::Waiting("the plugins".into())),
        };
        let checked = async { check(&Reconcile::new(self, &object, namespace, active?, &progress)?).await };
        match checked.await {
            Ok(warnings) => Ok(Checked::Valid(warnings)),
            Err(DeployError::Invalid(problem) | DeployError::Refused(problem)) => Ok(Checked::Invalid(problem.message)),
            Err(DeployError::Waiting(what)) => {
                let warning = format!("not checked completely: that needs {what}");
                Ok(Checked::Valid(vec![warning]))
            }
            Err(DeployError::Api(error)) => Err(error),
        }
    }
}

async fn check(run: &Reconcile<'_>) -> Result<Vec<String>, DeployError> {
    let mut read = inputs::documents(run).await?;
    let (later, errors) = partition_errors(std::mem::take(&mut read.errors));
    if !errors.is_empty() {
        return Err(DeployError::invalid(errors, &read.sources));
    }
    if !later.is_empty() {
        return Ok(sentences(&later, &read.sources));
    }
    let stages = run.plugins.stages.clone();
    let mut manifest = merge(stages.clone(), read, run.deployment.name.clone()).await?;
    let (given, errors) = inputs::given(run, stages.clone(), &manifest).await?;
    let (later, errors) = partition_errors(errors);
    manifest.check_errors(errors)?;
    if !later.is_empty() {
        let reported = [manifest.warnings, later].concat();
        return Ok(sentences(&reported, &manifest.sources));
    }
    let given = Values::of(&given).map_err(|errors| manifest.errors(errors))?.given;
    let requested = request_values(run, stages, &mut manifest, &given, Depth::Manifest).await?;
    let reported = [manifest.warnings, requested.warnings].concat();
    let reported = manifest.secrets.scrub(reported, &manifest.sources);
    Ok(sentences(&reported, &manifest.sources))
}

/// What may be missing only for now, and what is wrong.
fn partition_errors(errors: Vec<Diagnostic>) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    errors
        .into_iter()
        .partition(|error| RECOVERABLE_CODES.iter().any(|code| code.name == error.code))
}

/// Each in one sentence, with its position.
fn sentences(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<String> {
    let entries = report::entries(diagnostics, sources).into_iter();
    let sentence = |entry: report::Entry| {
        let numbers = [entry.line, entry.line.and(entry.column)];
        let numbers = numbers.into_iter().flatten().map(|number| format!(":{number}"));
        match entry.file {
            Some(file) => format!("{file}{}: {}", numbers.collect::<String>(), entry.message),
            None => entry.message,
        }
    };
    entries.map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_object_is_no_error() {
        let errors = ["deployment-not-found", "ops-missing-key", "deployment-no-value"];
        let (later, errors) = partition_errors(errors.map(|code| Diagnostic::reported_error(code, "x")).into());
        let codes = |all: Vec<Diagnostic>| all.into_iter().map(|one| one.code).collect::<Vec<_>>();
        assert_eq!(codes(later), ["deployment-not-found", "deployment-no-value"]);
        assert_eq!(codes(errors), ["ops-missing-key"]);
    }

    #[test]
    fn a_sentence_begins_with_its_position() {
        let placed = Diagnostic::reported_warning("x", "no effect")
            .in_document("m")
            .on_line(3, Some(7));
        let nowhere = Diagnostic::reported_warning("x", "no place");
        assert_eq!(
            sentences(&[placed, nowhere], &Sources::default()),
            ["m:3:7: no effect", "no place"]
        );
    }
}
