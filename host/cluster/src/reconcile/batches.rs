//! Batches what watch events requeue, for a controller whose reconciles cost the same for one event as for a hundred.
//!
//! # Guarantees
//! An object is requeued at most once per window, and no event waits longer than a window. (kube's own debounce starts
//! again at each event, so events that do not pause would delay an object for ever.)

use crate::client::Kind;
use futures::stream::{self, Stream, StreamExt};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::sleep;

/// Requeues each object once for all its events within a window. A window begins with the first event after the last
/// one.
pub fn batched<K: Kind + Send + Sync + 'static>(
    queue: impl Stream<Item = watcher::Result<ObjectRef<K>>> + Send,
    window: Duration,
) -> impl Stream<Item = watcher::Result<ObjectRef<K>>> + Send {
    let queue = Box::pin(queue.fuse());
    let batches = stream::unfold(queue, move |mut queue| async move {
        let mut next = Some(queue.next().await?);
        let (mut objects, mut errors) = (HashSet::new(), Vec::new());
        let mut end = std::pin::pin!(sleep(window));
        while let Some(requeued) = next {
            match requeued {
                Ok(object) => drop(objects.insert(object)),
                Err(error) => errors.push(error),
            }
            next = tokio::select! {
                () = &mut end => None,
                next = queue.next() => next,
            };
        }
        let errors = errors.into_iter().map(Err);
        Some((stream::iter(errors.chain(objects.into_iter().map(Ok))), queue))
    });
    batches.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::future::pending;

    const BATCH_DELAY: Duration = Duration::from_millis(50);

    fn object(nth: usize) -> watcher::Result<ObjectRef<ConfigMap>> {
        Ok(ObjectRef::new(&format!("o{nth}")).within("n"))
    }

    #[tokio::test]
    async fn a_thousand_events_of_64_objects_requeue_each_once() {
        let events = stream::iter((0..1000).map(|nth| object(nth % 64)));
        // Longer than a busy machine pauses: all events are in one window.
        let batched = batched(events.chain(stream::once(pending())), BATCH_DELAY * 40);
        let requeued: Vec<_> = batched.take(64).map(Result::unwrap).collect().await;
        let different: HashSet<_> = requeued.iter().collect();
        assert_eq!(different.len(), 64);
    }

    #[tokio::test]
    async fn events_that_never_pause_delay_no_object() {
        let events = stream::unfold((), |()| async move {
            tokio::task::yield_now().await;
            Some((object(0), ()))
        });
        let requeued = batched(events, BATCH_DELAY).take(2).count().await;
        assert_eq!(requeued, 2);
    }

    #[tokio::test]
    async fn the_error_of_a_watch_is_passed_on() {
        let failed = stream::once(async { Err(watcher::Error::NoResourceVersion) });
        let events = stream::iter((0..3).map(|_| object(0))).chain(failed);
        let all: Vec<_> = batched(events, BATCH_DELAY).collect().await;
        assert_eq!((all.len(), all.iter().filter(|one| one.is_err()).count()), (2, 1));
    }
}
