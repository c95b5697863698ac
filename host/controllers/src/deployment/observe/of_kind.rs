//! The objects of one kind that belong to a deployment.

use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::{AnyObject, Error, resource};
use boson_pipeline::bundle::{MANAGED_BY, MANAGER};
use serde_json::Value;

/// The objects of a kind that belong to this deployment: those that it owns, and claims.
pub async fn of_kind(run: &Reconcile<'_>, api_version: &str, kind: &str) -> Result<Vec<Value>, Error> {
    let (resource, labels) = (
        resource(api_version, kind),
        format!("{},{MANAGED_BY}={MANAGER}", run.selector()),
    );
    let mut found = run.context.cluster.list_any(&resource, run.namespace, &labels).await?;
    found.retain(|object| kind == "PersistentVolumeClaim" || object.has_owner(&run.owner.uid));
    Ok(found)
}
