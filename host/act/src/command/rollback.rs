//! `host rollback`: applies the inputs of an earlier deploy. The command line shows the differences.

use super::deploy::{
    CLOUD_CONFIG_KEY, ChangeArguments, Content, Document, File, MANIFEST_KEY, OPS_KEY, Present, RUNTIME_CONFIG_KEY,
    Revision,
};
use anyhow::{Context, bail};
use boson_api::{ReferenceType, ResourceReference};
use boson_look::access::Access;
use clap::Args;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::Value;
use std::collections::BTreeMap;

/// Options of `host rollback` that are not about a conversion.
#[derive(Args, Debug)]
pub struct RollbackOptions {
    /// The revision, from `host history` [default: the one before the present one]
    pub revision: Option<u64>,
    /// Name of the BOSHDeployment
    #[arg(short, long, value_name = "NAME")]
    pub deployment: String,
    #[command(flatten)]
    pub change: ChangeArguments,
}

/// The inputs of a revision, with their content.
pub struct Contents {
    pub manifest: File,
    pub ops: Vec<File>,
    pub cloud_configs: Vec<File>,
    pub runtime_configs: Vec<File>,
    /// By variable.
    pub values: BTreeMap<String, Value>,
}

// === impl RollbackOptions ===

impl RollbackOptions {
    /// The revision to return to.
    ///
    /// # Errors
    /// It does not exist, or is not kept.
    pub fn target<'p>(&self, present: &'p Present) -> anyhow::Result<&'p Revision> {
        let (all, name) = (&present.revisions, &self.deployment);
        let Some(wanted) = self.revision else {
            let current = present.current().with_context(|| {
                format!("deployment '{name}' has no revision: it was not made with `host deploy`; name one of `host history`")
            })?;
            let is_before = |one: &&Revision| one.number < current.number && one.result().is_some();
            let before = all.iter().rfind(is_before);
            return before
                .with_context(|| format!("no revision before {} of deployment '{name}' is kept", current.number));
        };
        all.iter().find(|one| one.number == wanted).with_context(|| {
            format!("revision {wanted} of deployment '{name}' is not kept: see `host history -d {name}`")
        })
    }
}

// === impl Contents ===

impl Contents {
    /// Reads all inputs of a revision.
    ///
    /// # Errors
    /// One was deleted, or cannot be read.
    pub async fn read(access: &Access, revision: &Revision) -> anyhow::Result<Self> {
        let inputs = &revision.record.inputs;
        let read = async |document: &Document, key: &str| -> anyhow::Result<File> {
            Ok(File {
                name: document.file.clone(),
                text: read_config_map(access, &document.config_map, key).await?,
            })
        };
        let manifest = read(&inputs.manifest, MANIFEST_KEY).await?;
        let (mut ops, mut values) = (Vec::new(), BTreeMap::new());
        for document in &inputs.ops {
            ops.push(read(document, OPS_KEY).await?);
        }
        for variable in &inputs.vars {
            let secret = find::<Secret>(access, "Secret", &variable.secret).await?;
            let value = Content::of_secret(&secret).and_then(|content| content.value());
            let value = value.with_context(|| format!("Secret '{}' has no value that can be read", variable.secret))?;
            values.insert(variable.name.clone(), value);
        }
        Ok(Self {
            manifest,
            ops,
            cloud_configs: read_configs(access, &inputs.cloud_configs, CLOUD_CONFIG_KEY).await?,
            runtime_configs: read_configs(access, &inputs.runtime_configs, RUNTIME_CONFIG_KEY).await?,
            values,
        })
    }
}

/// Reads cloud configs or runtime configs, which are under `key`.
///
/// # Errors
/// One does not exist, or is on a web server.
pub async fn read_configs(access: &Access, references: &[ResourceReference], key: &str) -> anyhow::Result<Vec<File>> {
    let mut found = Vec::new();
    for reference in references {
        found.push(read_config(access, reference, key).await?);
    }
    Ok(found)
}

async fn read_config(access: &Access, reference: &ResourceReference, key: &str) -> anyhow::Result<File> {
    let name = &reference.name;
    let text = match reference.kind {
        ReferenceType::Configmap => read_config_map(access, name, key).await?,
        ReferenceType::Secret => {
            let secret = find::<Secret>(access, "Secret", name).await?;
            let bytes = secret.data.and_then(|mut data| data.remove(key));
            let text = bytes.and_then(|bytes| String::from_utf8(bytes.0).ok());
            text.with_context(|| format!("Secret '{name}' has no key '{key}'"))?
        }
        ReferenceType::Url => {
            bail!("the {key} at '{name}' cannot be compared: this command reads ConfigMaps and Secrets")
        }
    };
    Ok(File {
        name: name.clone(),
        text,
    })
}

async fn read_config_map(access: &Access, name: &str, key: &str) -> anyhow::Result<String> {
    let found = find::<ConfigMap>(access, "ConfigMap", name).await?;
    let text = found.data.and_then(|mut data| data.remove(key));
    text.with_context(|| format!("ConfigMap '{name}' has no key '{key}'"))
}

async fn find<K: boson_cluster::client::Kind>(access: &Access, kind: &str, name: &str) -> anyhow::Result<K> {
    let found = access.get::<K>(name).await?;
    found.with_context(|| format!("there is no {kind} '{name}', which the deployment needs"))
}
