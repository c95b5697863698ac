//! Which instance groups of a deployment are ready, and the results of its errands.

use super::plugins::Resolution;
use crate::deployment::context::Context;
use crate::deployment::status::{CONVERSION_STEPS, Errands, Observed, Outcome};
use boson_api::{BoshDeployment, QuarksJob, QuarksStatefulSet};
use boson_cluster::cache::{GroupProblem, Reported};
use boson_cluster::client::{Error, Kind, NamespacedName};
use boson_cluster::objects;
use boson_manifest::labels;
use boson_manifest::names::Names;
use kube::{Resource, ResourceExt};

/// The instance groups, as their statuses report them.
#[derive(Debug, Default)]
pub struct Groups {
    pub ready: i32,
    /// What is wrong with the others, by name.
    pub group_problems: Vec<(String, GroupProblem)>,
    /// How far the rollouts are that are not complete, by name.
    pub rollouts: Vec<(String, GroupProblem)>,
}

/// The observed state where no input and no object has changed: only readiness can differ.
pub async fn unchanged_state(
    context: &Context,
    object: &BoshDeployment,
    key: &NamespacedName,
    resolution: Resolution,
) -> Result<Observed, Error> {
    let status = object.status.as_ref();
    let uid = object.uid().unwrap_or_default();
    let groups = Groups::of(reported_groups(context, object));
    let errands = if context.cache.has("QuarksJob", &uid) {
        errands(context, object, &key.0).await?
    } else {
        Errands::default()
    };
    Ok(Observed {
        steps: CONVERSION_STEPS,
        errands: Some(errands),
        ready: groups.ready,
        group_problems: groups.group_problems,
        rollouts: groups.rollouts,
        warned: status.and_then(|status| status.warned.clone()),
        plugins: resolution.active.map(|active| active.resolved.uses).unwrap_or_default(),
        plugin_problems: context.memory.with_failed(key, resolution.plugin_problems),
        loading: resolution.loading,
        ..Observed::ended(object.meta().generation, Outcome::Applied)
    })
}

/// Its instance groups, as the cache has them.
pub fn reported_groups(context: &Context, object: &BoshDeployment) -> Vec<(String, Reported)> {
    let uid = object.uid().unwrap_or_default();
    context.cache.reported("QuarksStatefulSet", &uid)
}

pub async fn groups(context: &Context, object: &BoshDeployment, namespace: &str) -> Result<Groups, Error> {
    let sets: Vec<QuarksStatefulSet> = owned(context, object, namespace).await?;
    Ok(Groups::of(sets.iter().map(|set| (set.name_any(), Reported::of(set)))))
}

/// Its errands: all of its QuarksJobs except those of the conversion.
pub async fn errands(context: &Context, object: &BoshDeployment, namespace: &str) -> Result<Errands, Error> {
    let jobs: Vec<QuarksJob> = owned(context, object, namespace).await?;
    let names = Names::new(&object.name_any(), namespace, &context.conversion.cluster_domain);
    let is_errand = |job: &&QuarksJob| names.as_ref().is_ok_and(|names| !names.is_conversion(&job.name_any()));
    Ok(Errands::of(jobs.iter().filter(is_errand)))
}

/// The objects of one kind that the deployment owns.
pub async fn owned<K: Kind>(context: &Context, object: &BoshDeployment, namespace: &str) -> Result<Vec<K>, Error> {
    // A deployment whose name is invalid has no objects.
    let Ok(names) = Names::new(&object.name_any(), namespace, &context.conversion.cluster_domain) else {
        return Ok(Vec::new());
    };
    let labels = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
    let mut found: Vec<K> = context.cluster.list(namespace, &labels).await?;
    let uid = object.meta().uid.as_deref().unwrap_or_default();
    found.retain(|one| objects::has_owner(one, uid));
    Ok(found)
}

// === impl Groups ===

impl Groups {
    fn of(reported: impl IntoIterator<Item = (String, Reported)>) -> Self {
        let mut groups = Self::default();
        for (name, reported) in reported {
            groups.ready = groups.ready.saturating_add(reported.ready.into());
            groups
                .group_problems
                .extend(reported.problem.map(|problem| (name.clone(), problem)));
            groups.rollouts.extend(reported.rollout.map(|rollout| (name, rollout)));
        }
        for by_name in [&mut groups.group_problems, &mut groups.rollouts] {
            by_name.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        groups
    }
}
