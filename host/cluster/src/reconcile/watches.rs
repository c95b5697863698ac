//! The watches of a controller: they requeue an object when it changes, or when another object changes that concerns
//! it.
//!
//! # Guarantees
//! Each watch recovers on its own: a failed or forbidden watch does not block the others. (With kube's builder, all
//! would wait for one.) After each list all objects are reconciled, because a list after a gap does not show what was
//! deleted meanwhile, or which objects that concerned.
//!
//! # Caveats
//! Lists are rare: one at the beginning, and one when a watch was interrupted for longer than the API server keeps
//! events.

use super::batched;
use crate::changes::Changes;
use crate::client::{Kind, WatchBackoff, api};
use futures::stream::{self, BoxStream, Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fmt::Debug;
use std::time::Duration;

pub type Requeued<K> = watcher::Result<ObjectRef<K>>;

/// The objects of a controller, and which of them to reconcile now.
pub struct Queue<K: Kind + 'static> {
    pub store: Store<K>,
    pub requeued: BoxStream<'static, Requeued<K>>,
}

/// The watches of one controller, in one namespace or in all.
pub struct Watches<K: Kind + 'static> {
    client: Client,
    namespace: Option<String>,
    store: Store<K>,
    all: Vec<BoxStream<'static, Requeued<K>>>,
}

// === impl Watches ===

impl<K: Kind + Send + Sync + 'static> Watches<K> {
    /// Watches the objects of the controller, each requeued when it changes. They are stored without their managed
    /// fields, which are as large as the rest of an instance group: a reconcile that needs those reads the object.
    pub fn of(client: &Client, namespace: &Option<String>, config: watcher::Config) -> Self {
        let (store, writer) = reflector::store();
        let events = watcher(api::<K>(client, namespace), config).backoff(WatchBackoff::default());
        let trimmed = events.modify(|object: &mut K| object.meta_mut().managed_fields = None);
        Self {
            client: client.clone(),
            namespace: namespace.clone(),
            all: vec![own(store.clone(), trimmed.reflect(writer)).boxed()],
            store,
        }
    }

    /// Also watches other objects in the same namespaces. `whom`: the objects that they concern. Only their metadata is
    /// watched, so the content of all Secrets of a cluster is not transferred.
    #[must_use]
    pub fn and<O>(
        self,
        config: watcher::Config,
        whom: impl Fn(&ObjectMeta) -> Vec<ObjectRef<K>> + Send + 'static,
    ) -> Self
    where
        O: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + 'static,
    {
        let others = api::<PartialObjectMeta<O>>(&self.client, &self.namespace);
        self.and_all(others, config, whom)
    }

    /// Also watches other objects in all namespaces.
    #[must_use]
    pub fn and_all<O>(
        self,
        others: Api<PartialObjectMeta<O>>,
        config: watcher::Config,
        whom: impl Fn(&ObjectMeta) -> Vec<ObjectRef<K>> + Send + 'static,
    ) -> Self
    where
        O: Resource<DynamicType = ()> + Clone + Debug + Send + 'static,
    {
        self.and_whole(others, config, |_| {}, whom)
    }

    /// Like [`Self::and`], but watches whole objects. `seen` gets each event before `whom` is called; none: the watch
    /// was interrupted.
    #[must_use]
    pub fn and_whole<O>(
        mut self,
        others: Api<O>,
        config: watcher::Config,
        seen: impl Fn(Option<&Event<O>>) + Send + 'static,
        whom: impl Fn(&ObjectMeta) -> Vec<ObjectRef<K>> + Send + 'static,
    ) -> Self
    where
        O: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let events = watcher(others, config).backoff(WatchBackoff::default());
        let events = events.inspect(move |event| seen(event.as_ref().ok()));
        let here = self.namespace.clone();
        let concerned = move |meta: &ObjectMeta| within(&here, whom(meta));
        self.all.push(foreign(self.store.clone(), events, concerned).boxed());
        self
    }

    /// Like [`Self::and`], and keeps the metadata of the other objects in a store, which is always updated before
    /// `whom` is called. `trim`: removes what the controller does not read.
    #[must_use]
    pub fn and_stored<O>(
        mut self,
        config: watcher::Config,
        trim: impl Fn(&mut ObjectMeta) + Send + 'static,
        whom: impl Fn(&ObjectMeta) -> Vec<ObjectRef<K>> + Send + 'static,
    ) -> (Self, Store<PartialObjectMeta<O>>)
    where
        O: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static,
    {
        let (kept, writer) = reflector::store();
        let others = api::<PartialObjectMeta<O>>(&self.client, &self.namespace);
        let events = watcher(others, config).backoff(WatchBackoff::default());
        let events = events.modify(move |object: &mut PartialObjectMeta<O>| trim(&mut object.metadata));
        let here = self.namespace.clone();
        let concerned = move |meta: &ObjectMeta| within(&here, whom(meta));
        self.all
            .push(foreign(self.store.clone(), events.reflect(writer), concerned).boxed());
        (self, kept)
    }

    /// [Batches](batched) what the watch that was added last requeues.
    #[must_use]
    pub fn in_batches(mut self, window: Duration) -> Self {
        let last = self.all.pop();
        self.all.extend(last.map(|last| batched(last, window).boxed()));
        self
    }

    /// The objects, and which of them to reconcile now.
    pub fn queue(self) -> (Store<K>, impl Stream<Item = Requeued<K>> + Send + use<K>) {
        (self.store, stream::select_all(self.all))
    }
}

/// Requeues an object each time that it changes. `events`: the watch events, after `store` was updated.
fn own<K: Kind + Send + Sync + 'static>(
    store: Store<K>,
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send,
) -> impl Stream<Item = Requeued<K>> + Send {
    let mut before = HashSet::new();
    requeued(events, move |event| match event {
        Event::Apply(object) | Event::Delete(object) => vec![ObjectRef::from_obj(&object)],
        Event::Init => {
            before = known(&store);
            Vec::new()
        }
        // Until the list is complete, the store has the old state of the object.
        Event::InitApply(_) => Vec::new(),
        Event::InitDone => {
            // Deleted objects are requeued, too, so that the controller forgets them.
            let mut all = known(&store);
            all.extend(before.drain());
            all.into_iter().collect()
        }
    })
}

/// Requeues the objects that another object concerns each time that it changes.
fn foreign<K: Kind + Send + Sync + 'static, O: Resource + Send + 'static>(
    store: Store<K>,
    events: impl Stream<Item = watcher::Result<Event<O>>> + Send,
    concerned: impl Fn(&ObjectMeta) -> Vec<ObjectRef<K>> + Send,
) -> impl Stream<Item = Requeued<K>> + Send {
    requeued(events, move |event| match event {
        Event::Apply(object) | Event::Delete(object) => concerned(object.meta()),
        Event::Init | Event::InitApply(_) => Vec::new(),
        Event::InitDone => known(&store).into_iter().collect(),
    })
}

/// Requeues all objects at once, and each time that something else changes that concerns all of them.
pub fn all<K: Kind + Send + Sync + 'static>(
    changes: &Changes,
    store: Store<K>,
) -> impl Stream<Item = Requeued<K>> + Send + use<K> {
    changes.follow().flat_map(move |()| stream::iter(known(&store)).map(Ok))
}

/// Those in this namespace. Others belong to another controller; they are not in this store, and would count as
/// deleted.
fn within<K: Kind + 'static>(here: &Option<String>, mut objects: Vec<ObjectRef<K>>) -> Vec<ObjectRef<K>> {
    objects.retain(|object| here.is_none() || object.namespace == *here);
    objects
}

/// Requeues those whom each event concerns.
pub fn requeued<K: Kind + Send + 'static, E: Send>(
    events: impl Stream<Item = watcher::Result<E>> + Send,
    mut whom: impl FnMut(E) -> Vec<ObjectRef<K>> + Send,
) -> impl Stream<Item = Requeued<K>> + Send {
    events.flat_map(move |event| {
        stream::iter(match event {
            Ok(event) => whom(event).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    })
}

fn known<K: Kind + 'static>(store: &Store<K>) -> HashSet<ObjectRef<K>> {
    let all = store.state();
    all.iter().map(|object| ObjectRef::from_obj(&**object)).collect()
}

/// The object of this name in this namespace, if both are known.
pub fn named<K: Kind + 'static>(name: Option<&str>, namespace: Option<&str>) -> Vec<ObjectRef<K>> {
    let both = name.zip(namespace).into_iter();
    both.map(|(name, namespace)| ObjectRef::new(name).within(namespace))
        .collect()
}

pub fn owners<K: Kind + 'static>(meta: &ObjectMeta) -> Vec<ObjectRef<K>> {
    let namespace = meta.namespace.as_deref();
    let owners = meta.owner_references.iter().flatten();
    owners
        .filter_map(|owner| ObjectRef::from_owner_ref(namespace, owner, ()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use std::time::Duration;
    use tokio::time::timeout;

    fn map(name: &str, version: &str) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.into());
        map.metadata.namespace = Some("n".into());
        map.metadata.resource_version = Some(version.into());
        map
    }

    fn secret(name: &str) -> PartialObjectMeta<Secret> {
        let mut secret = PartialObjectMeta::default();
        secret.metadata.name = Some(name.into());
        secret
    }

    fn name(requeued: Option<Requeued<ConfigMap>>) -> String {
        requeued.unwrap().unwrap().name
    }

    #[tokio::test]
    async fn an_object_is_reconciled_in_the_state_of_the_newest_list() {
        let (store, writer) = reflector::store();
        let events = [
            Event::Init,
            Event::InitApply(map("a", "1")),
            Event::InitApply(map("b", "1")),
            Event::InitDone,
            Event::Apply(map("b", "2")),
            Event::Init,
            Event::InitApply(map("b", "3")),
            Event::InitDone,
        ];
        let events = stream::iter(events.map(Ok)).reflect(writer);
        let mut requeued = std::pin::pin!(own(store.clone(), events));
        let mut reconciled = Vec::new();
        while let Some(object) = requeued.next().await {
            let object = object.unwrap();
            let found = store.get(&object).and_then(|map| map.metadata.resource_version.clone());
            reconciled.push((object.name, found.unwrap_or_default()));
        }
        reconciled[..2].sort();
        reconciled[3..].sort();
        let expected = [("a", "1"), ("b", "1"), ("b", "2"), ("a", ""), ("b", "3")];
        assert_eq!(
            reconciled,
            expected.map(|(name, version)| (name.to_string(), version.to_string()))
        );
    }

    #[tokio::test]
    async fn what_was_deleted_during_a_gap_requeues_the_objects_that_it_concerned() {
        let (store, mut writer) = reflector::store();
        writer.apply_watcher_event(&Event::Apply(map("a", "1")));
        let events = [
            Event::Apply(secret("s")),
            Event::Delete(secret("s")),
            Event::Init,
            Event::InitApply(secret("other")),
            Event::InitDone,
        ];
        let concerned = |meta: &ObjectMeta| vec![ObjectRef::new(meta.name.as_deref().unwrap()).within("n")];
        let requeued = foreign(store, stream::iter(events.map(Ok)), concerned);
        let names: Vec<String> = requeued.map(|requeued| name(Some(requeued))).collect().await;
        assert_eq!(names, ["s", "s", "a"]);
    }

    #[test]
    fn an_object_of_another_namespace_is_requeued_by_its_own_controller() {
        let all = ["n", "m"].map(|namespace| ObjectRef::<ConfigMap>::new("a").within(namespace));
        let here = |namespace: Option<&str>| within(&namespace.map(str::to_string), all.to_vec());
        assert_eq!(here(Some("m")), all[1..]);
        assert_eq!(here(None), all);
    }

    #[tokio::test]
    async fn a_forbidden_watch_does_not_block_the_others() {
        let (store, mut writer) = reflector::store();
        writer.apply_watcher_event(&Event::Apply(map("a", "1")));
        let failing = stream::repeat_with(|| Err(watcher::Error::NoResourceVersion)).backoff(WatchBackoff::default());
        let failing = foreign::<ConfigMap, PartialObjectMeta<Secret>>(store.clone(), failing, |_| Vec::new());
        let good = stream::repeat_with(|| Ok(Event::Apply(secret("s")))).take(1000);
        let good = foreign(store, good, |_| vec![ObjectRef::<ConfigMap>::new("a").within("n")]);
        let queue = stream::select_all([failing.boxed(), good.boxed()]);
        let requeued = queue
            .filter(|requeued| std::future::ready(requeued.is_ok()))
            .take(1000)
            .count();
        assert_eq!(timeout(Duration::from_millis(500), requeued).await, Ok(1000));
    }
}
