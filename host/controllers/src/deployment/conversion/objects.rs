//! The last step: the objects of the deployment.

use super::work::{CONVERSION_THREADS, RenderedGroup, Work};
use crate::deployment::error::DeployError;
use crate::deployment::reconcile::Reconcile;
use boson_document::Tree;
use boson_pipeline::convert::{self, Group, Making, Target};
use std::mem;

/// The objects of the deployment. Groups that cannot be converted are held back.
pub async fn objects(
    run: &Reconcile<'_>,
    work: &mut Work,
    groups: Vec<RenderedGroup>,
) -> Result<Vec<Tree>, DeployError> {
    let (deployment, names) = (run.deployment.clone(), run.names.clone());
    let (permissions, pod_plugins) = (run.context.conversion.permissions.clone(), run.copies.plugins.clone());
    let (without_values, variables) = (mem::take(&mut work.without_values), mem::take(&mut work.variables));
    let made = work.call(move |stages, manifest| {
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
        let ready = groups.iter().map(|one| Group {
            resolved: &one.gathered.group,
            secret: one.gathered.secret.clone(),
            jobs: &one.jobs,
        });
        let ready: Vec<_> = ready.collect();
        let mut reported = Vec::new();
        let made = convert::objects(stages, &making, &ready, Vec::new(), &mut reported);
        Ok((made, reported))
    });
    let made = made.await?;
    let objects = made.result.map_err(|errors| work.manifest.errors(errors))?;
    for (group, errors) in made.failed {
        work.held_back.add([group], work.manifest.problem(errors));
    }
    Ok(objects)
}
