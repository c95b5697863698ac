//! The StatefulSets and pods of groups with a rollout in progress: listed after the first update of an instance, and
//! from then on as the watches have them, so that a later reconcile of the rollout lists nothing.
//!
//! # Guarantees
//! A state includes all writes of this process before it. As long as a watch does not show one of them, and after each
//! interruption of a watch, there is no state, and the caller lists again. Memory is bounded: only groups of which an
//! instance was updated a short time ago are followed, and only some of them at a time. One whose rollout stands still
//! is released when any other group is reconciled.

mod objects;

use super::Key;
use boson_cluster::client::written::Written;
use boson_cluster::objects::has_owner;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use objects::Objects;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a group is followed after the last update of an instance.
const FOLLOW_DURATION: Duration = Duration::from_secs(60);
/// A group has about a quarter of a MiB. Reconciles of others list.
const MAX_FOLLOWED_GROUPS: usize = 32;

#[derive(Debug, Default)]
pub(in crate::stateful_set) struct Followed(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    groups: HashMap<Key, Group>,
    watches: HashMap<Watch, Phase>,
}

/// What a reconcile did for a rollout.
#[derive(Clone, Copy, Debug)]
pub(in crate::stateful_set) struct RolloutStep {
    /// Whether it began or ended updates of instances: from now on the group is followed.
    pub updates: bool,
    /// Whether the next reconcile needs the same objects.
    pub goes_on: bool,
}

/// A watch that objects are followed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::stateful_set) struct Watch {
    pub kind: Kind,
    /// None: of all namespaces.
    pub namespace: Option<String>,
}

/// What a watch is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::stateful_set) enum Kind {
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

#[derive(Debug)]
pub(in crate::stateful_set) struct State {
    pub sets: Vec<Value>,
    pub pods: Vec<Pod>,
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

#[cfg(test)]
mod tests;
