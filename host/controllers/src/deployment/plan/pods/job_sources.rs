//! ConfigMaps with the job sources of instance groups, which their pods mount. They are immutable and named by their
//! content, so pods of an earlier version keep theirs. The step that renders templates has stored the sources beside
//! its result. Pure.

use super::init_containers;
use crate::deployment::plan::documents::Ownership;
use crate::deployment::plan::object;
use boson_manifest::labels;
use boson_manifest::names::{NameError, label_value};
use boson_pipeline::convert::job_sources::{FILE, Packed};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The job sources of a deployment's groups.
#[derive(Debug, Default)]
pub struct JobSources {
    /// By the name of the Secret with the group's resolved document.
    of: BTreeMap<String, ConfigMap>,
}

/// How the ConfigMaps that pods mount differ from those in the cluster.
#[derive(Debug, Default, PartialEq)]
pub struct Difference {
    pub create: Vec<ConfigMap>,
    /// Whose tags to update: only these annotations may change.
    pub tag: Vec<ConfigMap>,
}

// === impl JobSources ===

impl JobSources {
    /// Adds those of a group. `resolved`: name of the Secret with its resolved document; `tags`: annotations.
    ///
    /// # Errors
    /// The group name has no character that a Kubernetes name may have.
    pub fn add(
        &mut self,
        ownership: Ownership<'_>,
        group: &str,
        resolved: &str,
        packed: Packed,
        tags: BTreeMap<String, String>,
    ) -> Result<(), NameError> {
        let labels = [
            (labels::DEPLOYMENT_NAME, ownership.names.deployment()),
            (labels::INSTANCE_GROUP_NAME, label_value(group)),
            (labels::JOB_SOURCES, "true".into()),
        ];
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(ownership.names.job_sources(group, &packed.digest)?),
                namespace: Some(ownership.namespace.into()),
                labels: Some(labels.map(|(key, value)| (key.to_string(), value)).into()),
                annotations: Some(tags).filter(|tags| !tags.is_empty()),
                owner_references: Some(vec![ownership.owner.clone()]),
                ..ObjectMeta::default()
            },
            binary_data: Some([(FILE.to_string(), ByteString(packed.bytes))].into()),
            immutable: Some(true),
            ..ConfigMap::default()
        };
        self.of.insert(resolved.into(), map);
        Ok(())
    }

    /// The ConfigMap for the pods of a wanted object.
    pub fn of(&self, object: &Value) -> Option<&str> {
        self.of.get(object::resolved(object)?)?.metadata.name.as_deref()
    }

    /// What to do for the pods of these objects.
    pub fn difference(&self, wanted: &[Value], existing: &[ObjectMeta]) -> Difference {
        let mut difference = Difference::default();
        for map in self.mounted(wanted) {
            let Some(found) = existing.iter().find(|found| found.name == map.metadata.name) else {
                difference.create.push(map.clone());
                continue;
            };
            let mut tags = map.metadata.annotations.iter().flatten();
            let is_present = |(key, value)| found.annotations.as_ref().and_then(|all| all.get(key)) == Some(value);
            if !tags.all(is_present) {
                difference.tag.push(map.clone());
            }
        }
        difference
    }

    /// Those that pods of these objects mount, each once.
    fn mounted<'s>(&'s self, wanted: &[Value]) -> Vec<&'s ConfigMap> {
        let names: BTreeSet<&str> = wanted.iter().filter_map(init_containers::mounted).collect();
        let find = |name: &str| self.of.values().find(|map| map.metadata.name.as_deref() == Some(name));
        names.into_iter().filter_map(find).collect()
    }
}

/// Those of the existing ConfigMaps that no wanted object mounts. Older workloads may still mount them.
pub fn unmounted(existing: Vec<ObjectMeta>, wanted: &[Value]) -> impl Iterator<Item = ConfigMap> {
    let names: Vec<&str> = wanted.iter().filter_map(init_containers::mounted).collect();
    let is_unmounted = move |meta: &ObjectMeta| meta.name.as_deref().is_some_and(|name| !names.contains(&name));
    existing.into_iter().filter(is_unmounted).map(|metadata| ConfigMap {
        metadata,
        ..ConfigMap::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_pods_mount_is_created() {
        let map = |name: &str| ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let object = |secret: &str, sources: Option<&str>| {
            let mut volumes = vec![json!({"name": "ig-resolved", "secret": {"secretName": secret}})];
            volumes.extend(sources.map(|name| json!({"name": "job-sources", "configMap": {"name": name}})));
            let mut object = json!({"kind": "QuarksJob"});
            object["spec"]["template"]["spec"]["template"]["spec"]["volumes"] = volumes.into();
            object
        };
        let of = [("a-v1", "a-1"), ("b-v1", "b-1")].map(|(secret, name)| (secret.to_string(), map(name)));
        let sources = JobSources { of: of.into() };
        assert_eq!(sources.of(&object("a-v1", None)), Some("a-1"));
        assert_eq!(sources.of(&object("c-v1", None)), None);
        let wanted = [
            object("a-v1", Some("a-1")),
            object("a-v1", Some("a-1")),
            object("b-v1", None),
            object("c-v1", Some("old")),
        ];
        assert_eq!(sources.mounted(&wanted), [&map("a-1")]);
        let create = |existing: &[ObjectMeta]| sources.difference(&wanted, existing).create.len();
        assert_eq!((create(&[]), create(&[map("a-1").metadata])), (1, 0));
        let existing = vec![map("a-1").metadata, map("b-1").metadata];
        let names: Vec<_> = unmounted(existing, &wanted).map(|map| map.metadata.name).collect();
        assert_eq!(names, [Some("b-1".to_string())]);
    }

    #[test]
    fn tags_of_an_existing_config_map_are_updated() {
        let of = |tags: &[(&str, &str)]| ConfigMap {
            metadata: ObjectMeta {
                name: Some("a-1".into()),
                annotations: Some(
                    tags.iter()
                        .map(|(key, value)| ((*key).into(), (*value).into()))
                        .collect(),
                ),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let volumes = json!([{"name": "job-sources", "configMap": {"name": "a-1"}}]);
        let wanted = [
            json!({"kind": "QuarksJob", "spec": {"template": {"spec": {"template": {"spec": {"volumes": volumes}}}}}}),
        ];
        let sources = JobSources {
            of: [("a-v1".to_string(), of(&[("tag", "2")]))].into(),
        };
        let tagged = |tags| sources.difference(&wanted, &[of(tags).metadata]).tag;
        assert_eq!(tagged(&[("tag", "1")]), [of(&[("tag", "2")])]);
        assert_eq!(tagged(&[("tag", "2"), ("by-a-user", "x")]), []);
    }
}
