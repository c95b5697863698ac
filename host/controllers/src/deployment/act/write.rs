//! Writes and deletes objects.

use crate::deployment::context::MANAGER;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::{Error, Kind};
use boson_cluster::objects::Plan;
use futures::{FutureExt, StreamExt, stream};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// Dry runs or writes at a time.
pub const MAX_CONCURRENT_WRITES: usize = 8;

pub async fn apply(run: &Reconcile<'_>, object: &Value) -> Result<(), Error> {
    run.context.cluster.apply_any(MANAGER, object).await.map(drop)
}

/// Writes one object of a known kind.
pub async fn apply_typed<K: Kind>(run: &Reconcile<'_>, object: &K) -> Result<(), Error> {
    run.context.cluster.apply(MANAGER, object).await.map(drop)
}

/// Deletes one object of a known kind.
pub async fn delete_typed<K: Kind>(run: &Reconcile<'_>, object: &K) -> Result<(), Error> {
    run.context.cluster.delete(object).await
}

/// Writes several objects at a time. After a failure no further write is started, and running ones are awaited: none
/// may land after the next reconcile has begun.
pub async fn write_all(run: &Reconcile<'_>, plan: &Plan, objects: &[&Value]) -> Result<(), Error> {
    let failed = AtomicBool::new(false);
    let writes: Vec<_> = objects
        .iter()
        .map(|&object| {
            let failed = &failed;
            async move {
                if failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let written = write_or_replace(run, plan, object).await;
                failed.fetch_or(written.is_err(), Ordering::Relaxed);
                written
            }
            .boxed()
        })
        .collect();
    let written: Vec<_> = stream::iter(writes).buffered(MAX_CONCURRENT_WRITES).collect().await;
    written.into_iter().collect()
}

async fn write_or_replace(run: &Reconcile<'_>, plan: &Plan, object: &Value) -> Result<(), Error> {
    // If the process ends here, the next reconcile finds the object missing and creates it.
    if let Some(old) = plan.replaced(object) {
        run.context.cluster.delete_any(old).await?;
    }
    apply(run, object).await
}
