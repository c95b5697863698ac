//! Pull Secrets for the pods of a conversion, from the credentials of releases in the manifest.

use super::owned;
use super::work::Work;
use crate::deployment::act;
use crate::deployment::error::DeployError;
use crate::deployment::inputs;
use crate::deployment::observe;
use crate::deployment::reconcile::Reconcile;
use boson_pipeline::stage::DeploymentRequest;

/// Applies the pull Secrets early: pods of the conversion need them before the objects of the deployment exist.
pub async fn apply(run: &Reconcile<'_>, work: &Work) -> Result<(), DeployError> {
    let manifest = &work.manifest;
    if !manifest.tree.items("releases").iter().any(inputs::has_credentials) {
        return Ok(());
    }
    let (stages, deployment) = (work.stages.clone(), run.deployment.clone());
    let made = manifest.blocking(move |manifest| {
        stages.convert_deployment(DeploymentRequest {
            deployment: &deployment,
            manifest: manifest.named(),
            variables: &[],
        })
    });
    let (objects, _) = made.await?.map_err(|error| manifest.stage_error(error))?;
    let wanted = owned::of_kind(run, &*work.stages, objects, "Secret", manifest)?;
    let mut live = observe::of_kind(run, "v1", "Secret").await?;
    for object in observe::difference(run, wanted, &mut live).await?.apply {
        act::apply(run, &object).await?;
    }
    Ok(())
}
