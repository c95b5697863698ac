//! The step that binds properties and resolves links.

use super::{needed, pre_render_ops};
use crate::release::Release;
use crate::stage::{Deployment, External, LinksRequest, Named, Reply, Resolved, ResolvedGroup, StageError, Stages};

/// What properties and links are resolved from.
#[derive(Clone, Copy)]
pub struct GatherInputs<'a> {
    pub deployment: &'a Deployment,
    /// Jobs without bpm information run by their monit files.
    pub by_monit: bool,
    pub manifest: Named<'a>,
    pub releases: &'a [Release],
    /// The links from outside of the deployment.
    pub external: &'a External,
}

/// The resolved document of every group: its part of the manifest, bound properties, links, instances. And the links
/// that the deployment provides.
///
/// # Errors
/// Releases that are not given; errors of the links stage.
pub fn gather(stages: &dyn Stages, inputs: GatherInputs<'_>) -> Reply<Resolved> {
    let GatherInputs {
        deployment,
        by_monit,
        manifest,
        releases,
        external,
    } = inputs;
    let missing = needed::missing(manifest, releases);
    if !missing.is_empty() {
        return Err(StageError::Input(missing));
    }
    let mut diagnostics = needed::versions(manifest, releases);
    diagnostics.extend(needed::unused(manifest, releases));
    let specs = needed::specs(manifest, releases);
    let request = LinksRequest {
        manifest,
        deployment,
        jobs: &specs,
        external,
    };
    match stages.resolve(request) {
        Ok((mut resolved, reported)) => {
            diagnostics.extend(reported);
            if by_monit {
                resolved.groups.iter_mut().for_each(set_monit);
            }
            let ((), reported) = pre_render_ops::to_groups(stages, &mut resolved.groups, manifest)?;
            diagnostics.extend(reported);
            Ok((resolved, diagnostics))
        }
        // An unused release may be one whose name was mistyped.
        Err(StageError::Input(mut errors)) => {
            needed::suggest_jobs(&mut errors, manifest, releases);
            Err(StageError::Input(errors.into_iter().chain(diagnostics).collect()))
        }
        Err(error) => Err(error),
    }
}

/// Sets `quarks.monit: true` for all jobs of a group; a job's own setting wins.
fn set_monit(group: &mut ResolvedGroup) {
    for group in group.document.items_mut("instance_groups") {
        for job in group.items_mut("jobs") {
            let quarks = job.get_mut("properties").and_then(|all| all.get_mut("quarks"));
            if let Some(quarks) = quarks.filter(|quarks| quarks.get("monit").is_none()) {
                quarks.set("monit", true);
            }
        }
    }
}
