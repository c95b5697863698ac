//! Starts the post-deploy scripts, which wait for an annotation of their pod.

use crate::deployment::context::{Context, MANAGER};
use crate::deployment::observe;
use crate::deployment::plan::post_deploy;
use crate::deployment::status::{Observed, Outcome};
use boson_api::BoshDeployment;
use boson_cluster::cache::Reported;
use boson_cluster::client::{Error, pod_identity};
use boson_manifest::labels;
use boson_manifest::names::label_value;
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::json;

/// Writes at a time.
const MAX_CONCURRENT_WRITES: usize = 8;

/// Annotates the pods that have post-deploy scripts, if it is time. The version that they got.
pub async fn start(
    context: &Context,
    object: &BoshDeployment,
    observed: &Observed,
    namespace: &str,
) -> Result<Option<String>, Error> {
    let groups = observe::reported_groups(context, object);
    let status = object.status.as_ref();
    let done = status.and_then(|status| status.post_deploy.as_deref());
    let total = observed
        .groups
        .or(status.and_then(|status| status.total_instance_groups));
    let is_up = observed.outcome == Outcome::Applied && total == Some(observed.ready);
    let all: Vec<&Reported> = groups.iter().map(|(_, reported)| reported).collect();
    let Some(start) = post_deploy::start(&all, is_up, done) else {
        return Ok(None);
    };
    let deployment = label_value(&object.name_any());
    let selector = format!(
        "{}={deployment},{} in ({})",
        labels::DEPLOYMENT_NAME,
        labels::INSTANCE_GROUP_NAME,
        start.groups.join(",")
    );
    let pods = context.cluster.list_metadata::<Pod>(namespace, &selector).await?;
    let lacking = pods
        .iter()
        .filter(|pod| post_deploy::needs_version(pod, &start.version));
    let writes: Vec<_> = lacking
        .map(|pod| annotate(context, pod, &start.version).boxed())
        .collect();
    let written: Vec<_> = stream::iter(writes)
        .buffer_unordered(MAX_CONCURRENT_WRITES)
        .collect()
        .await;
    // The version is recorded when all have it: what failed is tried again.
    written.into_iter().collect::<Result<Vec<()>, _>>()?;
    tracing::info!(version = start.version, "the post-deploy scripts start");
    Ok(Some(start.version))
}

async fn annotate(context: &Context, pod: &ObjectMeta, version: &str) -> Result<(), Error> {
    let members = json!({ "metadata": { "annotations": { labels::POST_DEPLOY: version } } });
    match context.cluster.merge(MANAGER, &pod_identity(pod), members).await {
        Ok(_) => Ok(()),
        // It was deleted. As in BOSH, an instance that is created again runs no post-deploy script.
        Err(error) if error.is_race() => Ok(()),
        Err(error) => Err(error),
    }
}
