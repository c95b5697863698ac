//! The last steps: the objects of the deployment.

use super::work::{CONVERSION_THREADS, Gathered};
use crate::deployment::manifest::{Manifest, unnamed};
use crate::deployment::plan::held_back::HeldBack;
use crate::deployment::plan::job_sources::JobSources;
use crate::deployment::plan::revisions::Revisions;
use crate::deployment::reconcile::Reconcile;
use crate::deployment::stop::Stop;
use boson_document::Tree;
use boson_pipeline::bundle::Bundle;
use boson_pipeline::convert::{self, Group, Overview, Target, pod_plugins};
use boson_pipeline::plain;
use boson_pipeline::stage::{Named, SharedStages, Variable};
use std::sync::Arc;

/// The objects of the deployment. Groups that cannot be converted are held back.
pub async fn objects(
    run: &Reconcile<'_>,
    stages: SharedStages,
    manifest: &mut Manifest,
    without_values: Arc<Tree>,
    variables: Vec<Variable>,
    gathered: Vec<Gathered>,
    held_back: &mut HeldBack,
) -> Result<Vec<Tree>, Stop> {
    let deployment = run.deployment.clone();
    let in_pods = run.copies.plugins.clone();
    let granted = convert::granted(&run.names, gathered.iter().map(Gathered::ready));
    let permissions = &run.context.conversion.permissions;
    let bundle = Bundle::with_rules(&deployment, granted, permissions, &manifest.tree);
    let made = manifest.blocking(move |manifest| {
        let mut reported = Vec::new();
        let ready: Vec<Group<'_>> = gathered.iter().map(Gathered::ready).collect();
        let made = convert::objects(
            &*stages,
            &deployment,
            manifest.named(),
            &variables,
            &ready,
            CONVERSION_THREADS,
            &mut reported,
        );
        // Errors of the whole deployment are reported together with those of groups. If no group is left, the
        // conversion fails, too.
        let is_lost = !made.failed.is_empty() && made.failed.len() == ready.len();
        let (failed, result) = if is_lost || !made.errors.is_empty() {
            let of_groups = made.failed.into_iter().flat_map(|(_, errors)| errors);
            (Vec::new(), Err(convert::together(made.errors, of_groups.collect())))
        } else {
            let mut converted = made.converted;
            for one in &mut converted {
                pod_plugins::give(&mut one.objects, one.group.as_deref(), &in_pods);
            }
            let overview = Overview {
                target: Target::Quarks.name(),
                manifest: Named {
                    tree: &without_values,
                    ..manifest.named()
                },
                groups: &ready.iter().map(|group| group.resolved).collect::<Vec<_>>(),
            };
            let objects = convert::transform(&*stages, &deployment, converted, overview, bundle, &mut reported);
            (made.failed, objects)
        };
        (failed, result, reported)
    });
    let (failed, result, reported) = made.await?;
    manifest.warnings.extend(reported);
    let objects = result.map_err(|errors| manifest.fail(errors))?;
    for (group, errors) in failed {
        held_back.add([group], manifest.wrong_with(errors));
    }
    Ok(objects)
}

/// The revisions of the instances of all groups that have some, by the name of the group.
pub fn revisions(gathered: &mut [Gathered]) -> Vec<(String, Revisions)> {
    let of = |one: &mut Gathered| Some((one.group.name.clone(), one.revisions.take()?));
    gathered.iter_mut().filter_map(of).collect()
}

/// The job sources of all groups that have some.
pub fn job_sources(run: &Reconcile<'_>, manifest: &Manifest, gathered: &mut [Gathered]) -> Result<JobSources, Stop> {
    let mut sources = JobSources::default();
    for one in gathered {
        let Some(packed) = one.sources.take() else { continue };
        let (group, tags) = (&one.group.name, plain::tags(&manifest.tree, Some(&one.group.name)));
        let added = sources.add(run.whose(), group, &one.resolved, packed, tags);
        added.map_err(|error| manifest.one(unnamed(&error)))?;
    }
    Ok(sources)
}
