//! The manifest between the steps of a conversion, with what its diagnostics need.

use super::documents::Documents;
use super::stop::{Stop, Wrong};
use boson_budget::Share;
use boson_document::Tree;
use boson_in_pod::Values;
use boson_pipeline::convert;
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::Named;
use boson_pipeline::{Diagnostic, StageError, Stages, variables};
use std::sync::Arc;

/// Stages that any thread may call.
pub(super) type SharedStages = Arc<dyn Stages + Send + Sync>;

/// The manifest between two steps.
pub(super) struct Manifest {
    pub name: String,
    pub tree: Tree,
    pub sources: Sources,
    pub warnings: Vec<Diagnostic>,
    /// Values that no message may hold.
    pub secrets: Secrets,
    /// The memory that the conversion may use: held as long as the manifest.
    _share: Share,
}

// === impl Manifest ===

impl Manifest {
    pub(super) fn named(&self) -> Named<'_> {
        Named {
            name: &self.name,
            tree: &self.tree,
        }
    }

    /// What messages may quote.
    pub(super) fn filter(&self) -> Filter<'_> {
        Filter {
            secrets: &self.secrets,
            sources: &self.sources,
        }
    }

    pub(super) fn wrong(&self, error: StageError) -> Stop {
        self.fail(error.into_diagnostics())
    }

    pub(super) fn one(&self, error: Diagnostic) -> Stop {
        self.fail(vec![error])
    }

    /// These errors, with their positions and without values of variables.
    pub(super) fn fail(&self, errors: Vec<Diagnostic>) -> Stop {
        Stop::Wrong(self.wrong_with(errors))
    }

    /// The same, for errors that do not stop the whole deployment.
    pub(super) fn wrong_with(&self, errors: Vec<Diagnostic>) -> Wrong {
        Wrong::of(self.secrets.scrub(errors, &self.sources), &self.sources)
    }
}

/// Runs outside the threads of the runtime: a conversion uses a processor for seconds.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stop> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Stop::Waiting("the conversion, which crashed".into()))
}

/// The manifest with its ops files applied, and combined with its cloud configs.
pub(super) async fn merge(stages: SharedStages, documents: Documents) -> Result<Manifest, Stop> {
    blocking(move || {
        let Documents {
            manifest,
            ops,
            cloud_configs,
            mut sources,
            share,
            secrets,
        } = documents;
        let mut warnings = Vec::new();
        let all = convert::Documents {
            manifest: &manifest,
            ops: &ops,
            cloud_configs: &cloud_configs,
        };
        let merged = convert::merge(&*stages, all, &mut sources, &mut warnings);
        let tree = merged.map_err(|errors| Stop::wrong(secrets.scrub(errors, &sources), &sources))?;
        Ok(Manifest {
            name: manifest.name.clone(),
            tree,
            sources,
            warnings,
            secrets,
            _share: share,
        })
    })
    .await?
}

/// The manifest with the values of all variables.
pub(super) async fn desired(stages: SharedStages, mut manifest: Manifest, values: Values) -> Result<Manifest, Stop> {
    blocking(move || {
        let result = variables::desired(&*stages, manifest.named(), &values.given, &values.generated);
        let (done, said) = result.map_err(|error| manifest.wrong(error))?;
        manifest.warnings.extend(said);
        manifest.tree = done.document;
        Ok(manifest)
    })
    .await?
}
