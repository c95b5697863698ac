//! The step that makes the objects of the deployment and of each of its groups.

use super::{parallel, places};
use crate::author::Author;
use crate::bundle::privileges::{self, GrantedPrivileges};
use crate::diagnostic::{Diagnostic, causes};
use crate::stage::{
    Deployment, GroupRequest, JobFiles, Named, PluginRef, Reply, ResolvedGroup, Stage, StageError, Stages, Variable,
};
use boson_document::Tree;
use boson_manifest::dns;
use boson_manifest::names::Names;

/// A resolved and rendered instance group.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Its resolved document.
    pub resolved: &'a ResolvedGroup,
    /// Name of the Secret with the resolved document, which its pods mount.
    pub secret: &'a str,
    /// Its jobs with their rendered BPM configuration.
    pub jobs: &'a [JobFiles],
}

/// Objects that a plugin of the stage `bpm` returned.
#[derive(Debug)]
pub struct Converted {
    /// The plugin: not the same for all groups, if a wrapper selects some.
    pub author: Author,
    /// The instance group; none: the deployment itself.
    pub group: Option<String>,
    pub objects: Vec<Tree>,
}

/// The objects of a deployment.
#[derive(Debug, Default)]
pub struct Objects {
    /// The objects of the deployment itself, then those of its groups, in manifest order.
    pub converted: Vec<Converted>,
    /// Errors of the deployment itself.
    pub errors: Vec<Diagnostic>,
    /// The groups that have no objects, with their errors.
    pub failed: Vec<(String, Vec<Diagnostic>)>,
}

/// Makes the objects of the deployment and of these groups. An error of one group does not affect the others. Warnings
/// are added to `reported`.
pub fn objects(
    stages: &dyn Stages,
    deployment: &Deployment,
    manifest: Named<'_>,
    variables: &[Variable],
    groups: &[Group<'_>],
    threads: usize,
    reported: &mut Vec<Diagnostic>,
) -> Objects {
    let mut made = Objects::default();
    match stages.convert_deployment(deployment, manifest, variables) {
        Ok((objects, notes)) => {
            made.converted.push(Converted {
                author: stages.author(PluginRef::Rule(Stage::Bpm, None)),
                group: None,
                objects,
            });
            reported.extend(notes);
        }
        Err(error) => made.errors = error.into_diagnostics(),
    }
    let replies = parallel::map(groups, threads, |group| of_group(stages, deployment, manifest, group));
    for (group, reply) in groups.iter().zip(replies) {
        match reply {
            Ok((objects, notes)) => {
                let name = &group.resolved.name;
                made.converted.push(Converted {
                    author: stages.author(PluginRef::Rule(Stage::Bpm, Some(name))),
                    group: Some(name.clone()),
                    objects,
                });
                reported.extend(notes);
            }
            Err(error) => made
                .failed
                .push((group.resolved.name.clone(), error.into_diagnostics())),
        }
    }
    made
}

/// The privileges that the pods of these groups may have: those that each group asks for.
pub fn granted<'g>(names: &Names, groups: impl IntoIterator<Item = Group<'g>>) -> GrantedPrivileges {
    let mut granted = GrantedPrivileges::default();
    granted.grant_dns(dns::object_name(names));
    for Group { resolved, jobs, .. } in groups {
        // A group without a name has no workload: the bpm stage reports it.
        if let Ok(workload) = names.group(&resolved.name) {
            granted.grant(workload, privileges::of_group(&resolved.document, jobs));
        }
    }
    granted
}

fn of_group(stages: &dyn Stages, deployment: &Deployment, manifest: Named<'_>, group: &Group<'_>) -> Reply<Vec<Tree>> {
    let pointer = places::of_group(manifest.tree, &group.resolved.name);
    let document = &group.resolved.document;
    let request = GroupRequest {
        deployment,
        group: document,
        document_name: manifest.name,
        pointer: &pointer,
        jobs: group.jobs.to_vec(),
        resolved_secret: group.secret,
    };
    let mut reply = stages.convert_group(&request);
    if let Ok((_, reported)) | Err(StageError::Input(reported)) = &mut reply {
        let entry = document.items("instance_groups").first().unwrap_or(&Tree::Null);
        places::of_jobs(reported, manifest, entry, &pointer, &request.jobs);
        places::as_written(reported, manifest.name, manifest.tree);
    }
    reply
}

/// The errors of a deployment, then those of its groups. Each mistake of a manifest has one stage that reports it.
pub fn together(mut one: Vec<Diagnostic>, other: Vec<Diagnostic>) -> Vec<Diagnostic> {
    one.extend(other);
    causes(one)
}
