//! Fills the cache with a watch for each kind, of metadata only. Objects that deployments create are selected by their
//! label.
//!
//! The definition of an additional kind may be missing, and so may the permission for it. Such a watch counts as
//! filled, so that it does not delay the deployments that have no objects of the kind; it recovers on its own.

use super::selector::{SLICE_KIND, concerns, index_keys};
use super::{Cache, Entry, ObjectDigest, Place, Reported};
use crate::client::{Cluster, WatchBackoff, api, api_of_any, resource_of};
use boson_api::QuarksStatefulSet;
use boson_manifest::labels;
use boson_pipeline::bundle::kinds::{KINDS, Kind};
use boson_pipeline::name_rule::NameRule;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use std::collections::HashSet;
use std::sync::Arc;

/// Kinds that users create, too, as inputs of a deployment: these objects have no label.
const INPUT_KINDS: [&str; 3] = ["ConfigMap", "Secret", "Service"];

/// The endpoints of Services, which no conversion creates.
const ENDPOINT_SLICES: Kind = Kind {
    api_version: "discovery.k8s.io/v1",
    kind: SLICE_KIND,
    names: NameRule::Subdomain,
    plural: None,
};

/// An object that has changed. The cache is already updated.
#[derive(Clone, Debug)]
pub struct Touched {
    pub place: Place,
    /// The index keys that it has, or had.
    pub index_keys: Vec<String>,
}

struct Observed {
    meta: ObjectMeta,
    reported: Reported,
}

struct Feed {
    cache: Arc<Cache>,
    kind: &'static str,
    namespace: Option<String>,
    /// The objects so far of a list that is not complete yet.
    listed: HashSet<Place>,
    filled: bool,
    /// An additional kind: its watch may fail.
    is_optional: bool,
    failed: bool,
}

/// Watches everything in one namespace, or in all. Updates the cache, and then yields each change.
pub fn follow(
    cache: &Arc<Cache>,
    cluster: &Cluster,
    namespace: &Option<String>,
) -> impl Stream<Item = watcher::Result<Touched>> + Send + use<> {
    let client = &cluster.client();
    let labelled = || watcher::Config::default().labels(labels::DEPLOYMENT_NAME);
    let built_in = KINDS.iter().map(|kind| {
        let events = match kind.kind {
            "QuarksStatefulSet" => sets(client, namespace, labelled()),
            read if INPUT_KINDS.contains(&read) => objects(client, kind, namespace, watcher::Config::default()),
            _ => objects(client, kind, namespace, labelled()),
        };
        feed(Feed::new(cache, kind.kind, namespace), events)
    });
    let additional = cluster.additional_kinds().iter().map(|kind| {
        let feed_of_kind = Feed {
            is_optional: true,
            ..Feed::new(cache, kind.kind, namespace)
        };
        feed(feed_of_kind, objects(client, kind, namespace, labelled()))
    });
    let slices = objects(client, &ENDPOINT_SLICES, namespace, watcher::Config::default());
    let slices = feed(Feed::new(cache, SLICE_KIND, namespace), slices);
    let feeds: Vec<_> = built_in.chain(additional).chain([slices]).collect();
    stream::select_all(feeds)
}

fn objects(
    client: &kube::Client,
    kind: &Kind,
    namespace: &Option<String>,
    config: watcher::Config,
) -> BoxStream<'static, watcher::Result<Event<Observed>>> {
    let api = api_of_any::<PartialObjectMeta<DynamicObject>>(client, namespace, &resource_of(kind));
    let observed = |object: PartialObjectMeta<DynamicObject>| Observed {
        meta: object.metadata,
        reported: Reported::default(),
    };
    let events = watcher::watcher(api, config).backoff(WatchBackoff::default());
    events
        .map(move |event| event.map(|event| mapped(event, observed)))
        .boxed()
}

fn sets(
    client: &kube::Client,
    namespace: &Option<String>,
    config: watcher::Config,
) -> BoxStream<'static, watcher::Result<Event<Observed>>> {
    let observed = |set: QuarksStatefulSet| Observed {
        reported: Reported::of(&set),
        meta: set.metadata,
    };
    let events = watcher::watcher(api::<QuarksStatefulSet>(client, namespace), config).backoff(WatchBackoff::default());
    events
        .map(move |event| event.map(|event| mapped(event, observed)))
        .boxed()
}

fn mapped<K>(event: Event<K>, observed: impl Fn(K) -> Observed) -> Event<Observed> {
    match event {
        Event::Apply(object) => Event::Apply(observed(object)),
        Event::Delete(object) => Event::Delete(observed(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(observed(object)),
        Event::InitDone => Event::InitDone,
    }
}

fn feed(
    mut feed: Feed,
    events: BoxStream<'static, watcher::Result<Event<Observed>>>,
) -> BoxStream<'static, watcher::Result<Touched>> {
    feed.cache.open.send_modify(|open| *open = open.saturating_add(1));
    let touched = events.flat_map(move |event| match event {
        Ok(event) => stream::iter(feed.handle(event).into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) if feed.is_optional => {
            feed.watch_failed(&error);
            stream::iter(Vec::new())
        }
        Err(error) => stream::iter(vec![Err(error)]),
    });
    touched.boxed()
}

pub(super) fn store(cache: &Cache, kind: &'static str, meta: &ObjectMeta, reported: Reported) -> Touched {
    let (place, index_keys) = (place(kind, meta), index_keys(kind, meta));
    let entry = Entry {
        digest: ObjectDigest::of(meta),
        index_keys: index_keys.clone(),
        reported,
    };
    cache.put(place.clone(), entry);
    touched(cache, place, index_keys)
}

/// An EndpointSlice concerns the deployments that its Service provides links to.
fn touched(cache: &Cache, place: Place, mut index_keys: Vec<String>) -> Touched {
    if place.kind == SLICE_KIND {
        index_keys.extend(cache.index_keys_of_service(&place.namespace, &index_keys));
    }
    Touched { place, index_keys }
}

fn place(kind: &'static str, meta: &ObjectMeta) -> Place {
    // The API server gives each object a name, and those of these kinds a namespace.
    let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
    Place::new(kind, namespace.unwrap_or_default(), name.unwrap_or_default())
}

// === impl Feed ===

impl Feed {
    fn new(cache: &Arc<Cache>, kind: &'static str, namespace: &Option<String>) -> Self {
        Self {
            cache: cache.clone(),
            kind,
            namespace: namespace.clone(),
            listed: HashSet::new(),
            filled: false,
            is_optional: false,
            failed: false,
        }
    }

    fn handle(&mut self, event: Event<Observed>) -> Vec<Touched> {
        match event {
            Event::Init => {
                self.listed.clear();
                Vec::new()
            }
            Event::InitApply(Observed { meta, reported }) => {
                let stored = self.store(&meta, reported);
                if concerns(self.kind, &meta) {
                    self.listed.insert(place(self.kind, &meta));
                }
                stored
            }
            Event::InitDone => self.finish_list(),
            Event::Apply(Observed { meta, reported }) => self.store(&meta, reported),
            Event::Delete(Observed { meta, .. }) => self.remove(place(self.kind, &meta)).into_iter().collect(),
        }
    }

    /// Stores an object, or removes it if it no longer concerns a deployment.
    fn store(&self, meta: &ObjectMeta, reported: Reported) -> Vec<Touched> {
        let place = place(self.kind, meta);
        if !concerns(self.kind, meta) {
            return self.remove(place).into_iter().collect();
        }
        let before = self.cache.index_keys(&place);
        let now = store(&self.cache, self.kind, meta, reported);
        // Deployments that the object no longer concerns have to notice, too.
        let left = before.into_iter().filter(|key| !now.index_keys.contains(key));
        let index_keys: Vec<String> = left.collect();
        let left = (!index_keys.is_empty()).then_some(Touched { place, index_keys });
        left.into_iter().chain([now]).collect()
    }

    /// Removes what a new list no longer has: it was deleted during a gap.
    fn finish_list(&mut self) -> Vec<Touched> {
        let listed = std::mem::take(&mut self.listed);
        let known = self.cache.places(self.kind, self.namespace.as_deref());
        let missing = known.into_iter().filter(|place| !listed.contains(place));
        let touched = missing.filter_map(|place| self.remove(place)).collect();
        if std::mem::replace(&mut self.failed, false) {
            tracing::info!(kind = self.kind, "objects of this kind can be watched now");
        }
        self.mark_filled();
        touched
    }

    fn mark_filled(&mut self) {
        if !std::mem::replace(&mut self.filled, true) {
            self.cache.open.send_modify(|open| *open = open.saturating_sub(1));
        }
    }

    /// The watch of an additional kind failed; it is retried.
    fn watch_failed(&mut self, error: &watcher::Error) {
        if std::mem::replace(&mut self.failed, true) {
            tracing::debug!(kind = self.kind, %error, "cannot watch")
        } else {
            tracing::warn!(
                kind = self.kind,
                %error,
                "cannot watch objects of this kind, which --allow-kind allows; retried until its definition is \
                 installed and the operator may list and watch it"
            )
        }
        self.mark_filled();
    }

    fn remove(&self, place: Place) -> Option<Touched> {
        let index_keys = self.cache.remove(&place)?.index_keys;
        Some(touched(&self.cache, place, index_keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn observed(meta: serde_json::Value) -> Observed {
        Observed {
            meta: serde_json::from_value(meta).unwrap(),
            reported: Reported::default(),
        }
    }

    fn meta(name: &str) -> Observed {
        let value = serde_json::json!({"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"});
        observed(value)
    }

    fn names(touched: &[Touched]) -> Vec<&str> {
        touched.iter().map(|one| one.place.name.as_str()).collect()
    }

    #[test]
    fn a_service_that_no_longer_provides_a_link_concerns_its_deployment_once_more() {
        let cache = Arc::new(Cache::default());
        let mut feed = Feed::new(&cache, "Service", &None);
        let service = |annotations: serde_json::Value| -> Observed {
            let value = serde_json::json!({"name": "s", "namespace": "n", "annotations": annotations});
            observed(value)
        };
        let marked = |deployment: &str| {
            service(serde_json::json!({labels::DEPLOYMENT_NAME: deployment, labels::LINK_PROVIDER_NAME: "s"}))
        };
        let index_keys = |touched: Vec<Touched>| touched.into_iter().map(|one| one.index_keys).collect::<Vec<_>>();
        assert_eq!(
            index_keys(feed.handle(Event::Apply(service(serde_json::json!({}))))),
            [[""; 0]; 0]
        );
        assert_eq!(index_keys(feed.handle(Event::Apply(marked("d")))), [["links/n/d"]]);
        assert_eq!(
            index_keys(feed.handle(Event::Apply(marked("e")))),
            [["links/n/d"], ["links/n/e"]]
        );
        assert_eq!(
            index_keys(feed.handle(Event::Apply(service(serde_json::json!({}))))),
            [["links/n/e"]]
        );
        assert!(cache.places("Service", None).is_empty());
    }

    #[tokio::test]
    async fn what_was_deleted_during_a_gap_is_reported_and_the_first_list_fills() {
        let cache = Arc::new(Cache::default());
        cache.open.send_replace(1);
        let mut feed = Feed::new(&cache, "Secret", &None);
        feed.handle(Event::Init);
        feed.handle(Event::InitApply(meta("a")));
        feed.handle(Event::InitApply(meta("b")));
        assert!(!cache.is_filled(Duration::from_millis(1)).await);
        assert_eq!(names(&feed.handle(Event::InitDone)), [""; 0]);
        assert!(cache.is_filled(Duration::from_millis(1)).await);
        feed.handle(Event::Init);
        feed.handle(Event::InitApply(meta("b")));
        assert_eq!(names(&feed.handle(Event::InitDone)), ["a"]);
        assert_eq!(names(&feed.handle(Event::Delete(meta("b")))), ["b"]);
        assert_eq!(names(&feed.handle(Event::Delete(meta("b")))), [""; 0]);
        assert!(cache.is_filled(Duration::from_millis(1)).await);
    }
}
