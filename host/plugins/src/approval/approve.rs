//! `host plugin approve`: with the permissions of the user.

use super::super::gather;
use super::super::marks::{PART_OF, PLUGIN};
use super::super::problem::PluginProblem;
use super::super::registry::{Key, Plugin};
use super::gains::gains_over_closest;
use super::version::{digest, version};
use boson_api::plugin_approval::MAX_VERSIONS;
use boson_api::{ApprovedVersion, PluginApproval, PluginApprovalSpec};
use boson_cluster::client::{Cluster, Error, FieldManager};
use boson_oci::Digest;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

const MANAGER: FieldManager = FieldManager("host-plugin-approve");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub version: ApprovedVersion,
    /// The digest of everything that is approved about it.
    pub digest: Digest,
    /// What it gains; empty if it was approved before.
    pub gains: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error(transparent)]
    Api(#[from] Error),
    #[error("there is no ConfigMap '{0}' with a plugin")]
    NoPlugin(Key),
    /// The ConfigMap has only parts of a plugin.
    #[error("ConfigMap '{0}' has parts of the plugin in ConfigMap '{1}': approve that one")]
    Part(Key, String),
    /// `plugin.yaml` is malformed.
    #[error("{0}")]
    Malformed(String),
    /// It has no effect.
    #[error("plugin '{0}' is a shadow plugin: it has no effect, so it needs no approval")]
    Shadow(Key),
    /// It is not known yet which component the tag of its image refers to.
    #[error(
        "the image of plugin '{0}' has no digest, and the operator has not resolved its tag yet: try again, or add the digest"
    )]
    Unresolved(Key),
    /// It is not the version that the user has read.
    #[error("plugin '{0}' has changed: its digest is {1} now")]
    Changed(Key, Digest),
    /// There is no room for another version.
    #[error(
        "{MAX_VERSIONS} versions of plugin '{0}' are approved: remove old ones from its PluginApproval, or approve only this one"
    )]
    Full(Key),
    /// Another user was faster.
    #[error("the approval of plugin '{0}' was changed by someone else meanwhile: try again")]
    Race(Key),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Approving<'a> {
    /// Only if the version has this digest.
    pub expected: Option<&'a str>,
    /// Revoke the approval of all other versions.
    pub only: bool,
    /// Only show what would be approved.
    pub dry_run: bool,
}

/// Approves the present version of a plugin.
///
/// # Errors
/// See [`ApprovalError`].
pub async fn approve(
    cluster: &Cluster,
    namespace: &str,
    plugin: &str,
    how: Approving<'_>,
) -> Result<Approval, ApprovalError> {
    let key = Key {
        namespace: namespace.into(),
        name: plugin.into(),
    };
    let version = present(cluster, &key).await?;
    let found = digest(&version);
    if how.expected.is_some_and(|expected| expected != found.as_ref()) {
        return Err(ApprovalError::Changed(key, found));
    }
    let approval: Option<PluginApproval> = cluster.get(namespace, plugin).await?;
    let approved = approval.as_ref().map(|approval| approval.spec.versions.as_slice());
    let approved = approved.unwrap_or_default();
    let gains = gains_over_closest(approved, &version);
    if !how.dry_run && how.only {
        write(cluster, &key, approval, vec![version.clone()]).await?;
    } else if !how.dry_run && !gains.is_empty() {
        // The oldest one might be in use, so it is not removed for this one.
        if approved.len() >= MAX_VERSIONS {
            return Err(ApprovalError::Full(key));
        }
        let versions = approved.iter().chain([&version]).cloned().collect();
        write(cluster, &key, approval, versions).await?;
    }
    Ok(Approval {
        version,
        digest: found,
        gains,
    })
}

/// The version in the ConfigMap of a plugin.
async fn present(cluster: &Cluster, key: &Key) -> Result<ApprovedVersion, ApprovalError> {
    let map: Option<ConfigMap> = cluster.get(&key.namespace, &key.name).await?;
    let label = map.as_ref().and_then(|map| map.labels().get(PLUGIN).cloned());
    let (Some(map), Some(label)) = (map, label) else {
        return Err(ApprovalError::NoPlugin(key.clone()));
    };
    if let Some(whole) = map.annotations().get(PART_OF) {
        return Err(ApprovalError::Part(key.clone(), whole.clone()));
    }
    let plugin = Plugin {
        label,
        ..Plugin::default()
    };
    let described = gather::described(map, key, &plugin);
    let malformed = |errors| PluginProblem::of(&format!("ConfigMap '{key}'"), errors, &described.sources).message;
    let document = described.document.as_ref();
    let document = document.map_err(|errors| ApprovalError::Malformed(malformed(errors)))?;
    if document.is_shadow {
        return Err(ApprovalError::Shadow(key.clone()));
    }
    version(document, described.record()).ok_or_else(|| ApprovalError::Unresolved(key.clone()))
}

/// Writes the approved versions of a plugin.
async fn write(
    cluster: &Cluster,
    key: &Key,
    approval: Option<PluginApproval>,
    versions: Vec<ApprovedVersion>,
) -> Result<(), ApprovalError> {
    let race = || ApprovalError::Race(key.clone());
    let Some(mut approval) = approval else {
        let mut approval = PluginApproval::new(&key.name, PluginApprovalSpec { versions });
        approval.metadata.namespace = Some(key.namespace.clone());
        let made = cluster.create(MANAGER, &approval).await?;
        return made.map(drop).ok_or_else(race);
    };
    approval.spec.versions = versions;
    match cluster.replace(MANAGER, &approval).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_race() => Err(race()),
        Err(error) => Err(error.into()),
    }
}
