//! `host plugin rollback` and `host plugin history`: with the permissions of the user.

use super::super::marks::{CONTENT_OF, HISTORY, PART_OF, PLUGIN};
use super::keep::{identity, is_copy, parse, read, recorded};
use super::record::{History, Revision, copy_name};
use boson_cluster::client::{Cluster, Error};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

/// The manager of fields that `kubectl apply --server-side` sets.
const KUBECTL: &str = "kubectl";

#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    #[error(transparent)]
    Api(#[from] Error),
    #[error("there is no ConfigMap '{1}/{0}' with a plugin")]
    NoPlugin(String, String),
    #[error("the operator keeps no other version of plugin '{0}' that was active; `host plugin history {0}` lists all")]
    NoOther(String),
    #[error("plugin '{0}' has no revision {1}; `host plugin history {0}` lists all")]
    NoRevision(String, u64),
    #[error("the content of revision {1} of plugin '{0}' is not kept; `host plugin history {0}` shows which are")]
    NotKept(String, u64),
    /// Fields have another manager.
    #[error("ConfigMap '{0}' has other files than the version: delete them, or apply the version with kubectl")]
    OtherFiles(String),
}

/// The records of all plugins of a namespace, or of one.
///
/// # Errors
/// See [`Error`].
pub async fn histories(
    cluster: &Cluster,
    namespace: &str,
    plugin: Option<&str>,
) -> Result<BTreeMap<String, History>, Error> {
    if let Some(plugin) = plugin {
        let history = read(cluster, namespace, plugin).await?.unwrap_or_default();
        let found = (!history.revisions.is_empty()).then(|| (plugin.to_string(), history));
        return Ok(found.into_iter().collect());
    }
    let maps: Vec<ConfigMap> = cluster.list(namespace, HISTORY).await?;
    let of_plugin = |map: &ConfigMap| Some((recorded(map)?.to_string(), parse(map)?));
    Ok(maps.iter().filter_map(of_plugin).collect())
}

/// Gives a plugin the content of an earlier version: the one with this number, or the last one that was active. Returns
/// this version.
///
/// # Errors
/// See [`RollbackError`].
pub async fn rollback(
    cluster: &Cluster,
    namespace: &str,
    plugin: &str,
    number: Option<u64>,
) -> Result<Revision, RollbackError> {
    let none = || RollbackError::NoPlugin(plugin.into(), namespace.into());
    let live: ConfigMap = cluster.get(namespace, plugin).await?.ok_or_else(none)?;
    let history = read(cluster, namespace, plugin).await?.unwrap_or_default();
    let present = identity(&live).unwrap_or_default();
    let target = history.target(number, &present).ok_or_else(|| match number {
        Some(number) => RollbackError::NoRevision(plugin.into(), number),
        None => RollbackError::NoOther(plugin.into()),
    })?;
    let copies = copies(cluster, namespace, plugin, target).await?;
    // The one with plugin.yaml is last, as `host plugin pack` prints them.
    for copy in copies.iter().rev() {
        restore(cluster, copy).await?;
    }
    let names: BTreeSet<&str> = copies.iter().filter_map(original).collect();
    let all: Vec<ConfigMap> = cluster.list(namespace, PLUGIN).await?;
    let is_part = |map: &&ConfigMap| map.annotations().get(PART_OF).is_some_and(|whole| whole == plugin);
    for map in all.iter().filter(is_part) {
        if map.metadata.name.as_deref().is_some_and(|name| !names.contains(name)) {
            cluster.delete(map).await?;
        }
    }
    Ok(target.clone())
}

async fn copies(
    cluster: &Cluster,
    namespace: &str,
    plugin: &str,
    target: &Revision,
) -> Result<Vec<ConfigMap>, RollbackError> {
    let lost = || RollbackError::NotKept(plugin.into(), target.revision);
    let mut copies = Vec::new();
    for nth in 0..target.copies {
        let name = copy_name(plugin, &target.identity, nth);
        let copy: Option<ConfigMap> = cluster.get(namespace, &name).await?;
        copies.push(
            copy.filter(|copy| is_copy(copy) && original(copy).is_some())
                .ok_or_else(lost)?,
        );
    }
    let is_it =
        |first: &ConfigMap| original(first) == Some(plugin) && identity(first).as_ref() == Some(&target.identity);
    if copies.first().is_some_and(is_it) {
        Ok(copies)
    } else {
        Err(lost())
    }
}

/// Writes the content of a copy to the ConfigMap that it is a copy of.
async fn restore(cluster: &Cluster, copy: &ConfigMap) -> Result<(), RollbackError> {
    let (Some(name), Some(namespace)) = (original(copy), copy.metadata.namespace.as_deref()) else {
        return Ok(());
    };
    let live: Option<ConfigMap> = cluster.get(namespace, name).await?;
    let managed = live.and_then(|live| live.metadata.managed_fields).unwrap_or_default();
    let pair = |key: &str| {
        let value = copy.annotations().get(key)?;
        Some([(key.to_string(), value.clone())].into())
    };
    let wanted = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_string()),
            namespace: Some(namespace.to_string()),
            labels: pair(PLUGIN),
            annotations: pair(PART_OF),
            ..ObjectMeta::default()
        },
        data: copy.data.clone(),
        binary_data: copy.binary_data.clone(),
        immutable: None,
    };
    let applied = cluster.apply_as(manager(&managed), &wanted).await?;
    let same = applied.binary_data.unwrap_or_default() == wanted.binary_data.unwrap_or_default();
    if same {
        Ok(())
    } else {
        Err(RollbackError::OtherFiles(name.to_string()))
    }
}

/// Who applied the content: with the same manager, the next `kubectl apply --server-side` meets no conflict.
fn manager(managed: &[ManagedFieldsEntry]) -> &str {
    let has_content = |one: &&ManagedFieldsEntry| {
        let fields = one.fields_v1.as_ref().map(|fields| &fields.0);
        one.operation.as_deref() == Some("Apply")
            && fields.is_some_and(|fields| ["f:data", "f:binaryData"].iter().any(|key| fields.get(key).is_some()))
    };
    let found = managed.iter().find(has_content).and_then(|one| one.manager.as_deref());
    found.unwrap_or(KUBECTL)
}

/// The name of the ConfigMap that this is a copy of.
fn original(copy: &ConfigMap) -> Option<&str> {
    copy.annotations().get(CONTENT_OF).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_is_the_one_that_applied_the_content() {
        let entry = |manager: &str, operation: &str, field: &str| -> ManagedFieldsEntry {
            let entry = serde_json::json!({"manager": manager, "operation": operation, "fieldsV1": {field: {}}});
            serde_json::from_value(entry).unwrap()
        };
        let label = entry("labeller", "Apply", "f:metadata");
        let edited = entry("kubectl-edit", "Update", "f:data");
        assert_eq!(manager(&[label.clone(), edited.clone()]), "kubectl");
        assert_eq!(
            manager(&[label, edited, entry("argocd-controller", "Apply", "f:binaryData")]),
            "argocd-controller"
        );
    }
}
