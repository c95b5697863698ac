//! The cache: a 16-byte digest of each object that a deployment owns or may refer to.
//!
//! It has no content: the operator must not hold the data or the secrets of a whole cluster. No decision to write or
//! delete is based on it; it only shows that nothing has changed since the last successful conversion. One watch per
//! kind fills it. The controller is requeued only after that, so a reconcile finds the change that caused it.

mod digest;
mod follow;
mod selector;

pub use digest::ObjectDigest;
pub use follow::{Touched, follow};
pub use selector::{Digests, Selector};

use boson_api::{QuarksStatefulSet, QuarksStatefulSetStatus};
use boson_manifest::labels;
use k8s_openapi::api::core::v1::Volume;
use kube::ResourceExt;
use parking_lot::RwLock;
use selector::{deployment_of_links, endpoints, is_of_links};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

#[derive(Debug, Default)]
pub struct Cache {
    tables: RwLock<Tables>,
    changed: watch::Sender<()>,
    /// Watches whose first list is not complete.
    open: watch::Sender<usize>,
    /// Whether a caller has waited for that.
    waited: AtomicBool,
}

#[derive(Debug, Default)]
struct Tables {
    entries: BTreeMap<Place, Entry>,
    /// By index key: its objects.
    index: HashMap<String, BTreeSet<Place>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
}

/// What is stored of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    digest: ObjectDigest,
    /// What it belongs to: UIDs of its owners; for a claim, namespace and deployment.
    index_keys: Vec<String>,
    reported: Reported,
}

/// What the status of an instance group reports, if it is about the present generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    pub ready: bool,
    pub problem: Option<GroupProblem>,
    /// How far its rollout is; none once it is complete.
    pub rollout: Option<GroupProblem>,
    /// Version of the desired manifest that last changed it, by its label.
    pub version: Option<u32>,
    /// Its label, if its pods run post-deploy scripts.
    pub post_deploy: Option<String>,
    /// The generation, if its Service may begin to lead to the active pod alone.
    pub serves_from_active_pod: Option<i64>,
}

/// Why an instance group is not ready or not rolled out, as its condition reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupProblem {
    /// One word, such as `CrashLoopBackOff`.
    pub reason: String,
    /// A sentence with pod and container.
    pub message: String,
}

// === impl Reported ===

impl Reported {
    /// The readiness of an instance group.
    pub fn of(set: &QuarksStatefulSet) -> Self {
        let version = set.labels().get(labels::DEPLOYMENT_VERSION);
        let group = set.labels().get(labels::INSTANCE_GROUP_NAME);
        let status = set.status.as_ref();
        let current = status.filter(|status| status.observed_generation == set.metadata.generation);
        let problem = |(reason, message): (&str, &str)| GroupProblem {
            reason: reason.into(),
            message: message.into(),
        };
        Self {
            ready: current.is_some_and(|status| status.ready),
            problem: current.and_then(QuarksStatefulSetStatus::problem).map(problem),
            rollout: current.and_then(QuarksStatefulSetStatus::rollout).map(problem),
            version: version.and_then(|version| version.parse().ok()),
            post_deploy: group.filter(|_| reads_post_deploy(set)).cloned(),
            serves_from_active_pod: set.metadata.generation.filter(|_| set.serves_from_active_pod()),
        }
    }
}

/// Whether pods of the group read the annotation that starts post-deploy scripts.
fn reads_post_deploy(set: &QuarksStatefulSet) -> bool {
    let field = format!("metadata.annotations['{}']", labels::POST_DEPLOY);
    // A volume that is not one is its author's mistake; the API server reports it.
    let volumes = set.spec.volumes().into_iter();
    let volumes = volumes.filter_map(|volume| Volume::deserialize(volume).ok());
    let items = volumes.filter_map(|volume| volume.downward_api?.items).flatten();
    let mut fields = items.filter_map(|item| item.field_ref);
    fields.any(|reference| reference.field_path == field)
}

// === impl Place ===

impl Place {
    fn new(kind: &'static str, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

// === impl Cache ===

impl Cache {
    /// The present digests of all objects that match.
    pub fn digests(&self, selector: &Selector) -> Digests {
        let tables = self.tables.read();
        let mut digests = Digests::new();
        let mut take = |place: &Place, entry: &Entry| {
            digests.insert((place.kind.into(), place.name.clone()), entry.digest);
            if let Some(generation) = entry.reported.serves_from_active_pod {
                digests.insert(selector::active(&place.name), ObjectDigest::of_generation(generation));
            }
        };
        for key in [selector.uid.clone(), selector.claims()] {
            tables.at_key(&key).for_each(|(place, entry)| take(place, entry));
        }
        for (place, entry) in selector.links().iter().flat_map(|key| tables.at_key(key)) {
            take(place, entry);
            if place.kind == "Service" {
                let slices = tables.at_key(&endpoints(&place.namespace, &place.name));
                slices.for_each(|(place, entry)| take(place, entry));
            }
        }
        let place = |kind, name: &str| Place::new(kind, &selector.namespace, name);
        for (kind, name) in &selector.refers {
            if let Some((place, entry)) = tables.entries.get_key_value(&place(kind, name)) {
                take(place, entry);
            }
        }
        for prefix in &selector.prefixes {
            let all = tables.entries.range(place("Secret", prefix)..);
            let is_of_prefix = |place: &Place| {
                place.kind == "Secret" && place.namespace == selector.namespace && place.name.starts_with(prefix)
            };
            all.take_while(|(place, _)| is_of_prefix(place))
                .for_each(|(place, entry)| take(place, entry));
        }
        digests
    }

    /// The names of the native objects of a kind that provide links to a deployment.
    pub fn linked(&self, kind: &str, selector: &Selector) -> BTreeSet<String> {
        let tables = self.tables.read();
        let index_keys = selector.links();
        let places = index_keys.iter().flat_map(|key| tables.index.get(key)).flatten();
        places
            .filter(|place| place.kind == kind)
            .map(|place| place.name.clone())
            .collect()
    }

    /// The native objects that provide links, in one namespace or in all, each with the deployment that it names.
    pub fn natives(&self, namespace: Option<&str>) -> Vec<(Place, String)> {
        let tables = self.tables.read();
        let index_keys = tables.index.iter();
        let named = index_keys.filter_map(|(key, places)| {
            let deployment = deployment_of_links(key, namespace)?;
            Some(places.iter().map(move |place| (place.clone(), deployment.to_string())))
        });
        named.flatten().collect()
    }

    /// What an object belongs to; empty if it is not stored.
    fn index_keys(&self, place: &Place) -> Vec<String> {
        let tables = self.tables.read();
        let entry = tables.entries.get(place);
        entry.map(|entry| entry.index_keys.clone()).unwrap_or_default()
    }

    /// The index keys of native links that have the Services whose endpoints have these index keys.
    fn index_keys_of_service(&self, namespace: &str, of_slice: &[String]) -> Vec<String> {
        let tables = self.tables.read();
        let prefix = endpoints(namespace, "");
        let names = of_slice.iter().filter_map(|key| key.strip_prefix(&prefix));
        let index_keys = names.filter_map(|name| {
            let place = Place::new("Service", namespace, name);
            Some(tables.entries.get(&place)?.index_keys.iter())
        });
        // Not its owners: endpoints of a deployment's own Services do not concern the conversion.
        index_keys.flatten().filter(|key| is_of_links(key)).cloned().collect()
    }

    /// The readiness of the objects of a kind with this owner, by name.
    pub fn reported(&self, kind: &str, owner: &str) -> Vec<(String, Reported)> {
        let tables = self.tables.read();
        let places = tables.index.get(owner).into_iter().flatten();
        let reported = |place: &Place| Some((place.name.clone(), tables.entries.get(place)?.reported.clone()));
        places.filter(|place| place.kind == kind).filter_map(reported).collect()
    }

    /// Whether an object of a kind with this owner exists.
    pub fn has(&self, kind: &str, owner: &str) -> bool {
        let tables = self.tables.read();
        let mut places = tables.index.get(owner).into_iter().flatten();
        places.any(|place| place.kind == kind)
    }

    /// Whether all kinds have been listed. Waits for that at most this long, and only once: a forbidden watch must not
    /// delay every reconcile.
    pub async fn is_filled(&self, within: Duration) -> bool {
        let within = if self.waited.load(Ordering::Relaxed) {
            Duration::ZERO
        } else {
            within
        };
        let mut open = self.open.subscribe();
        let filled = timeout(within, open.wait_for(|open| *open == 0)).await;
        self.waited.store(true, Ordering::Relaxed);
        matches!(filled, Ok(Ok(_)))
    }

    /// Waits until the matching objects have these digests, at most this long.
    pub async fn wait_for(&self, selector: &Selector, digests: &Digests, within: Duration) {
        let mut changed = self.changed.subscribe();
        let shown = async {
            // Marks past changes as handled, so that none is missed between the comparison and the wait.
            while self.digests(selector) != *digests && changed.changed().await.is_ok() {}
        };
        // On a timeout there was another change, or a watch is slow: then there is another reconcile.
        let _ = timeout(within, shown).await;
    }

    fn put(&self, place: Place, entry: Entry) {
        let mut tables = self.tables.write();
        tables.remove(&place);
        for key in &entry.index_keys {
            tables.index.entry(key.clone()).or_default().insert(place.clone());
        }
        tables.entries.insert(place, entry);
        drop(tables);
        self.changed.send_replace(());
    }

    fn remove(&self, place: &Place) -> Option<Entry> {
        let mut tables = self.tables.write();
        let removed = tables.remove(place);
        drop(tables);
        self.changed.send_replace(());
        removed
    }

    /// All places of a kind in a namespace, or in all.
    fn places(&self, kind: &'static str, namespace: Option<&str>) -> Vec<Place> {
        let tables = self.tables.read();
        let first = Place::new(kind, namespace.unwrap_or_default(), "");
        let here =
            |place: &&Place| place.kind == kind && namespace.is_none_or(|namespace| place.namespace == namespace);
        tables
            .entries
            .range(first..)
            .map(|(place, _)| place)
            .take_while(here)
            .cloned()
            .collect()
    }
}

// === impl Tables ===

impl Tables {
    fn at_key<'t>(&'t self, key: &str) -> impl Iterator<Item = (&'t Place, &'t Entry)> + use<'t> {
        let places = self.index.get(key).into_iter().flatten();
        places.filter_map(|place| self.entries.get_key_value(place))
    }

    fn remove(&mut self, place: &Place) -> Option<Entry> {
        let entry = self.entries.remove(place)?;
        for key in &entry.index_keys {
            if let Some(places) = self.index.get_mut(key) {
                places.remove(place);
                if places.is_empty() {
                    self.index.remove(key);
                }
            }
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::selector::CLAIM_KIND;
    use super::*;
    use crate::client::written::Written;
    use boson_manifest::labels;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::{Value, json};

    fn meta(name: &str, version: &str, more: Value) -> ObjectMeta {
        let mut value =
            json!({"name": name, "namespace": "n", "uid": format!("uid-{name}"), "resourceVersion": version});
        value
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap_or_default());
        serde_json::from_value(value).unwrap()
    }

    fn owned(by: &str) -> Value {
        json!({"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": by}]})
    }

    fn put(cache: &Cache, kind: &'static str, meta: &ObjectMeta) {
        follow::store(cache, kind, meta, Reported::default());
    }

    fn selector() -> Selector {
        Selector {
            namespace: "n".into(),
            uid: "u".into(),
            label: "d".into(),
            name: "d".into(),
            refers: vec![("ConfigMap", "manifest".into()), ("Secret", "ops".into())],
            prefixes: vec!["d.var-".into()],
        }
    }

    #[test]
    fn a_deployment_selects_what_it_owns_refers_to_and_the_values_of_its_variables() {
        let cache = Cache::default();
        let claim = json!({"labels": {labels::DEPLOYMENT_NAME: "d"}});
        for (kind, name, more) in [
            ("Service", "mine", owned("u")),
            ("Service", "foreign", owned("v")),
            ("Service", "labelled", claim.clone()),
            (CLAIM_KIND, "data", claim),
            (
                CLAIM_KIND,
                "data-of-another",
                json!({"labels": {labels::DEPLOYMENT_NAME: "e"}}),
            ),
            ("ConfigMap", "manifest", json!({})),
            ("ConfigMap", "ops", json!({})),
            ("Secret", "ops", json!({})),
            ("Secret", "d.var-password", owned("q")),
            ("Secret", "d.variety", json!({})),
            ("Secret", "e.var-password", json!({})),
            ("Secret", "d.var-elsewhere", json!({"namespace": "m"})),
        ] {
            put(&cache, kind, &meta(name, "1", more));
        }
        let names: Vec<String> = cache
            .digests(&selector())
            .into_keys()
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        let wanted = [
            "ConfigMap manifest",
            "PersistentVolumeClaim data",
            "Secret d.var-password",
            "Secret ops",
            "Service mine",
        ];
        assert_eq!(names, wanted);
    }

    #[test]
    fn native_objects_concern_the_deployment_that_they_provide_a_link_to() {
        let cache = Cache::default();
        let marked =
            |deployment: &str| json!({"annotations": {labels::DEPLOYMENT_NAME: deployment, labels::PROVIDES: "{}"}});
        let labelled =
            json!({"labels": {labels::DEPLOYMENT_NAME: "d"}, "annotations": {labels::LINK_PROVIDER_NAME: "s"}});
        let slice = |service: &str| json!({"labels": {"kubernetes.io/service-name": service}});
        for (kind, name, more) in [
            ("Secret", "native", marked("d")),
            ("Secret", "of-another", marked("e")),
            (
                "Secret",
                "unmarked",
                json!({"annotations": {labels::DEPLOYMENT_NAME: "d"}}),
            ),
            ("Service", "native", labelled),
            ("Service", "mine", owned("u")),
        ] {
            put(&cache, kind, &meta(name, "1", more));
        }
        let index_keys = |service: &str| {
            let touched = follow::store(
                &cache,
                "EndpointSlice",
                &meta(service, "1", slice(service)),
                Reported::default(),
            );
            selector().matches(&touched.place, &touched.index_keys)
        };
        // Endpoints of the deployment's own Services would cause a conversion for each pod that gets ready.
        assert!(index_keys("native") && !index_keys("mine") && !index_keys("unknown"));
        let names: Vec<String> = cache
            .digests(&selector())
            .into_keys()
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        assert_eq!(
            names,
            [
                "EndpointSlice native",
                "Secret native",
                "Service mine",
                "Service native"
            ]
        );
        assert_eq!(cache.linked("Service", &selector()), ["native".to_string()].into());
    }

    #[test]
    fn digests_after_writes_are_those_that_the_watches_give() {
        let cache = Cache::default();
        put(&cache, "Service", &meta("a", "1", owned("u")));
        put(&cache, "Service", &meta("b", "1", owned("u")));
        let before = cache.digests(&selector());
        let wrote = |name: &str, now| Written {
            kind: "Service".into(),
            name: name.into(),
            now,
        };
        let (changed, new, event) = (
            meta("a", "2", owned("u")),
            meta("c", "3", owned("u")),
            meta("e", "4", json!({})),
        );
        let written = [
            wrote("a", Some(changed.clone())),
            wrote("b", None),
            wrote("c", Some(new.clone())),
            wrote("e", Some(event)),
        ];
        let after = selector().after(before.clone(), &written);
        assert_ne!(after, before);
        put(&cache, "Service", &changed);
        put(&cache, "Service", &new);
        assert_ne!(cache.digests(&selector()), after, "b is still there");
        cache.remove(&cache.places("Service", Some("n"))[1]);
        assert_eq!(cache.digests(&selector()), after);
        put(&cache, "Service", &meta("c", "4", owned("u")));
        assert_ne!(cache.digests(&selector()), after, "another writer changed c");
    }

    #[test]
    fn an_active_pod_is_another_state_until_its_group_has_another_generation() {
        let cache = Cache::default();
        let group = |generation: i64, label: &str, active: bool| {
            let mut group = meta("g", "1", owned("u"));
            group.generation = Some(generation);
            group.labels = Some([("a".to_string(), label.to_string())].into());
            let reported = Reported {
                serves_from_active_pod: Some(generation).filter(|_| active),
                ..Reported::default()
            };
            follow::store(&cache, "QuarksStatefulSet", &group, reported);
            (cache.digests(&selector()), group)
        };
        let (before, _) = group(1, "a", false);
        let (active, _) = group(1, "a", true);
        assert_ne!(before, active);
        for (generation, label, is_active) in [(2, "a", false), (2, "b", false), (1, "b", true)] {
            let (active, _) = group(1, "a", true);
            let (after, now) = group(generation, label, is_active);
            let written = Written {
                kind: "QuarksStatefulSet".into(),
                name: "g".into(),
                now: Some(now),
            };
            assert_eq!(selector().after(active.clone(), std::slice::from_ref(&written)), after);
            let deleted = Written { now: None, ..written };
            assert!(selector().after(active, &[deleted]).is_empty());
        }
    }

    #[test]
    fn nothing_remains_of_deleted_objects() {
        let cache = Cache::default();
        put(&cache, "Service", &meta("a", "1", owned("u")));
        put(&cache, "Service", &meta("a", "2", owned("v")));
        assert!(cache.digests(&selector()).is_empty());
        for place in cache.places("Service", None) {
            cache.remove(&place);
        }
        let tables = cache.tables.read();
        assert!(tables.entries.is_empty() && tables.index.is_empty(), "{tables:?}");
    }
}
