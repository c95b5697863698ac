//! The objects of a deployment in the cluster.

use crate::deployment::error::DeployError;
use crate::deployment::observe::of_kind::of_kind;
use crate::deployment::observe::{additional, rollouts};
use crate::deployment::plan::Live;
use crate::deployment::plan::variables::retention::{needs_claims, outlives_deployment};
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::{Error, ErrorKind};
use boson_cluster::objects;
use boson_manifest::labels::{self, secret_kind};
use boson_pipeline::bundle::kinds::KINDS;
use boson_plugins::COPY;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, ResourceQuota, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// Everything that a plan depends on.
pub async fn live(run: &Reconcile<'_>, desired: &[Value]) -> Result<Live, DeployError> {
    let mut objects = Vec::new();
    for kind in KINDS {
        objects.extend(of_kind(run, kind.api_version, kind.kind).await?);
    }
    objects.extend(additional::objects(run, desired).await?);
    Ok(Live {
        may_roll: rollouts::has_rollout_slot(run.context, &run.key()),
        // Most deployments need not list them.
        has_claims: needs_claims(desired, &objects, run.object.spec.retain()) && has_claims(run).await?,
        job_sources: job_sources(run).await?,
        objects,
    })
}

/// The metadata of all existing versions of its documents. Not their data: they may be many, and large.
pub async fn documents(run: &Reconcile<'_>) -> Result<Vec<ObjectMeta>, Error> {
    let labels = format!("{},{}={}", run.selector(), labels::SECRET_KIND, secret_kind::VERSIONED);
    let cluster = &run.context.cluster;
    cluster.list_metadata::<Secret>(run.namespace, &labels).await
}

/// Whether the deployment, or an earlier one of its name, has claims.
pub async fn has_claims(run: &Reconcile<'_>) -> Result<bool, Error> {
    let cluster = &run.context.cluster;
    let labels = run.selector();
    let claims = cluster.list_metadata::<PersistentVolumeClaim>(run.namespace, &labels);
    Ok(claims.await?.iter().any(outlives_deployment))
}

/// The metadata of its ConfigMaps with job sources.
pub async fn job_sources(run: &Reconcile<'_>) -> Result<Vec<ObjectMeta>, Error> {
    let labels = format!("{},{}=true", run.selector(), labels::JOB_SOURCES);
    let cluster = &run.context.cluster;
    let mut all = cluster.list_metadata::<ConfigMap>(run.namespace, &labels).await?;
    all.retain(|meta| meta.deletion_timestamp.is_none() && objects::names_owner(meta, &run.owner.uid));
    Ok(all)
}

/// Copies of plugins that the deployment no longer mounts.
pub async fn unused_plugins(run: &Reconcile<'_>) -> Result<Vec<ConfigMap>, Error> {
    let labels = format!("{},{COPY}=true", run.selector());
    let mut all: Vec<ConfigMap> = run.context.cluster.list(run.namespace, &labels).await?;
    all.retain(|copy| objects::has_owner(copy, &run.owner.uid) && boson_plugins::is_unused(copy, &run.copies));
    Ok(all)
}

/// The quotas of the namespace; none if the operator may not read them. The API server still enforces them, object by
/// object.
pub async fn quotas(run: &Reconcile<'_>) -> Result<Vec<ResourceQuota>, Error> {
    match run.context.cluster.list(run.namespace, "").await {
        Err(error) if error.kind == ErrorKind::Forbidden => {
            tracing::warn!(%error, "quotas are not checked before objects are written");
            Ok(Vec::new())
        }
        quotas => quotas,
    }
}

pub async fn secret(run: &Reconcile<'_>, name: &str) -> Result<Option<Secret>, Error> {
    run.context.cluster.get(run.namespace, name).await
}
