//! Copies of plugins for the pods of a deployment, in its namespace, and the metrics of its shadow plugins.

use crate::deployment::context::MANAGER;
use crate::deployment::error::DeployError;
use crate::deployment::reconcile::Reconcile;
use k8s_openapi::api::core::v1::ConfigMap;

/// Creates the copies that pods are about to mount.
pub async fn copy(run: &Reconcile<'_>) -> Result<(), DeployError> {
    for copy in &run.copies.maps {
        let name = copy.metadata.name.as_deref();
        let name = name.ok_or_else(|| DeployError::defect("a copy of a plugin has no name"))?;
        let live: Option<ConfigMap> = run.context.cluster.get(run.namespace, name).await?;
        // A copy is immutable and named by its content, so an existing one is up to date.
        if live.is_none() {
            run.context.cluster.create(MANAGER, copy).await?;
        }
    }
    Ok(())
}

/// Counts the replies of the shadow plugins.
pub fn count_shadows(run: &Reconcile<'_>) {
    for shadow in &*run.plugins.shadows {
        let report = shadow.report();
        run.context.cluster.metrics().plugins.shadowed(
            &shadow.digest,
            [report.same, report.different, report.failed, report.skipped].map(u64::from),
        );
    }
}
