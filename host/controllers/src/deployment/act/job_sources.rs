//! Writes the ConfigMaps with job sources.

use super::preflight::check_names;
use crate::deployment::context::MANAGER;
use crate::deployment::error::DeployError;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::Error;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde_json::json;

/// Updates the tags of those that exist.
pub async fn tag(run: &Reconcile<'_>, maps: &[ConfigMap]) -> Result<(), Error> {
    for map in maps {
        let members = json!({"metadata": {"annotations": map.metadata.annotations}});
        run.context.cluster.merge(MANAGER, map, members).await?;
    }
    Ok(())
}

/// Creates them, before the pods that mount them.
pub async fn create(run: &Reconcile<'_>, maps: &[ConfigMap]) -> Result<(), DeployError> {
    for map in maps {
        if run.context.cluster.create(MANAGER, map).await?.is_none() {
            // Of an earlier deployment of this name, which is being deleted, or of a user.
            let kind = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": map.metadata});
            check_names(run, std::iter::once(&kind)).await?;
            let name = map.name_any();
            return Err(DeployError::Waiting(format!(
                "ConfigMap '{name}', which has just been created"
            )));
        }
    }
    Ok(())
}
