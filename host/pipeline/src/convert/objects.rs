//! The step that makes the objects of the deployment and of each of its groups, checks them, and lets plugins change
//! them.

use super::pod_plugins::{self, PodPlugin};
use super::target::Target;
use super::transform::{group_summary, has_hooks, transform};
use super::{parallel, places};
use crate::bundle::privileges::{self, GrantedPrivileges};
use crate::bundle::{Bundle, Permissions};
use crate::diagnostic::{Diagnostic, causes};
use crate::resolved_document;
use crate::stage::{
    Deployment, DeploymentRequest, GroupRequest, GroupSummary, JobFiles, Named, PluginRef, Reply, ResolvedGroup, Stage,
    StageError, Stages, Variable, View,
};
use boson_document::Tree;
use boson_manifest::dns;
use boson_manifest::names::Names;

/// A resolved and rendered instance group.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    pub resolved: &'a ResolvedGroup,
    /// Name of the Secret with the resolved document, which its pods mount.
    pub secret: String,
    /// Its jobs with their rendered BPM configuration.
    pub jobs: &'a [JobFiles],
}

/// What the step needs besides the groups.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    pub deployment: &'a Deployment,
    pub names: &'a Names,
    pub manifest: Named<'a>,
    /// The manifest with its placeholders: plugins that change or check objects see it without values.
    pub without_values: &'a Tree,
    /// Variables that the manifest defines.
    pub variables: &'a [Variable],
    /// What the objects become.
    pub target: Target,
    /// What an administrator allows plugins.
    pub permissions: &'a Permissions,
    /// Plugins that its pods mount.
    pub pod_plugins: &'a [PodPlugin],
    /// Whether the objects of the other groups are made if a group fails; not if no group is left.
    pub is_partial: bool,
    pub threads: usize,
}

pub struct Objects {
    /// Those of the deployment itself, and those of its groups, in manifest order; or all errors.
    pub result: Result<Vec<Tree>, Vec<Diagnostic>>,
    /// The groups that have no objects, with their errors.
    pub failed: Vec<(String, Vec<Diagnostic>)>,
}

/// Makes the objects of the deployment and of these groups, checks them, and lets plugins change them. `errors`: of
/// earlier steps, which are reported together with those of this one. Warnings are added to `reported`.
pub fn objects(
    stages: &dyn Stages,
    making: &Making<'_>,
    groups: &[Group<'_>],
    mut errors: Vec<Diagnostic>,
    reported: &mut Vec<Diagnostic>,
) -> Objects {
    let Making {
        deployment, manifest, ..
    } = *making;
    let granted = granted(making.names, groups);
    let mut bundle = Bundle::with_rules(deployment, granted, making.permissions, manifest.tree);
    let (mut of_deployment, mut invalid, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |group: Option<&str>, mut objects: Vec<Tree>, notes: Vec<Diagnostic>| {
        pod_plugins::mount_in_pods(&mut objects, group, making.pod_plugins);
        // Not the same plugin for all groups, if a wrapper selects some.
        let author = stages.author(PluginRef::Rule(Stage::Bpm, group));
        invalid.extend(bundle.add(objects, author).err().into_iter().flatten());
        reported.extend(notes);
    };
    let request = DeploymentRequest {
        deployment,
        manifest,
        variables: making.variables,
    };
    match stages.convert_deployment(request) {
        Ok((objects, notes)) => add(None, objects, notes),
        Err(error) => of_deployment = error.into(),
    }
    let replies = parallel::map(groups, making.threads, |group| of_group(stages, making, group));
    for (group, reply) in groups.iter().zip(replies) {
        let name = &group.resolved.name;
        match reply {
            Ok((objects, notes)) => add(Some(name), objects, notes),
            Err(error) => failed.push((name.clone(), Vec::from(error))),
        }
    }
    let is_lost = !failed.is_empty() && (!making.is_partial || failed.len() == groups.len());
    if is_lost || !of_deployment.is_empty() || !errors.is_empty() {
        errors.extend(failed.into_iter().flat_map(|(_, errors)| errors));
        return Objects {
            result: Err(join_errors(of_deployment, errors)),
            failed: Vec::new(),
        };
    }
    let result = if invalid.is_empty() {
        run_plugins(stages, making, groups, bundle, reported)
    } else {
        Err(invalid)
    };
    Objects { result, failed }
}

/// Lets plugins change the objects, and checks what they leave.
fn run_plugins(
    stages: &dyn Stages,
    making: &Making<'_>,
    groups: &[Group<'_>],
    bundle: Bundle,
    reported: &mut Vec<Diagnostic>,
) -> Result<Vec<Tree>, Vec<Diagnostic>> {
    let summaries: Vec<GroupSummary> = if has_hooks(stages) {
        groups.iter().map(|group| group_summary(group.resolved)).collect()
    } else {
        Vec::new()
    };
    let view = View {
        target: making.target.name(),
        manifest: Named::new(making.manifest.name, making.without_values),
        groups: &summaries,
        objects: &[],
    };
    transform(stages, making.deployment, view, bundle, reported)
}

/// The privileges that the pods of these groups may have: those that each group asks for.
fn granted(names: &Names, groups: &[Group<'_>]) -> GrantedPrivileges {
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

fn of_group(stages: &dyn Stages, making: &Making<'_>, group: &Group<'_>) -> Reply<Vec<Tree>> {
    let manifest = making.manifest;
    let pointer = places::of_group(manifest.tree, &group.resolved.name);
    let document = &group.resolved.document;
    let request = GroupRequest {
        deployment: making.deployment.clone(),
        group: document.clone(),
        document_name: manifest.name.to_string(),
        pointer,
        jobs: group.jobs.to_vec(),
        resolved_secret: group.secret.clone(),
    };
    let mut reply = stages.convert_group(&request);
    if let Ok((_, reported)) | Err(StageError::Input(reported)) = &mut reply {
        let entry = resolved_document::group(document);
        places::of_jobs(reported, manifest, entry, &request.pointer, &request.jobs);
        places::as_written(reported, manifest.name, manifest.tree);
    }
    reply
}

/// The errors of a deployment, then those of its groups. Each mistake of a manifest has one stage that reports it.
pub fn join_errors(mut one: Vec<Diagnostic>, other: Vec<Diagnostic>) -> Vec<Diagnostic> {
    one.extend(other);
    causes(one)
}
