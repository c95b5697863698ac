//! The last step: the objects of the deployment.

use super::work::{CONVERSION_THREADS, RenderedGroup};
use crate::deployment::manifest::Manifest;
use crate::deployment::plan::held_back::HeldBack;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_document::Tree;
use boson_pipeline::convert::{self, Group, Making, Target};
use boson_pipeline::stage::{SharedStages, Variable};
use std::sync::Arc;

/// The objects of the deployment. Groups that cannot be converted are held back.
pub async fn objects(
    run: &Reconcile<'_>,
    stages: SharedStages,
    manifest: &mut Manifest,
    without_values: Arc<Tree>,
    variables: Vec<Variable>,
    groups: Vec<RenderedGroup>,
    held_back: &mut HeldBack,
) -> Result<Vec<Tree>, Stop> {
    let (deployment, names) = (run.deployment.clone(), run.names.clone());
    let (permissions, pod_plugins) = (run.context.conversion.permissions.clone(), run.copies.plugins.clone());
    let made = manifest.blocking(move |manifest| {
        let making = Making {
            deployment: &deployment,
            names: &names,
            manifest: manifest.named(),
            without_values: &without_values,
            variables: &variables,
            target: Target::Quarks,
            permissions: &permissions,
            pod_plugins: &pod_plugins,
            is_partial: true,
            threads: CONVERSION_THREADS,
        };
        let ready: Vec<Group<'_>> = groups.iter().map(RenderedGroup::ready).collect();
        let mut reported = Vec::new();
        let made = convert::objects(&*stages, &making, &ready, Vec::new(), &mut reported);
        (made, reported)
    });
    let (made, reported) = made.await?;
    manifest.warnings.extend(reported);
    let objects = made.result.map_err(|errors| manifest.fail(errors))?;
    for (group, errors) in made.failed {
        held_back.add([group], manifest.wrong_with(errors));
    }
    Ok(objects)
}
