//! What a deployment has postponed until its pods are ready: garbage, and instance groups with an older operator image.
//! Both are polled, because a rollout changes only the status of an object.

use super::readiness::reported_groups;
use crate::deployment::context::Context;
use boson_api::BoshDeployment;
use boson_cluster::client::{Error, NamespacedName};
use boson_cluster::objects::used;
use boson_manifest::labels;
use boson_manifest::names::Names;
use std::time::Instant;

/// Whether any of it can be done now.
pub async fn has_postponed(context: &Context, object: &BoshDeployment, key: &NamespacedName) -> Result<bool, Error> {
    Ok(has_free_garbage(context, key).await? || can_roll(context, object, key))
}

/// Whether garbage was left for later and can be collected now.
async fn has_free_garbage(context: &Context, key: &NamespacedName) -> Result<bool, Error> {
    // Whether the name is valid does not depend on namespace or cluster domain.
    let Ok(names) = Names::new(&key.1, "", "") else {
        return Ok(false);
    };
    if !context.memory.postponed.of(key) {
        return Ok(false);
    }
    let labels = format!("{}={}", labels::DEPLOYMENT_NAME, names.deployment());
    Ok(!used::rolls(&context.cluster, &key.0, &labels).await?)
}

/// Whether a group with an older image may roll now.
fn can_roll(context: &Context, object: &BoshDeployment, key: &NamespacedName) -> bool {
    let are_ready = || reported_groups(context, object).iter().all(|(_, group)| group.ready);
    has_outdated_groups(context, object) && are_ready() && has_rollout_slot(context, key)
}

/// Whether the deployment may roll a group: only some do at a time.
pub fn has_rollout_slot(context: &Context, key: &NamespacedName) -> bool {
    let most = context.conversion.roll_outdated;
    context.memory.rollouts.is_free(key, most, Instant::now())
}

/// Whether the deployment has groups that have yet to roll.
pub fn has_outdated_groups(context: &Context, object: &BoshDeployment) -> bool {
    let status = object.status.as_ref();
    context.conversion.roll_outdated > 0 && status.is_some_and(|status| !status.outdated_groups.is_empty())
}
