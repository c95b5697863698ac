//! The objects of one kind that a group has, as the lists and the watches have shown them.

use boson_cluster::client::written::Written;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use std::collections::{BTreeMap, HashSet};

/// The objects of one kind, by name.
#[derive(Debug)]
pub(super) struct Objects<O> {
    pub all: BTreeMap<String, O>,
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
    pub fn put(&mut self, object: O) {
        let Some(name) = object.meta().name.clone() else {
            return;
        };
        let before = self.all.get(&name).and_then(|found| version(found.meta()));
        if version(object.meta()) >= before {
            self.all.insert(name, object);
        }
    }

    pub fn remove(&mut self, name: &str, uid: Option<String>) {
        if self.all.get(name).is_some_and(|found| found.meta().uid == uid) {
            self.all.remove(name);
        }
        if !self.is_listed {
            self.deleted.extend(uid);
        }
    }

    pub fn add_listed(&mut self, objects: Vec<O>) -> Vec<O> {
        let is_left = |object: &O| object.uid().is_none_or(|uid| !self.deleted.contains(&uid));
        let left: Vec<O> = objects.into_iter().filter(is_left).collect();
        left.into_iter().for_each(|object| self.put(object));
        self.is_listed = true;
        self.deleted.clear();
        self.all.values().cloned().collect()
    }

    pub fn expect(&mut self, write: &Written) {
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
    pub fn is_current(&mut self) -> bool {
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
