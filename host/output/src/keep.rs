//! Writes Secrets of output: new versions of versioned ones, others if they have changed.

use super::parsed::Wanted;
use crate::codes;
use boson_cluster::client::{Cluster, Error, FieldManager};
use boson_cluster::objects;
use boson_cluster::objects::versioned::{Content, Next, Series};
use boson_manifest::labels::{self, secret_kind};
use boson_pipeline::Diagnostic;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

/// The owner of the fields of output.
const MANAGER: FieldManager = FieldManager("boson-output");
/// How many races may be lost before giving up.
const MAX_LOST_RACES: usize = 10;

/// Why a Secret was not written.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error(transparent)]
    Api(#[from] Error),
    /// A name conflict.
    #[error("{}", .0.message)]
    Foreign(Diagnostic),
}

/// Writes this Secret, owned by `owner`, if it has changed. Returns its name with the version.
///
/// # Errors
/// See [`KeepError`].
pub async fn keep(
    cluster: &Cluster,
    namespace: &str,
    owner: &OwnerReference,
    wanted: &Wanted,
) -> Result<String, KeepError> {
    let mut raced = None;
    for _ in 0..MAX_LOST_RACES {
        let done = if wanted.versioned {
            keep_version(cluster, namespace, owner, wanted).await
        } else {
            keep_plain(cluster, namespace, owner, wanted).await
        };
        match done {
            Err(KeepError::Api(error)) if error.is_race() => raced = Some(error),
            Ok(None) => {}
            Ok(Some(name)) => return Ok(name),
            Err(failure) => return Err(failure),
        }
    }
    Err(raced.unwrap_or_else(|| Error::missing::<Secret>(&wanted.name)).into())
}

/// None: another process created that version; read again.
async fn keep_version(
    cluster: &Cluster,
    namespace: &str,
    owner: &OwnerReference,
    wanted: &Wanted,
) -> Result<Option<String>, KeepError> {
    let series = Series {
        name: wanted.name.clone(),
        namespace: namespace.into(),
        labels: wanted.labels.clone(),
        owner: owner.clone(),
    };
    let mut labels = format!("{}={}", labels::SECRET_KIND, secret_kind::VERSIONED);
    // The name of a deployment's series contains the deployment, so all of its versions have this label.
    if let Some(deployment) = wanted.labels.get(labels::DEPLOYMENT_NAME) {
        labels = format!("{labels},{}={deployment}", labels::DEPLOYMENT_NAME);
    }
    // Metadata only: the Secrets may be many and large, and this runs with little memory.
    let there = cluster.list_metadata::<Secret>(namespace, &labels).await?;
    let newest: Option<Secret> = match series.newest_of_any_owner(&there) {
        None => None,
        Some(name) => match cluster.get(namespace, name).await? {
            None => return Ok(None),
            found => found,
        },
    };
    let content = Content {
        data: wanted.data.clone(),
        annotations: wanted.annotations.clone(),
    };
    let next = series.next(newest.as_ref(), content);
    let name = format!("{}-v{}", wanted.name, next.version());
    match next {
        Next::Make(_, secret) => Ok(cluster.create(MANAGER, &*secret).await?.map(|_| name)),
        Next::Keep(_, found) => {
            if !has_all(&found.metadata.annotations, &wanted.annotations) {
                cluster.replace(MANAGER, &with_metadata(&found, wanted)).await?;
            }
            Ok(Some(name))
        }
    }
}

async fn keep_plain(
    cluster: &Cluster,
    namespace: &str,
    owner: &OwnerReference,
    wanted: &Wanted,
) -> Result<Option<String>, KeepError> {
    let found: Option<Secret> = cluster.get(namespace, &wanted.name).await?;
    let Some(found) = found else {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(wanted.name.clone()),
                namespace: Some(namespace.into()),
                labels: Some(wanted.labels.clone()).filter(|labels| !labels.is_empty()),
                annotations: Some(wanted.annotations.clone()).filter(|all| !all.is_empty()),
                owner_references: Some(vec![owner.clone()]),
                ..ObjectMeta::default()
            },
            data: Some(wanted.data.clone()),
            type_: Some("Opaque".into()),
            ..Secret::default()
        };
        let made = cluster.create(MANAGER, &secret).await?;
        return Ok(made.map(|_| wanted.name.clone()));
    };
    if !objects::has_owner(&found, &owner.uid) {
        let what = format!("Secret '{}' exists and belongs to another object", wanted.name);
        return Err(KeepError::Foreign(Diagnostic::error(codes::OUTPUT_FOREIGN, what)));
    }
    let same = found.data.clone().unwrap_or_default() == wanted.data;
    if !same
        || !has_all(&found.metadata.labels, &wanted.labels)
        || !has_all(&found.metadata.annotations, &wanted.annotations)
    {
        let mut next = with_metadata(&found, wanted);
        next.data = Some(wanted.data.clone());
        cluster.replace(MANAGER, &next).await?;
    }
    Ok(Some(wanted.name.clone()))
}

fn with_metadata(found: &Secret, wanted: &Wanted) -> Secret {
    let mut next = found.clone();
    let metadata = &mut next.metadata;
    metadata.labels.get_or_insert_default().extend(wanted.labels.clone());
    let annotations = metadata.annotations.get_or_insert_default();
    if !wanted.annotations.contains_key(labels::ENCODING) {
        annotations.remove(labels::ENCODING);
    }
    annotations.extend(wanted.annotations.clone());
    next
}

fn has_all(there: &Option<BTreeMap<String, String>>, wanted: &BTreeMap<String, String>) -> bool {
    let there = |key: &str| there.as_ref().and_then(|there| there.get(key));
    wanted.iter().all(|(key, value)| there(key) == Some(value))
}
