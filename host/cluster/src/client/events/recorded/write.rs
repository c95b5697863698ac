//! Writes recorded events, those of some seconds at once.

use super::RecordedEvent;
use super::page::{self, Page, Write};
use crate::client::{Cluster, Error, ErrorKind, FieldManager};
use boson_manifest::labels::EVENTS_PAGE;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use std::collections::BTreeMap;
use std::time::Duration;

/// From the first event until it is written with those that follow.
const WRITE_INTERVAL: Duration = Duration::from_secs(10);
/// For what is left when the operator ends.
const LAST_WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Others append to the same page seldom.
const MAX_TRIES: usize = 5;

/// Writes the events of [`Cluster::recorded`] while work is done, and those that are left afterwards. Events that
/// cannot be written are lost, and nothing depends on them.
pub async fn keep(cluster: &Cluster, manager: FieldManager, work: impl Future<Output = ()>) {
    let mut newest = BTreeMap::new();
    let writing = async {
        loop {
            cluster.recorded().wait_for_event().await;
            tokio::time::sleep(WRITE_INTERVAL).await;
            write(cluster, manager, &mut newest).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = writing => {}
    }
    let last = write(cluster, manager, &mut newest);
    if tokio::time::timeout(LAST_WRITE_TIMEOUT, last).await.is_err() {
        tracing::warn!("the last events are not recorded");
    }
}

async fn write(cluster: &Cluster, manager: FieldManager, newest: &mut BTreeMap<String, Option<Page>>) {
    for (namespace, events) in cluster.recorded().waiting() {
        let page = newest.entry(namespace.clone()).or_default();
        match append_to(cluster, manager, &namespace, &events, page).await {
            Ok(()) => cluster.recorded().remove(&namespace, events.len()),
            // The namespace may be going, or gone.
            Err(error) if error.is_lasting() || error.kind == ErrorKind::NotFound => {
                tracing::warn!(%error, namespace, "events are not recorded");
                cluster.recorded().remove(&namespace, events.len());
                newest.remove(&namespace);
            }
            Err(error) => tracing::warn!(%error, namespace, "events are recorded later"),
        }
    }
}

/// Appends events to those of a namespace at once.
///
/// # Errors
/// See [`Error`].
pub async fn append(
    cluster: &Cluster,
    manager: FieldManager,
    namespace: &str,
    events: &[RecordedEvent],
) -> Result<(), Error> {
    append_to(cluster, manager, namespace, events, &mut None).await
}

/// `newest`: none if it is not known.
async fn append_to(
    cluster: &Cluster,
    manager: FieldManager,
    namespace: &str,
    events: &[RecordedEvent],
    newest: &mut Option<Page>,
) -> Result<(), Error> {
    for _ in 0..MAX_TRIES {
        if newest.is_none() {
            *newest = read(cluster, namespace).await?;
        }
        let written = match (page::append(newest.as_ref(), namespace, events), newest.as_ref()) {
            (Write::Merge(members), Some(page)) => cluster.merge(manager, &page.object, members).await.map(Some),
            (Write::Merge(_), None) => Ok(None),
            (Write::Create(page), _) => match cluster.create(manager, &*page).await? {
                Some(made) => {
                    // The events are written: an error would repeat them.
                    if let Err(error) = delete_outdated(cluster, namespace).await {
                        tracing::debug!(%error, namespace, "old events are deleted later");
                    }
                    Ok(Some(made))
                }
                None => Ok(None),
            },
        };
        match written {
            Ok(Some(page)) => {
                *newest = Page::of(page);
                return Ok(());
            }
            // Another process has appended, or somebody has deleted the page.
            Ok(None) => *newest = None,
            Err(error) if error.is_race() => *newest = None,
            Err(error) => return Err(error),
        }
    }
    Err(Error {
        kind: ErrorKind::Conflict,
        ..Error::missing::<ConfigMap>(EVENTS_PAGE)
    })
}

async fn read(cluster: &Cluster, namespace: &str) -> Result<Option<Page>, Error> {
    let pages = cluster.list_metadata::<ConfigMap>(namespace, EVENTS_PAGE).await?;
    let Some(name) = page::newest(&pages) else {
        return Ok(None);
    };
    Ok(cluster.get::<ConfigMap>(namespace, name).await?.and_then(Page::of))
}

async fn delete_outdated(cluster: &Cluster, namespace: &str) -> Result<(), Error> {
    let pages: Vec<ObjectMeta> = cluster.list_metadata::<ConfigMap>(namespace, EVENTS_PAGE).await?;
    for metadata in page::outdated(pages) {
        let page = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        match cluster.delete(&page).await {
            Err(error) if !error.is_race() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
