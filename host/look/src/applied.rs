//! What the operator has stored of a deployment: its manifest with ops files, cloud configs and runtime configs, before
//! its variables are replaced. `host diff` compares with it.

use crate::access::Access;
use anyhow::Context;
use boson_api::{BoshDeployment, ConditionStatus};
use boson_manifest::cloud;
use boson_pipeline::convert::stored_documents::{self, BEFORE_PAUSE, MANIFEST};
use boson_pipeline::yaml::{self, Document};
use k8s_openapi::api::core::v1::Secret;
use std::slice;

/// A stored manifest: the one from before a pause, if a change waits for its end.
#[derive(Debug)]
pub struct Applied {
    /// The manifest, without its cloud configs.
    pub manifest: Document,
    /// Its cloud configs, merged.
    pub cloud_config: Option<Document>,
    /// Why it is not what runs, if the operator reports that.
    pub unapplied: Option<String>,
    /// Instance groups and instances that are stopped or ignored.
    pub unchanged: Vec<String>,
}

// === impl Applied ===

impl Applied {
    /// Reads the manifest of a BOSHDeployment. None: the deployment does not exist, or was never converted.
    ///
    /// # Errors
    /// It cannot be read, or no deployment can have this name.
    pub async fn read(access: &Access, deployment: &str) -> anyhow::Result<Option<Self>> {
        let name = access.names(deployment)?.with_ops();
        let Some(found) = access.get::<BoshDeployment>(deployment).await? else {
            return Ok(None);
        };
        let Some(secret) = access.get::<Secret>(&name).await? else {
            return Ok(None);
        };
        let read = read_secret(&name, &secret);
        let (manifest, cloud_config) =
            read.with_context(|| format!("Secret '{name}' has no manifest that can be read"))?;
        Ok(Some(Self {
            manifest,
            cloud_config,
            unapplied: unapplied_reason(&found),
            unchanged: unchanged_instances(&found),
        }))
    }
}

fn unapplied_reason(deployment: &BoshDeployment) -> Option<String> {
    let conditions = &deployment.status.as_ref()?.conditions;
    let of = |kind: &str| conditions.iter().find(|one| one.kind == kind);
    let failed = ["Converted", "Applied"].into_iter().filter_map(of);
    let mut failed = failed.filter(|one| one.status == ConditionStatus::False);
    failed.next().map(|one| format!("{}: {}", one.reason, one.message))
}

fn unchanged_instances(deployment: &BoshDeployment) -> Vec<String> {
    let states = deployment.spec.instances.iter();
    let unchanged = states.filter(|one| one.desired.stopped || one.desired.ignored);
    unchanged.map(|one| format!("'{}'", one.name)).collect()
}

/// Manifest and cloud config of a Secret.
pub(crate) fn read_secret(name: &str, secret: &Secret) -> Option<(Document, Option<Document>)> {
    let data = secret.data.as_ref()?;
    let data = data.get(BEFORE_PAUSE).or_else(|| data.get(MANIFEST))?;
    let title = format!("Secret {name}");
    let mut manifest = stored_documents::read(&title, &data.0).ok()?;
    let Some(tree) = manifest.tree.as_object_mut()?.shift_remove(cloud::KEY) else {
        return Some((manifest, None));
    };
    let text = yaml::write_manifest(slice::from_ref(&tree));
    let cloud_config = yaml::read(&format!("{title}, {}", cloud::KEY), &text).ok()?;
    Some((manifest, Some(cloud_config)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_document::Tree;
    use k8s_openapi::ByteString;

    #[test]
    fn the_cloud_config_is_taken_out_of_the_manifest() {
        let secret = |text: &str| Secret {
            data: Some([(MANIFEST.to_string(), ByteString(text.into()))].into()),
            ..Secret::default()
        };
        let (manifest, cloud) =
            read_secret("d.with-ops", &secret("name: d\ncloud_config: {azs: [{name: z1}]}\n")).unwrap();
        assert_eq!(manifest.tree, Tree::object().with("name", "d"));
        assert_eq!(cloud.unwrap().tree.items("azs")[0].str("name"), Some("z1"));
        assert!(read_secret("d.with-ops", &secret("name: d\n")).unwrap().1.is_none());
        assert!(read_secret("d.with-ops", &secret("- d\n")).is_none());
    }
}
