//! Deletes versions of Secrets, copies of plugins and job sources that are no longer used, once no pod can start that
//! needs them.

use crate::deployment::observe;
use crate::deployment::plan::documents::garbage::{Candidates, documents};
use crate::deployment::plan::pods::job_sources;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::Error;
use boson_cluster::objects::used::Used;
use boson_cluster::objects::versioned;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use std::collections::BTreeSet;

/// Deletes what no workload refers to. `series`: names of the series that the deployment uses; `wanted`: its objects.
pub async fn collect(
    run: &Reconcile<'_>,
    series: &BTreeSet<String>,
    versions: Vec<ObjectMeta>,
    wanted: &[Value],
) -> Result<(), Error> {
    let mut maps = observe::unused_plugins(run).await?;
    maps.extend(job_sources::unmounted(observe::job_sources(run).await?, wanted));
    let candidates = Candidates {
        versions: documents(versions),
        maps,
        owner: &run.owner.uid,
        series,
        keep: run.context.conversion.keep_versions,
    };
    let names = candidates.names();
    let postponed = &run.context.memory.postponed;
    if names.is_empty() {
        postponed.set(&run.key(), false);
        return Ok(());
    }
    let cluster = &run.context.cluster;
    let used = Used::of(cluster, run.namespace, &run.selector(), names).await?;
    let garbage = candidates.garbage(used.rolls, |name| used.holds(name));
    for meta in garbage.secrets {
        cluster.delete(&versioned::with_metadata(meta)).await?;
    }
    postponed.set(&run.key(), used.rolls);
    for map in garbage.maps {
        cluster.delete(map).await?;
    }
    Ok(())
}
