//! The manifest between the steps of a conversion, with what its diagnostics need.

use super::stop::{Problem, Stop, refusal};
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
    pub async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(&Self) -> T + Send + 'static) -> Result<T, Stop> {
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

    pub fn wrong(&self, error: StageError) -> Stop {
        self.fail(error.into_diagnostics())
    }

    pub fn one(&self, error: Diagnostic) -> Stop {
        self.fail(vec![error])
    }

    /// These errors, with their positions and without values of variables.
    pub fn fail(&self, errors: Vec<Diagnostic>) -> Stop {
        Stop::Wrong(self.wrong_with(errors))
    }

    /// Fails with these errors, if there are any.
    pub fn all_right(&self, errors: Vec<Diagnostic>) -> Result<(), Stop> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(self.fail(errors))
        }
    }

    /// These errors, as [`Self::fail`] has them, where they do not stop the whole deployment.
    pub fn wrong_with(&self, errors: Vec<Diagnostic>) -> Problem {
        Problem::of(self.secrets.scrub(errors, &self.sources), &self.sources)
    }

    /// These refusals by the cluster, without values of variables.
    pub fn refused(&self, refusals: Vec<Diagnostic>) -> Stop {
        Stop::Refused(self.wrong_with(refusals))
    }

    /// Turns a lasting error of the API server into a refusal.
    pub fn or_refused(&self, stop: Stop) -> Stop {
        match stop {
            Stop::Api(error) if error.is_lasting() => self.refused(vec![refusal(&error)]),
            other => other,
        }
    }
}

/// A name that Kubernetes does not accept.
pub fn unnamed(error: &NameError) -> Diagnostic {
    Diagnostic::error(codes::CONVERT_NO_NAME, error.to_string()).help("choose another name")
}

/// Runs outside the threads of the runtime: a conversion uses a processor for seconds.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stop> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Stop::Waiting("the conversion, which crashed".into()))
}
