//! Passes a pause on to the instance groups before anything is converted: a conversion waits for further changes, takes
//! its time, and can fail, and until the groups have the pause they begin updates of instances.

use crate::deployment::context::{Context, MANAGER};
use crate::deployment::observe;
use boson_api::{BoshDeployment, QuarksStatefulSet};
use boson_cluster::client::Error;
use serde_json::json;

/// Pauses the groups of a paused deployment. Whether one of them was not. The conversion after the pause continues
/// them.
pub async fn pause_groups(context: &Context, object: &BoshDeployment, namespace: &str) -> Result<bool, Error> {
    if !object.spec.paused {
        return Ok(false);
    }
    let mut groups: Vec<QuarksStatefulSet> = observe::owned(context, object, namespace).await?;
    groups.retain(|group| !group.spec.paused);
    for group in &groups {
        let members = json!({"spec": {"paused": true}});
        context.cluster.merge(MANAGER, group, members).await?;
    }
    Ok(!groups.is_empty())
}
