//! How the objects of a deployment differ from the wanted ones. Dry runs find what another write would not change.

use crate::deployment::context::MANAGER;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::Error;
use boson_cluster::objects::drift::{self, Drifted};
use boson_cluster::objects::{self, Plan};
use serde_json::Value;

/// The plan that leads to these objects. Objects that only admission changes on every write are left out.
pub async fn difference(run: &Reconcile<'_>, wanted: Vec<Value>, live: &mut [Value]) -> Result<Plan, Error> {
    let plan = objects::plan(wanted.clone(), live);
    if !skip_unchangeable(run, &plan.drifted, live).await? {
        return Ok(plan);
    }
    Ok(Plan {
        additions: plan.additions,
        ..objects::plan(wanted, live)
    })
}

/// Replaces those of the live objects that another write would not change by the wanted ones. Returns whether there
/// were any: then plan again.
pub async fn skip_unchangeable(run: &Reconcile<'_>, drifted: &[Drifted], live: &mut [Value]) -> Result<bool, Error> {
    drift::skip_unchangeable(&run.context.cluster, MANAGER, drifted, live).await
}
