//! ConfigMaps with the job sources of instance groups, which their pods mount. They are immutable and named by their content, so pods of an earlier
//! version keep theirs. The step that renders templates has stored the sources beside its result.

use super::MANAGER;
use super::chain;
use super::flow::{Flow, unnamed};
use super::groups::Gathered;
use super::manifest::Manifest;
use super::stop::Stop;
use boson_cluster::client::{Created, Error};
use boson_cluster::objects;
use boson_manifest::labels;
use boson_manifest::names::{LABEL_LIMIT, cut, label};
use boson_pipeline::convert::job_sources::{FILE, Packed};
use boson_pipeline::plain;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The job sources of a deployment's groups.
#[derive(Debug, Default)]
pub(super) struct JobSources {
    /// By the name of the Secret with the group's resolved document.
    of: BTreeMap<String, ConfigMap>,
}

// === impl JobSources ===

impl JobSources {
    /// The ConfigMap for the pods of a wanted object.
    pub(super) fn of(&self, object: &Value) -> Option<&str> {
        self.of.get(chain::resolved(object)?)?.metadata.name.as_deref()
    }

    /// Those that pods of these objects mount, each once.
    fn mounted<'s>(&'s self, wanted: &[Value]) -> Vec<&'s ConfigMap> {
        let names: Vec<&str> = wanted.iter().filter_map(chain::mounted).collect();
        let by_name = self.of.values().map(|map| (map.metadata.name.as_deref(), map));
        let by_name: BTreeMap<_, _> = by_name.collect();
        let mounted = by_name
            .into_iter()
            .filter(|(name, _)| name.is_some_and(|name| names.contains(&name)));
        mounted.map(|(_, map)| map).collect()
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// The job sources of all groups that have some.
    pub(super) fn job_sources(&self, manifest: &Manifest, gathered: &mut [Gathered]) -> Result<JobSources, Stop> {
        let mut sources = JobSources::default();
        for one in gathered {
            let Some(packed) = one.sources.take() else { continue };
            let map = self.config_map(&one.group.name, packed, manifest)?;
            sources.of.insert(one.resolved.clone(), map);
        }
        Ok(sources)
    }

    fn config_map(&self, group: &str, packed: Packed, manifest: &Manifest) -> Result<ConfigMap, Stop> {
        let name = self.names.job_sources(group, &packed.digest);
        let name = name.map_err(|error| manifest.one(unnamed(&error)))?;
        let labels = [
            (labels::DEPLOYMENT_NAME, self.names.deployment()),
            (labels::INSTANCE_GROUP_NAME, cut(&label(group), "", LABEL_LIMIT)),
            (labels::JOB_SOURCES, "true".into()),
        ];
        let tags = plain::tags(&manifest.tree, Some(group));
        Ok(ConfigMap {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(self.namespace.into()),
                labels: Some(labels.map(|(key, value)| (key.to_string(), value)).into()),
                annotations: Some(tags).filter(|tags| !tags.is_empty()),
                owner_references: Some(vec![self.owner.clone()]),
                ..ObjectMeta::default()
            },
            binary_data: Some([(FILE.to_string(), ByteString(packed.bytes))].into()),
            immutable: Some(true),
            ..ConfigMap::default()
        })
    }

    /// The metadata of all existing ones of this deployment.
    pub(super) async fn existing_job_sources(&self) -> Result<Vec<ObjectMeta>, Error> {
        let labels = format!(
            "{}={},{}=true",
            labels::DEPLOYMENT_NAME,
            self.names.deployment(),
            labels::JOB_SOURCES
        );
        let cluster = &self.context.cluster;
        let mut all = cluster.list_metadata::<ConfigMap>(self.namespace, &labels).await?;
        all.retain(|meta| meta.deletion_timestamp.is_none() && objects::names_owner(meta, &self.owner.uid));
        Ok(all)
    }

    /// Those that pods of the wanted objects mount and that do not exist yet. Updates the tags of the others.
    pub(super) async fn missing_job_sources<'s>(
        &self,
        sources: &'s JobSources,
        wanted: &[Value],
        existing: &[ObjectMeta],
    ) -> Result<Vec<&'s ConfigMap>, Error> {
        let mut missing = Vec::new();
        for map in sources.mounted(wanted) {
            let Some(found) = existing.iter().find(|found| found.name == map.metadata.name) else {
                missing.push(map);
                continue;
            };
            let tags = map.metadata.annotations.clone().unwrap_or_default();
            let present = |(key, value)| found.annotations.as_ref().and_then(|all| all.get(key)) == Some(value);
            if !tags.iter().all(present) {
                self.note_write();
                let members = json!({"metadata": {"annotations": tags}});
                self.context.cluster.merge(MANAGER, map, members).await?;
            }
        }
        Ok(missing)
    }

    /// Creates them, before the pods that mount them.
    pub(super) async fn create_job_sources(&self, missing: &[&ConfigMap]) -> Result<(), Stop> {
        for map in missing {
            self.note_write();
            if let Created::Exists = self.context.cluster.create(MANAGER, *map).await? {
                // Of an earlier deployment of this name, which is being deleted, or of a user.
                let value = serde_json::to_value(map).unwrap_or_default();
                let kind = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": value["metadata"]});
                self.vacant(std::iter::once(&kind)).await?;
                let name = map.name_any();
                return Err(Stop::Waiting(format!(
                    "ConfigMap '{name}', which has just been created"
                )));
            }
        }
        Ok(())
    }

    /// Those that no wanted object mounts. Older workloads may still mount them.
    pub(super) async fn old_job_sources(&self, wanted: &[Value]) -> Result<Vec<ConfigMap>, Error> {
        let names: Vec<&str> = wanted.iter().filter_map(chain::mounted).collect();
        let mut all = self.existing_job_sources().await?;
        all.retain(|meta| meta.name.as_deref().is_some_and(|name| !names.contains(&name)));
        let around = |metadata| ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        Ok(all.into_iter().map(around).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
