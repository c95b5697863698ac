//! The manifest between the steps of a conversion, with what its diagnostics need.

use super::error::{DeployError, DeployProblem, refusal};
use boson_budget::Share;
use boson_document::Tree;
use boson_manifest::names::NameError;
use boson_pipeline::convert::codes;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::Named;
use boson_pipeline::{Diagnostic, StageError};
use std::sync::Arc;

/// The manifest between two steps.
#[derive(Clone)]
pub struct Manifest {
    pub name: String,
    pub tree: Arc<Tree>,
    pub sources: Arc<Sources>,
    pub warnings: Vec<Diagnostic>,
    /// Values that no message may hold.
    pub secrets: Arc<Secrets>,
    /// The memory that the conversion may use: held as long as the manifest.
    pub _share: Arc<Share>,
}

// === impl Manifest ===

impl Manifest {
    pub fn named(&self) -> Named<'_> {
        Named::new(&self.name, &self.tree)
    }

    /// Reads it outside the threads of the runtime: see [`blocking`].
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, DeployError> {
        let shared = self.clone();
        blocking(move || work(&shared)).await
    }

    pub fn sources_mut(&mut self) -> &mut Sources {
        Arc::make_mut(&mut self.sources)
    }

    pub fn secrets_mut(&mut self) -> &mut Secrets {
        Arc::make_mut(&mut self.secrets)
    }

    /// What messages may quote.
    pub fn filter(&self) -> Filter<'_> {
        Filter {
            secrets: &self.secrets,
            sources: &self.sources,
        }
    }

    pub fn stage_error(&self, error: StageError) -> DeployError {
        self.errors(error.into())
    }

    pub fn error(&self, error: Diagnostic) -> DeployError {
        self.errors(vec![error])
    }

    /// These errors, with their positions and without values of variables.
    pub fn errors(&self, errors: Vec<Diagnostic>) -> DeployError {
        DeployError::Invalid(self.problem(errors))
    }

    /// Fails with these errors, if there are any.
    pub fn check_errors(&self, errors: Vec<Diagnostic>) -> Result<(), DeployError> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(self.errors(errors))
        }
    }

    /// These errors, as [`Self::errors`] has them, where they do not stop the whole deployment.
    pub fn problem(&self, errors: Vec<Diagnostic>) -> DeployProblem {
        DeployProblem::of(self.secrets.scrub(errors, &self.sources), &self.sources)
    }

    /// These refusals by the cluster, without values of variables.
    pub fn refused(&self, refusals: Vec<Diagnostic>) -> DeployError {
        DeployError::Refused(self.problem(refusals))
    }

    /// Turns a lasting error of the API server into a refusal.
    pub fn refused_if_lasting(&self, error: DeployError) -> DeployError {
        match error {
            DeployError::Api(error) if error.is_lasting() => self.refused(vec![refusal(&error)]),
            other => other,
        }
    }
}

/// A name that Kubernetes does not accept.
pub fn name_error(error: &NameError) -> Diagnostic {
    Diagnostic::error(codes::CONVERT_NO_NAME, error.to_string()).help("choose another name")
}

/// Runs outside the threads of the runtime: a conversion uses a processor for seconds.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, DeployError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| DeployError::Waiting("the conversion, which crashed".into()))
}
