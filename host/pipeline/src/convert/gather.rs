//! The parts of a conversion, each with its result as data: the operator stores the results in Secrets, and each of its pods does one part.

use super::{needed, places, pre_render_ops};
use crate::bundle::privileges::{self, GrantedPrivileges, Privileges};
use crate::release::Release;
use crate::stage::{Deployment, GroupRequest, JobFiles, Named, Reply, ResolvedGroup, StageError, Stages};
use boson_deployment::dns;
use boson_deployment::names::Names;
use boson_document::Tree;

/// The resolved document of every group: its part of the manifest, bound properties, links, instances.
///
/// # Errors
/// Releases that are not given; errors of the links stage.
pub fn gather(
    stages: &dyn Stages,
    deployment: &Deployment,
    manifest: Named<'_>,
    releases: &[Release],
) -> Reply<Vec<ResolvedGroup>> {
    let missing = needed::missing(manifest, releases);
    if !missing.is_empty() {
        return Err(StageError::Input(missing));
    }
    let mut diagnostics = needed::versions(manifest, releases);
    diagnostics.extend(needed::unused(manifest, releases));
    let specs = needed::specs(manifest, releases);
    match stages.resolve(manifest, deployment, &specs) {
        Ok((mut resolved, said)) => {
            diagnostics.extend(said);
            if deployment.monit {
                resolved.groups.iter_mut().for_each(by_monit);
            }
            let ((), said) = pre_render_ops::to_groups(stages, &mut resolved.groups, manifest)?;
            diagnostics.extend(said);
            Ok((resolved.groups, diagnostics))
        }
        // An unused release may be one whose name was mistyped.
        Err(StageError::Input(errors)) => Err(StageError::Input(errors.into_iter().chain(diagnostics).collect())),
        Err(error) => Err(error),
    }
}

/// Sets `quarks.monit: true` for all jobs of a group; a job's own setting wins.
fn by_monit(group: &mut ResolvedGroup) {
    let groups = group.document.get_mut("instance_groups").and_then(Tree::as_array_mut);
    for job in groups.into_iter().flatten().filter_map(|group| group.get_mut("jobs")) {
        for quarks in job
            .as_array_mut()
            .into_iter()
            .flatten()
            .filter_map(|job| job.get_mut("properties")?.get_mut("quarks"))
        {
            if quarks.get("monit").is_none() {
                quarks.set("monit", true);
            }
        }
    }
}

/// The privileges that the pods of a deployment may have: those that an administrator allows, and those that each group asks for. `groups`: name,
/// resolved document and rendered bpm of each.
pub fn granted<'g>(
    names: &Names,
    allowed: &Privileges,
    groups: impl IntoIterator<Item = (&'g str, &'g Tree, &'g [JobFiles])>,
) -> GrantedPrivileges {
    let mut granted = GrantedPrivileges::new(allowed.clone());
    granted.grant_dns(dns::object_name(names));
    for (group, document, jobs) in groups {
        // A group without a name has no workload: the bpm stage reports it.
        if let Ok(workload) = names.group(group) {
            granted.grant(workload, privileges::of_group(document, jobs));
        }
    }
    granted
}

/// The objects of one group. `jobs`: its rendered bpm files; `resolved_secret`: name of the Secret with its resolved document, which its pods mount.
///
/// # Errors
/// Errors of the bpm stage.
pub fn group_objects(
    stages: &dyn Stages,
    deployment: &Deployment,
    manifest: Named<'_>,
    group: &ResolvedGroup,
    jobs: Vec<JobFiles>,
    resolved_secret: &str,
) -> Reply<Vec<Tree>> {
    let pointer = places::of_group(manifest.tree, &group.name);
    let request = GroupRequest {
        deployment,
        group: &group.document,
        document_name: manifest.name,
        pointer: &pointer,
        jobs,
        resolved_secret,
    };
    let mut reply = stages.convert_group(&request);
    if let Ok((_, said)) | Err(StageError::Input(said)) = &mut reply {
        let entry = group.document.items("instance_groups").first().unwrap_or(&Tree::Null);
        places::of_jobs(said, manifest, entry, &pointer, &request.jobs);
        places::as_written(said, manifest.name, manifest.tree);
    }
    reply
}
