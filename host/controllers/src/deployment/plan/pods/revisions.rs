//! The revisions of the instances of a group. An instance keeps its revision as long as its files are the same: each
//! rendered document has the digests of its instances and their revisions, and a new one takes those of the earlier
//! ones that still exist, because pods use them. Pure.

use crate::deployment::plan::object;
use crate::instance_revisions::{ByInstance, read, text};
use boson_cluster::objects::{annotation, versioned};
use boson_manifest::instances::Spread;
use boson_manifest::labels;
use boson_manifest::names::label_value;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where a QuarksStatefulSet has the metadata of its pods.
const POD_METADATA: &str = "/spec/template/spec/template/metadata";
/// Length of a revision: the beginning of a UID.
const REVISION_LENGTH: usize = 8;

/// The revisions of a group, as its pods get them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// Name of the rendered document. Pods name it, so that it is not deleted while one of them runs.
    document: String,
    digests: ByInstance,
    revisions: ByInstance,
}

// === impl Revisions ===

impl Revisions {
    /// Those of a rendered document. `existing`: all documents. None for a Secret that is no version of a document.
    pub fn of(document: &ObjectMeta, existing: &[ObjectMeta], digests: ByInstance, indexes: &Indexes) -> Option<Self> {
        let name = document.name.clone()?;
        let (series, _) = versioned::parts(&name)?;
        let of_series = |meta: &&ObjectMeta| {
            let other = meta.name.as_deref().and_then(versioned::parts);
            other.is_some_and(|(other, _)| other == series)
        };
        let same_series = existing.iter().filter(of_series);
        let known: Vec<Self> = std::iter::once(document)
            .chain(same_series)
            .filter_map(Self::stored)
            .collect();
        let uid = document.uid.as_deref().unwrap_or_default();
        let own: String = uid.chars().take(REVISION_LENGTH).collect();
        let revision = |zone: &str, (ordinal, digest): (usize, &String)| {
            let mut known = known
                .iter()
                .filter(|known| indexes.have_same_index(zone, ordinal, &known.digests, &digests));
            let found = known.find_map(|known| known.revision(zone, ordinal, digest));
            found.unwrap_or_else(|| own.clone())
        };
        let of_zone = |(zone, digests): (&String, &Vec<String>)| {
            let revisions = digests.iter().enumerate().map(|one| revision(zone, one));
            (zone.clone(), revisions.collect())
        };
        let revisions = digests.iter().map(of_zone).collect();
        Some(Self {
            document: name,
            digests,
            revisions,
        })
    }

    /// Those in the annotations of a document.
    fn stored(document: &ObjectMeta) -> Option<Self> {
        Some(Self {
            document: document.name.clone()?,
            digests: read(annotation(document, labels::INSTANCE_DIGESTS)?)?,
            revisions: read(annotation(document, labels::INSTANCE_REVISIONS)?)?,
        })
    }

    /// The revision of an instance, if its files have this digest.
    fn revision(&self, zone: &str, ordinal: usize, digest: &str) -> Option<String> {
        let same = self
            .digests
            .get(zone)?
            .get(ordinal)
            .is_some_and(|known| known == digest);
        self.revisions.get(zone)?.get(ordinal).filter(|_| same).cloned()
    }

    /// The annotations of the document.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        [
            (labels::INSTANCE_DIGESTS.into(), text(&self.digests)),
            (labels::INSTANCE_REVISIONS.into(), text(&self.revisions)),
        ]
        .into()
    }

    /// Gives the pods of the group's QuarksStatefulSet their annotations.
    pub fn annotate_pods(&self, group: &str, objects: &mut [Value]) {
        let value = label_value(group);
        let is_of_group = |object: &&mut Value| object::is_stateful_set(object) && object::group(object) == value;
        for object in objects.iter_mut().filter(is_of_group) {
            let metadata = object.pointer_mut(POD_METADATA).and_then(Value::as_object_mut);
            let Some(metadata) = metadata else { continue };
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            annotations[labels::INSTANCE_REVISIONS] = text(&self.revisions).into();
            annotations[labels::RENDERED_AS] = self.document.as_str().into();
        }
    }
}

/// How the instances of a group are numbered.
#[derive(Clone, Debug, Default)]
pub struct Indexes {
    pub spread: Spread,
    /// None: the group has no zones.
    pub first_zone: Option<String>,
}

// === impl Indexes ===

impl Indexes {
    /// Whether an instance with this number in its zone has the same `spec.index` in both, which is in its pod outside
    /// of the files of its jobs, too. With another number of zones, only the first instance of a zone has it; if each
    /// zone has its own number of instances, with another number only those of the first zone.
    fn have_same_index(&self, zone: &str, ordinal: usize, old: &ByInstance, new: &ByInstance) -> bool {
        let count = |all: &ByInstance| all.get(zone).map(Vec::len);
        match self.spread {
            Spread::Total => ordinal == 0 || old.len() == new.len(),
            Spread::PerZone => self.first_zone.as_ref().is_none_or(|first| first == zone) || count(old) == count(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the numbering of BOSH.
    fn revisions(document: &ObjectMeta, existing: &[ObjectMeta], digests: ByInstance) -> Option<Revisions> {
        Revisions::of(document, existing, digests, &Indexes::default())
    }

    /// A document with digests of the instances of one zone.
    fn document(name: &str, uid: &str, given: Option<&Revisions>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.into()),
            uid: Some(format!("{uid}-0000-0000")),
            annotations: given.map(Revisions::annotations),
            ..ObjectMeta::default()
        }
    }

    fn digests(of: &[&str]) -> ByInstance {
        [("z".to_string(), of.iter().map(ToString::to_string).collect())].into()
    }

    fn of(revisions: &Revisions) -> Vec<&str> {
        revisions.revisions["z"].iter().map(String::as_str).collect()
    }

    #[test]
    fn an_instance_keeps_its_revision_as_long_as_its_files_are_the_same() {
        let one = revisions(&document("d.bpm.g-v1", "11111111", None), &[], digests(&["a", "b"])).unwrap();
        assert_eq!(of(&one), ["11111111", "11111111"]);
        let first = document("d.bpm.g-v1", "11111111", Some(&one));
        let new = document("d.bpm.g-v2", "22222222", None);
        let two = revisions(&new, std::slice::from_ref(&first), digests(&["a", "c", "d"])).unwrap();
        assert_eq!(of(&two), ["11111111", "22222222", "22222222"]);
        let second = document("d.bpm.g-v2", "22222222", Some(&two));
        let back = document("d.bpm.g-v3", "33333333", None);
        let back_to_first = revisions(&back, &[second.clone(), first.clone()], digests(&["a", "b"])).unwrap();
        assert_eq!(of(&back_to_first), ["11111111", "11111111"], "a reverted change");
        let of_deleted = revisions(&back, std::slice::from_ref(&second), digests(&["a", "b"])).unwrap();
        assert_eq!(of(&of_deleted), ["11111111", "33333333"], "no pod is of the first one");
        let again = revisions(&second, &[first], digests(&["a", "c", "d"])).unwrap();
        assert_eq!(again, two, "nothing changes");
        let other = document("d.bpm.g-x-v1", "44444444", Some(&two));
        let foreign = revisions(&back, &[other], digests(&["a"])).unwrap();
        assert_eq!(of(&foreign), ["33333333"], "of another group");
    }

    #[test]
    fn with_another_number_of_zones_only_the_first_instance_of_each_zone_keeps_its_index_and_so_its_revision() {
        let zones = |zones: &[&str], each: &[&str]| {
            let each: Vec<String> = each.iter().map(ToString::to_string).collect();
            zones
                .iter()
                .map(|zone| ((*zone).to_string(), each.clone()))
                .collect::<ByInstance>()
        };
        let new = document("d.bpm.g-v1", "11111111", None);
        let two = revisions(&new, &[], zones(&["y", "z"], &["a", "a"])).unwrap();
        let first = document("d.bpm.g-v1", "11111111", Some(&two));
        let new = document("d.bpm.g-v2", "22222222", None);
        let three = revisions(&new, std::slice::from_ref(&first), zones(&["x", "y", "z"], &["a", "a"])).unwrap();
        assert_eq!(of(&three), ["11111111", "22222222"]);
        assert_eq!(three.revisions["x"], ["22222222", "22222222"]);
        let back = document("d.bpm.g-v3", "33333333", None);
        let second = document("d.bpm.g-v2", "22222222", Some(&three));
        let back = revisions(&back, &[second, first], zones(&["y", "z"], &["a", "a"])).unwrap();
        assert_eq!(back.revisions, two.revisions);
    }

    #[test]
    fn where_each_zone_has_its_own_instances_another_zone_moves_no_index_and_another_number_does() {
        let indexes = Indexes {
            spread: Spread::PerZone,
            first_zone: Some("y".into()),
        };
        let zones = |zones: &[&str], count: usize| -> ByInstance {
            let each = vec!["a".to_string(); count];
            zones.iter().map(|zone| ((*zone).to_string(), each.clone())).collect()
        };
        let new = document("d.bpm.g-v1", "11111111", None);
        let two = Revisions::of(&new, &[], zones(&["y", "z"], 2), &indexes).unwrap();
        let first = [document("d.bpm.g-v1", "11111111", Some(&two))];
        let new = document("d.bpm.g-v2", "22222222", None);
        let three = Revisions::of(&new, &first, zones(&["a", "y", "z"], 2), &indexes).unwrap();
        assert_eq!(
            (&three.revisions["y"], &three.revisions["z"]),
            (&two.revisions["y"], &two.revisions["z"])
        );
        let more = Revisions::of(&new, &first, zones(&["y", "z"], 3), &indexes).unwrap();
        assert_eq!(more.revisions["y"], ["11111111", "11111111", "22222222"]);
        assert_eq!(more.revisions["z"], ["22222222", "22222222", "22222222"]);
    }

    #[test]
    fn a_group_without_instances_has_no_revisions() {
        let none = revisions(&document("d.bpm.g-v1", "1", None), &[], ByInstance::new()).unwrap();
        assert!(none.revisions.is_empty());
    }

    #[test]
    fn the_pods_of_the_group_get_revisions_and_the_name_of_the_document() {
        let set = |group: &str| {
            json!({"kind": "QuarksStatefulSet", "metadata": {"labels": {labels::INSTANCE_GROUP_NAME: group}},
                "spec": {"template": {"spec": {"template": {"metadata": {}}}}}})
        };
        let mut objects = [set("g"), set("other")];
        let revisions = revisions(&document("d.bpm.g-v1", "11111111", None), &[], digests(&["a"])).unwrap();
        revisions.annotate_pods("g", &mut objects);
        let annotations = |object: &Value| object.pointer(POD_METADATA).unwrap()["annotations"].clone();
        let expected = json!({labels::INSTANCE_REVISIONS: r#"{"z":["11111111"]}"#, labels::RENDERED_AS: "d.bpm.g-v1"});
        assert_eq!(annotations(&objects[0]), expected);
        assert_eq!(annotations(&objects[1]), Value::Null);
    }
}
