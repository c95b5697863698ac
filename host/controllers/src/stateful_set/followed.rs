//! The StatefulSets and pods of groups with a rollout in progress: listed after the first update of an instance, and
//! from then on as the watches have them, so that a later reconcile of the rollout lists nothing.
//!
//! # Guarantees
//! A state includes all writes of this process before it. As long as a watch does not show one of them, and after each
//! interruption of a watch, there is no state, and the caller lists again. Memory is bounded: only groups of which an
//! instance was updated a short time ago are followed, and only some of them at a time. One whose rollout stands still
//! is released when any other group is reconciled.

use boson_cluster::client::written::Written;
use boson_cluster::objects::has_owner;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

/// How long a group is followed after the last update of an instance.
const FOLLOW_DURATION: Duration = Duration::from_secs(60);
/// A group has about a quarter of a MiB. Reconciles of others list.
const MAX_FOLLOWED_GROUPS: usize = 32;

/// Namespace and name of a QuarksStatefulSet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub namespace: String,
    pub name: String,
}

#[derive(Debug, Default)]
pub(super) struct Followed(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    groups: HashMap<Key, Group>,
    watches: HashMap<Watch, Phase>,
}

/// What a reconcile did for a rollout.
#[derive(Clone, Copy, Debug)]
pub(super) struct RolloutStep {
    /// Whether it began or ended updates of instances: from now on the group is followed.
    pub updates: bool,
    /// Whether the next reconcile needs the same objects.
    pub goes_on: bool,
}

/// A watch that objects are followed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Watch {
    pub kind: Kind,
    /// None: of all namespaces.
    pub namespace: Option<String>,
}

/// What a watch is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Sets,
    Pods,
}

/// Whether a watch shows each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Lists,
    Watches,
    /// It continues where it was, or lists again.
    Interrupted,
}

/// What is followed of a group. Watches can show an object before or after the list has it.
#[derive(Debug, Default)]
struct Group {
    /// UID of the QuarksStatefulSet: another one of this name has other StatefulSets.
    uid: String,
    sets: Objects<DynamicObject>,
    pods: Objects<Pod>,
    last_update: Option<Instant>,
}

/// The objects of one kind, by name.
#[derive(Debug)]
struct Objects<O> {
    all: BTreeMap<String, O>,
    is_listed: bool,
    /// UIDs of those that were deleted. A list that began before has them still.
    deleted: HashSet<String>,
    /// Own writes that the watch has not shown yet.
    expected: Vec<Expected>,
}

#[derive(Debug)]
struct Expected {
    name: String,
    since: Since,
}

/// From when on a watch shows a write.
#[derive(Debug)]
enum Since {
    Version(Option<u64>),
    /// The object with this UID is deleted, or about to be.
    Deletion(String),
}

#[derive(Debug)]
pub(super) struct State {
    pub sets: Vec<Value>,
    pub pods: Vec<Pod>,
}

// === impl Key ===

impl Key {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

// === impl Followed ===

impl Followed {
    /// Its state, if it is followed and the watches have shown all that was written. `uid`: of the QuarksStatefulSet.
    pub fn state(&self, key: &Key, uid: &str) -> Option<State> {
        let mut tables = self.0.lock();
        if !tables.is_watched(Kind::Sets, &key.namespace) || !tables.is_watched(Kind::Pods, &key.namespace) {
            return None;
        }
        let group = tables.groups.get_mut(key).filter(|group| group.uid == uid)?;
        if !group.is_recent() || !group.sets.is_current() || !group.pods.is_current() {
            return None;
        }
        Some(State {
            sets: group.own_sets(group.sets.all.values()),
            pods: group.pods.all.values().cloned().collect(),
        })
    }

    /// Its objects are about to be listed. The lists are kept if it is to be followed.
    pub fn begin(&self, key: &Key, uid: &str) {
        let mut tables = self.0.lock();
        if let Some(group) = tables.groups.get_mut(key) {
            let last_update = group.last_update.filter(|_| group.is_recent());
            *group = Group {
                uid: uid.into(),
                last_update,
                ..Group::default()
            };
        }
    }

    /// The StatefulSets were listed. Returns them as they are now.
    pub fn add_listed_sets(&self, key: &Key, sets: Vec<Value>) -> Vec<Value> {
        match self.0.lock().groups.get_mut(key) {
            Some(group) => {
                // They were read as such objects.
                let sets = sets.into_iter().filter_map(|set| serde_json::from_value(set).ok());
                let sets = group.sets.add_listed(sets.collect());
                group.own_sets(&sets)
            }
            None => sets,
        }
    }

    /// The pods were listed. Returns them as they are now.
    pub fn add_listed_pods(&self, key: &Key, pods: Vec<Pod>) -> Vec<Pod> {
        match self.0.lock().groups.get_mut(key) {
            Some(group) => group.pods.add_listed(pods),
            None => pods,
        }
    }

    /// A reconcile of the group has made these writes.
    pub fn record_reconcile(&self, key: &Key, writes: &[Written], rollout: RolloutStep) {
        let mut tables = self.0.lock();
        tables.groups.retain(|other, group| other == key || group.is_recent());
        if rollout.updates && tables.groups.len() < MAX_FOLLOWED_GROUPS {
            tables.groups.entry(key.clone()).or_default();
        }
        let Some(group) = tables.groups.get_mut(key) else {
            return;
        };
        if rollout.updates {
            group.last_update = Some(Instant::now());
        }
        for write in writes {
            match write.kind.as_str() {
                "StatefulSet" => group.sets.expect(write),
                "Pod" => group.pods.expect(write),
                _ => {}
            }
        }
        if !rollout.goes_on || !group.is_recent() {
            tables.groups.remove(key);
        }
    }

    pub fn end(&self, key: &Key) {
        self.0.lock().groups.remove(key);
    }

    /// An event of the watch of StatefulSets; none: it was interrupted.
    pub fn apply_set_event(
        &self,
        watch: &Watch,
        event: Option<&Event<DynamicObject>>,
        keys: impl Fn(&ObjectMeta) -> Vec<Key>,
    ) {
        self.apply_event(watch, event, keys, |_| {}, |group| &mut group.sets);
    }

    /// An event of the watch of pods; none: it was interrupted.
    pub fn apply_pod_event(&self, watch: &Watch, event: Option<&Event<Pod>>, keys: impl Fn(&ObjectMeta) -> Vec<Key>) {
        let trim = |meta: &mut ObjectMeta| meta.managed_fields = None;
        self.apply_event(watch, event, keys, trim, |group| &mut group.pods);
    }

    /// `trim`: removes what is not kept. `objects`: those of a group that the watch is of.
    fn apply_event<O: Resource + Clone>(
        &self,
        watch: &Watch,
        event: Option<&Event<O>>,
        keys: impl Fn(&ObjectMeta) -> Vec<Key>,
        trim: impl Fn(&mut ObjectMeta),
        objects: impl Fn(&mut Group) -> &mut Objects<O>,
    ) {
        let mut tables = self.0.lock();
        let (object, is_deleted) = match event {
            Some(Event::Apply(object)) => (object, false),
            Some(Event::Delete(object)) => (object, true),
            Some(Event::InitApply(_)) => return,
            Some(Event::Init) => return tables.interrupt(watch, Phase::Lists),
            Some(Event::InitDone) => return tables.interrupt(watch, Phase::Watches),
            None => return tables.interrupt(watch, Phase::Interrupted),
        };
        if tables.watches.get(watch) == Some(&Phase::Interrupted) {
            tables.watches.insert(watch.clone(), Phase::Watches);
        }
        if tables.groups.is_empty() {
            return;
        }
        let (meta, name) = (object.meta(), object.name_any());
        let concerned = keys(meta);
        for (key, group) in &mut tables.groups {
            let objects = objects(group);
            // A set that has lost its owner, and a pod whose set is deleted, have no owner here any more.
            let is_known = meta.namespace.as_ref() == Some(&key.namespace) && objects.all.contains_key(&name);
            if !is_known && !concerned.contains(key) {
                continue;
            }
            if is_deleted {
                objects.remove(&name, meta.uid.clone());
            } else {
                let mut object = object.clone();
                trim(object.meta_mut());
                objects.put(object);
            }
        }
    }
}

// === impl Watch ===

impl Watch {
    fn is_of(&self, namespace: &str) -> bool {
        self.namespace.as_deref().is_none_or(|watched| watched == namespace)
    }
}

// === impl Tables ===

impl Tables {
    fn is_watched(&self, kind: Kind, namespace: &str) -> bool {
        let is_of = |watch: &Watch| watch.kind == kind && watch.is_of(namespace);
        let mut watches = self.watches.iter();
        watches.any(|(watch, phase)| is_of(watch) && *phase == Phase::Watches)
    }

    /// Changes may have been missed.
    fn interrupt(&mut self, watch: &Watch, phase: Phase) {
        self.groups.retain(|key, _| !watch.is_of(&key.namespace));
        self.watches.insert(watch.clone(), phase);
    }
}

// === impl Group ===

impl Group {
    /// Without the StatefulSets of others.
    fn own_sets<'s>(&self, sets: impl IntoIterator<Item = &'s DynamicObject>) -> Vec<Value> {
        let own = sets.into_iter().filter(|set| has_owner(*set, &self.uid));
        own.filter_map(|set| serde_json::to_value(set).ok()).collect()
    }

    fn is_recent(&self) -> bool {
        self.last_update.is_some_and(|time| time.elapsed() < FOLLOW_DURATION)
    }
}

// === impl Objects ===

impl<O> Default for Objects<O> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            is_listed: false,
            deleted: HashSet::new(),
            expected: Vec::new(),
        }
    }
}

impl<O: Resource + Clone> Objects<O> {
    /// Keeps the newer one.
    fn put(&mut self, object: O) {
        let Some(name) = object.meta().name.clone() else {
            return;
        };
        let before = self.all.get(&name).and_then(|found| version(found.meta()));
        if version(object.meta()) >= before {
            self.all.insert(name, object);
        }
    }

    fn remove(&mut self, name: &str, uid: Option<String>) {
        if self.all.get(name).is_some_and(|found| found.meta().uid == uid) {
            self.all.remove(name);
        }
        if !self.is_listed {
            self.deleted.extend(uid);
        }
    }

    fn add_listed(&mut self, objects: Vec<O>) -> Vec<O> {
        let is_left = |object: &O| object.uid().is_none_or(|uid| !self.deleted.contains(&uid));
        let left: Vec<O> = objects.into_iter().filter(is_left).collect();
        left.into_iter().for_each(|object| self.put(object));
        self.is_listed = true;
        self.deleted.clear();
        self.all.values().cloned().collect()
    }

    fn expect(&mut self, write: &Written) {
        let since = match &write.now {
            Some(now) => Since::Version(version(now)),
            None => match self.all.get(&write.name).and_then(ResourceExt::uid) {
                Some(uid) => Since::Deletion(uid),
                None => return,
            },
        };
        self.expected.push(Expected {
            name: write.name.clone(),
            since,
        });
    }

    /// Whether all objects were listed, and all writes are among them.
    fn is_current(&mut self) -> bool {
        let all = &self.all;
        self.expected.retain(|one| !one.is_shown(all.get(&one.name)));
        self.is_listed && self.expected.is_empty()
    }
}

// === impl Expected ===

impl Expected {
    fn is_shown(&self, object: Option<&impl Resource>) -> bool {
        let meta = object.map(Resource::meta);
        match &self.since {
            // One that is missing is not created yet, or was deleted by others since: then it must be listed, too.
            Since::Version(Some(written)) => meta.and_then(version).is_some_and(|found| found >= *written),
            Since::Version(None) => false,
            Since::Deletion(uid) => {
                meta.is_none_or(|meta| meta.deletion_timestamp.is_some() || meta.uid.as_ref() != Some(uid))
            }
        }
    }
}

/// The version of an object. Kubernetes guarantees that they are numbers, and greater after each change.
fn version(meta: &ObjectMeta) -> Option<u64> {
    meta.resource_version.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OF_PODS: Watch = Watch {
        kind: Kind::Pods,
        namespace: None,
    };

    const UPDATES: RolloutStep = RolloutStep {
        updates: true,
        goes_on: true,
    };

    const WAITS: RolloutStep = RolloutStep {
        updates: false,
        goes_on: true,
    };

    const ENDS: RolloutStep = RolloutStep {
        updates: false,
        goes_on: false,
    };

    fn group() -> Key {
        Key::new("n", "d-g")
    }

    fn pod(name: &str, uid: &str, version: &str) -> Pod {
        let metadata = json!({"name": name, "namespace": "n", "uid": uid, "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    /// UID of the group.
    const UID: &str = "g";

    fn set(version: &str) -> Value {
        json!({"metadata": {"name": "s", "namespace": "n", "uid": "s", "resourceVersion": version,
            "ownerReferences": [{"apiVersion": "v", "kind": "k", "name": "d-g", "uid": UID}]}})
    }

    fn wrote(kind: &str, name: &str, version: Option<&str>) -> Written {
        let now = version.map(|version| ObjectMeta {
            resource_version: Some(version.into()),
            ..ObjectMeta::default()
        });
        Written {
            kind: kind.into(),
            name: name.into(),
            now,
        }
    }

    fn see(followed: &Followed, event: Option<Event<Pod>>) {
        followed.apply_pod_event(&OF_PODS, event.as_ref(), |_| vec![group()]);
    }

    fn of_sets(namespace: &str) -> Watch {
        Watch {
            kind: Kind::Sets,
            namespace: Some(namespace.into()),
        }
    }

    fn watching() -> Followed {
        let followed = Followed::default();
        see(&followed, Some(Event::InitDone));
        followed.apply_set_event(&of_sets("n"), Some(&Event::InitDone), |_| Vec::new());
        followed
    }

    /// After a reconcile that updated an instance, and one that listed these pods, and wrote.
    fn begun(followed: &Followed, pods: Vec<Pod>, writes: &[Written]) {
        followed.record_reconcile(&group(), &[], UPDATES);
        followed.begin(&group(), UID);
        followed.add_listed_sets(&group(), vec![set("5")]);
        followed.add_listed_pods(&group(), pods);
        let writes: Vec<Written> = [wrote("StatefulSet", "s", Some("5"))]
            .into_iter()
            .chain(writes.iter().cloned())
            .collect();
        followed.record_reconcile(&group(), &writes, WAITS);
    }

    fn pods(followed: &Followed) -> Option<Vec<String>> {
        let state = followed.state(&group(), UID)?;
        let text = |pod: &Pod| format!("{} {}", pod.name_any(), pod.resource_version().unwrap());
        Some(state.pods.iter().map(text).collect())
    }

    #[test]
    fn after_its_first_list_a_group_is_as_the_watches_show_it() {
        let followed = watching();
        begun(&followed, vec![pod("s-0", "a", "1"), pod("s-1", "b", "2")], &[]);
        assert_eq!(pods(&followed).unwrap(), ["s-0 1", "s-1 2"]);
        see(&followed, Some(Event::Apply(pod("s-0", "a", "9"))));
        see(&followed, Some(Event::Apply(pod("s-1", "b", "1"))));
        assert_eq!(
            pods(&followed).unwrap(),
            ["s-0 9", "s-1 2"],
            "an older state is not put back"
        );
        see(&followed, Some(Event::Delete(pod("s-1", "b", "10"))));
        see(&followed, Some(Event::Apply(pod("s-2", "c", "11"))));
        assert_eq!(pods(&followed).unwrap(), ["s-0 9", "s-2 11"]);
    }

    #[test]
    fn what_watches_show_while_objects_are_listed_is_not_lost() {
        let followed = watching();
        followed.record_reconcile(&group(), &[], UPDATES);
        followed.begin(&group(), UID);
        followed.add_listed_sets(&group(), vec![set("5")]);
        see(&followed, Some(Event::Apply(pod("s-0", "a", "7"))));
        see(&followed, Some(Event::Delete(pod("s-1", "b", "8"))));
        see(&followed, Some(Event::Apply(pod("s-2", "c", "9"))));
        let listed = vec![pod("s-0", "a", "1"), pod("s-1", "b", "2")];
        let listed = followed.add_listed_pods(&group(), listed);
        let versions: Vec<_> = listed.iter().map(|pod| pod.resource_version().unwrap()).collect();
        assert_eq!(versions, ["7", "9"]);
    }

    #[test]
    fn there_is_no_state_before_the_watches_show_what_was_written() {
        let followed = watching();
        let before = vec![pod("s-0", "a", "1"), pod("s-1", "b", "2")];
        let writes = [
            wrote("Pod", "s-0", Some("6")),
            wrote("Pod", "s-1", None),
            wrote("Secret", "s", Some("99")),
        ];
        begun(&followed, before, &writes);
        assert_eq!(pods(&followed), None);
        see(&followed, Some(Event::Apply(pod("s-0", "a", "6"))));
        assert_eq!(pods(&followed), None, "one is to be deleted still");
        let mut going = pod("s-1", "b", "7");
        going.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
        ));
        see(&followed, Some(Event::Apply(going)));
        assert_eq!(pods(&followed).unwrap(), ["s-0 6", "s-1 7"]);
        followed.record_reconcile(&group(), &[wrote("StatefulSet", "new", Some("12"))], WAITS);
        assert_eq!(pods(&followed), None, "a new object is not shown yet");
    }

    #[test]
    fn a_deleted_pod_may_be_followed_by_another_one_of_its_name() {
        let followed = watching();
        begun(&followed, vec![pod("s-0", "a", "1")], &[wrote("Pod", "s-0", None)]);
        see(&followed, Some(Event::Apply(pod("s-0", "b", "6"))));
        assert_eq!(pods(&followed).unwrap(), ["s-0 6"]);
        see(&followed, Some(Event::Delete(pod("s-0", "a", "7"))));
        assert_eq!(pods(&followed).unwrap(), ["s-0 6"], "that was the first one");
    }

    #[test]
    fn after_an_interruption_of_a_watch_objects_are_listed_again() {
        let followed = watching();
        for interrupt in [None, Some(Event::Init), Some(Event::InitDone)] {
            begun(&followed, vec![pod("s-0", "a", "1")], &[]);
            assert!(pods(&followed).is_some());
            see(&followed, interrupt);
            assert_eq!(pods(&followed), None);
            see(&followed, Some(Event::InitDone));
        }
        see(&followed, None);
        begun(&followed, vec![pod("s-0", "a", "1")], &[]);
        assert_eq!(pods(&followed), None, "the watch shows nothing");
        see(&followed, Some(Event::Apply(pod("s-0", "a", "2"))));
        assert_eq!(pods(&followed).unwrap(), ["s-0 2"], "it continues where it was");
        followed.apply_set_event(&of_sets("another"), None, |_| Vec::new());
        assert!(pods(&followed).is_some(), "that watch shows nothing of it");
    }

    #[test]
    fn another_object_of_the_same_name_has_none_of_these_sets() {
        let followed = watching();
        begun(&followed, vec![pod("s-0", "a", "1")], &[]);
        assert!(followed.state(&group(), "new").is_none());
        followed.begin(&group(), "new");
        let left_behind = serde_json::from_value(set("6")).unwrap();
        followed.apply_set_event(&of_sets("n"), Some(&Event::Apply(left_behind)), |_| vec![group()]);
        assert!(followed.add_listed_sets(&group(), Vec::new()).is_empty());
    }

    #[test]
    fn what_a_group_has_is_followed_when_it_concerns_no_group_any_more() {
        let followed = watching();
        begun(&followed, vec![pod("s-0", "a", "1")], &[]);
        let of_none = |event: &Event<Pod>| followed.apply_pod_event(&OF_PODS, Some(event), |_| Vec::new());
        of_none(&Event::Delete(pod("s-0", "a", "2")));
        assert!(pods(&followed).unwrap().is_empty());
        let mut orphan = set("6");
        orphan["metadata"]["ownerReferences"] = json!([]);
        let orphan = serde_json::from_value(orphan).unwrap();
        followed.apply_set_event(&of_sets("n"), Some(&Event::Apply(orphan)), |_| Vec::new());
        assert!(followed.state(&group(), UID).unwrap().sets.is_empty());
    }

    #[test]
    fn only_groups_that_are_being_changed_are_followed() {
        let followed = watching();
        followed.begin(&group(), UID);
        followed.add_listed_sets(&group(), vec![set("5")]);
        followed.add_listed_pods(&group(), Vec::new());
        followed.record_reconcile(&group(), &[wrote("StatefulSet", "s", Some("5"))], WAITS);
        assert!(followed.state(&group(), UID).is_none(), "no instance was updated");
        begun(&followed, Vec::new(), &[]);
        followed.record_reconcile(&group(), &[], ENDS);
        assert!(followed.state(&group(), UID).is_none(), "its rollout is complete");
    }

    #[test]
    fn the_number_of_groups_that_are_followed_is_bounded() {
        let followed = watching();
        let nth = |nth: usize| Key::new("n", &nth.to_string());
        for group in (0..=MAX_FOLLOWED_GROUPS).map(nth) {
            followed.record_reconcile(&group, &[], UPDATES);
            followed.begin(&group, UID);
            followed.add_listed_sets(&group, Vec::new());
            followed.add_listed_pods(&group, Vec::new());
        }
        assert!(followed.state(&nth(0), UID).is_some());
        assert!(followed.state(&nth(MAX_FOLLOWED_GROUPS), UID).is_none());
    }

    #[test]
    fn a_group_that_stands_still_is_released() {
        let followed = watching();
        begun(&followed, Vec::new(), &[]);
        let before = Instant::now().checked_sub(FOLLOW_DURATION);
        followed.0.lock().groups.get_mut(&group()).unwrap().last_update = before;
        followed.record_reconcile(&Key::new("n", "other"), &[], WAITS);
        assert!(followed.0.lock().groups.is_empty());
    }
}
