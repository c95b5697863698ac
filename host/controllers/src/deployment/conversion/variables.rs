//! The step before values exist: which variables need one. Checks the manifest as far as that is possible without
//! values.

use super::owned;
use crate::deployment::error::DeployError;
use crate::deployment::inputs;
use crate::deployment::manifest::Manifest;
use crate::deployment::reconcile::Reconcile;
use boson_api::deployment::ConversionMode;
use boson_document::Tree;
use boson_pipeline::convert::GatherInputs;
use boson_pipeline::scrub::Secrets;
use boson_pipeline::stage::{DeploymentRequest, External, Named, SharedStages, Variable};
use boson_pipeline::variables::{self, Table};
use boson_pipeline::{Diagnostic, StageError, convert};
use serde_json::Value;
use std::sync::Arc;

/// What a manifest needs before it can be converted.
pub struct RequestedValues {
    /// Variables that need a value.
    pub variables: Vec<Variable>,
    /// A QuarksSecret for each.
    pub secrets: Vec<Value>,
    /// Reported only by checks: the desired manifest gives the same warnings again.
    pub warnings: Vec<Diagnostic>,
}

/// How much the checks of a manifest read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only the manifest, for an answer within the time limit of a webhook.
    Manifest,
    /// Also the releases, if the manifest has errors: links may have more.
    Releases,
}

/// The QuarksSecrets to apply, after the checks of the manifest that need no values.
pub async fn request_values(
    run: &Reconcile<'_>,
    stages: SharedStages,
    manifest: &mut Manifest,
    given: &Table,
    depth: Depth,
) -> Result<RequestedValues, DeployError> {
    // The checked document holds given values, and checks may quote what they refuse.
    manifest.secrets_mut().add(Secrets::of(&given.to_tree()));
    let (deployment, given, own) = (run.deployment.clone(), given.clone(), stages.clone());
    let checked = manifest.blocking(move |manifest| {
        let (wanted, warnings) = variables::wanted(&*own, manifest.named(), &given)?;
        let converted = own.convert_deployment(DeploymentRequest {
            deployment: &deployment,
            manifest: Named::new(&manifest.name, &wanted.document),
            variables: &wanted.variables,
        });
        Ok((wanted, warnings, converted))
    });
    let checked: Result<_, StageError> = checked.await?;
    let (wanted, mut warnings, converted) = checked.map_err(|error| manifest.stage_error(error))?;
    match converted {
        Ok((objects, reported)) => {
            warnings.extend(reported);
            Ok(RequestedValues {
                variables: wanted.variables,
                secrets: owned::of_kind(run, &*stages, objects, "QuarksSecret", manifest)?,
                warnings,
            })
        }
        // Errors of the deployment's own objects leave a document whose links can be checked, too.
        Err(error) => Err(all_errors(run, stages, manifest, error.into(), wanted.document, depth).await),
    }
}

/// All errors that can be found before values exist: those of the checks, and those of links. Both are reported at
/// once, as `host convert` does.
async fn all_errors(
    run: &Reconcile<'_>,
    stages: SharedStages,
    manifest: &mut Manifest,
    errors: Vec<Diagnostic>,
    document: Tree,
    depth: Depth,
) -> DeployError {
    if depth == Depth::Manifest || run.mode == ConversionMode::Jobs {
        return manifest.errors(errors);
    }
    manifest.tree = Arc::new(document);
    // Without releases, their images are reported after these errors are fixed.
    let Ok(releases) = inputs::releases(run, manifest).await else {
        return manifest.errors(errors);
    };
    let external = match inputs::links(run, manifest).await {
        Ok(external) => external,
        Err(DeployError::Invalid(_)) => External::default(),
        Err(error) => return error,
    };
    let (deployment, by_monit) = (run.deployment.clone(), run.by_monit);
    let all = manifest.blocking(move |manifest| {
        let inputs = GatherInputs {
            deployment: &deployment,
            by_monit,
            manifest: manifest.named(),
            releases: &releases,
            external: &external,
        };
        let gathered = convert::gather(&*stages, inputs);
        let more = gathered.err().map(Vec::from).unwrap_or_default();
        manifest.errors(convert::join_errors(errors, more))
    });
    all.await.unwrap_or_else(|error| error)
}
