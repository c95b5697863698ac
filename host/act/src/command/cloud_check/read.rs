//! Reads what a check needs. What a user may not read is left out, with a note.

use super::scan::{OwnObject, Snapshot};
use crate::nodes;
use boson_api::QuarksStatefulSet;
use boson_cluster::client::{Error, Kind};
use boson_look::access::{Access, Found};
use boson_look::instances::{self, Instance};
use boson_manifest::labels::API_VERSION;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use kube::api::ObjectMeta;
use std::collections::BTreeSet;

/// Reads a deployment.
///
/// # Errors
/// Something cannot be read, other than what is left out.
pub async fn read(access: &Access, found: &Found) -> anyhow::Result<Snapshot> {
    let mut notes = Vec::new();
    let groups: Vec<QuarksStatefulSet> = access.list(&found.selector).await?;
    let pods = access.list(&instances::pods(&found.selector)).await?;
    let instances = Instance::among(&found.deployment, &groups, pods);
    let nodes = access.unless_forbidden(nodes::read(access, &instances).await, &mut notes, not_checked)?;
    let own_object = |api_version, kind| {
        move |metadata: ObjectMeta| OwnObject {
            api_version,
            kind,
            metadata,
        }
    };
    let of_groups = groups.iter().map(|one| one.metadata.clone());
    let mut objects: Vec<OwnObject> = of_groups.map(own_object(API_VERSION, "QuarksStatefulSet")).collect();
    let sets = metadata::<StatefulSet>(access, &found.selector, &mut notes).await?;
    objects.extend(sets.into_iter().flatten().map(own_object("apps/v1", "StatefulSet")));
    let services = metadata::<Service>(access, &found.selector, &mut notes).await?;
    objects.extend(services.into_iter().flatten().map(own_object("v1", "Service")));
    Ok(Snapshot {
        claims: access.list::<PersistentVolumeClaim>("").await?,
        secrets: names(metadata::<Secret>(access, "", &mut notes).await?),
        config_maps: names(metadata::<ConfigMap>(access, "", &mut notes).await?),
        instances,
        groups,
        nodes: nodes.unwrap_or_default(),
        objects,
        notes,
    })
}

fn names(all: Option<Vec<ObjectMeta>>) -> Option<BTreeSet<String>> {
    Some(all?.into_iter().filter_map(|one| one.name).collect())
}

/// None: it is forbidden.
async fn metadata<K: Kind>(
    access: &Access,
    selector: &str,
    notes: &mut Vec<String>,
) -> anyhow::Result<Option<Vec<ObjectMeta>>> {
    let listed = access.cluster.list_metadata::<K>(&access.namespace, selector).await;
    access.unless_forbidden(listed, notes, not_checked)
}

fn not_checked(error: &Error) -> String {
    format!("{} are not checked", error.resource)
}
