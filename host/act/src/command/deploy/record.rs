//! The record of a deploy: which documents and values the BOSHDeployment got, when, and from whom. Values are in
//! Secrets, which the record names.

use boson_api::deployment::VariableReference;
use boson_api::{ReferenceType, ResourceReference};
use boson_look::access::Access;
use boson_manifest::labels;
use boson_manifest::names::Names;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Key of a record in its ConfigMap.
const RECORD_KEY: &str = "record";

pub mod result {
    /// The BOSHDeployment was applied; what became of it is not known.
    pub const APPLIED: &str = "applied";
    pub const DEPLOYED: &str = "deployed";
    pub const FAILED: &str = "failed";
}

/// The inputs of a deploy, by the names of their objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    pub manifest: Document,
    pub ops: Vec<Document>,
    /// In the order in which they are merged.
    pub cloud_configs: Vec<ResourceReference>,
    /// In the order in which they are merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtime_configs: Vec<ResourceReference>,
    /// By name.
    pub vars: Vec<VariableReference>,
}

/// A document in a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub config_map: String,
    /// The file, as it was given.
    pub file: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// As Kubernetes writes times.
    pub created: String,
    /// None if the API server does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The revision whose inputs were applied again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<u64>,
    pub inputs: Stored,
}

/// A deploy that was recorded.
#[derive(Clone, Debug)]
pub struct Revision {
    pub number: u64,
    pub record: Record,
    /// The ConfigMap with the record.
    pub object: ConfigMap,
}

/// Objects of deploys that no longer count.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    pub revisions: BTreeSet<u64>,
    pub config_maps: BTreeSet<String>,
    pub secrets: BTreeSet<String>,
}

// === impl Stored ===

impl Stored {
    /// The ConfigMaps with its manifest, its ops files, its cloud configs and its runtime configs.
    fn config_maps(&self) -> Vec<String> {
        let documents = std::iter::once(&self.manifest).chain(&self.ops);
        let configs = self.cloud_configs.iter().chain(&self.runtime_configs);
        let configs = configs.filter(|one| one.kind == ReferenceType::Configmap);
        let documents = documents.map(|one| &one.config_map);
        documents.chain(configs.map(|one| &one.name)).cloned().collect()
    }

    fn secrets(&self) -> Vec<String> {
        self.vars.iter().map(|variable| variable.secret.clone()).collect()
    }
}

// === impl Record ===

impl Record {
    pub fn object(&self, number: u64, names: &Names, namespace: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": names.revision(number),
                "namespace": namespace,
                "labels": {labels::INPUT_OF: names.deployment(), labels::REVISION: number.to_string()},
            },
            "data": {RECORD_KEY: json!(self).to_string()},
            "immutable": true,
        })
    }
}

// === impl Revision ===

impl Revision {
    /// None if it is not the record of a deploy.
    pub fn of(object: ConfigMap) -> Option<Self> {
        let number = object.labels().get(labels::REVISION)?.parse().ok()?;
        let record = serde_json::from_str(object.data.as_ref()?.get(RECORD_KEY)?).ok()?;
        Some(Self { number, record, object })
    }

    /// How it ended; none if the BOSHDeployment was not applied.
    pub fn result(&self) -> Option<&str> {
        self.object.annotations().get(labels::DEPLOY_RESULT).map(String::as_str)
    }

    /// All of a deployment, the oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn all(access: &Access, names: &Names) -> anyhow::Result<Vec<Self>> {
        let selector = format!("{}={},{}", labels::INPUT_OF, names.deployment(), labels::REVISION);
        let objects = access.list::<ConfigMap>(&selector).await?;
        let mut all: Vec<Self> = objects.into_iter().filter_map(Self::of).collect();
        all.sort_by_key(|one| one.number);
        Ok(all)
    }
}

/// What can be deleted after a deploy: revisions before the last `keep` ones, and what only they refer to.
///
/// `current`: the revision that the deployment has. A cloud config or a runtime config may be a ConfigMap of a user,
/// which stays.
pub fn garbage(all: &[Revision], current: u64, keep: usize) -> Garbage {
    let first_kept = all.len().saturating_sub(keep.max(1));
    let (old, kept): (Vec<_>, Vec<_>) = all
        .iter()
        .enumerate()
        .partition(|(nth, one)| *nth < first_kept && one.number != current);
    let names = |all: &[(usize, &Revision)], of: fn(&Stored) -> Vec<String>| -> BTreeSet<String> {
        all.iter().flat_map(|(_, one)| of(&one.record.inputs)).collect()
    };
    let only_old = |of: fn(&Stored) -> Vec<String>| &names(&old, of) - &names(&kept, of);
    Garbage {
        revisions: old.iter().map(|(_, one)| one.number).collect(),
        config_maps: only_old(Stored::config_maps),
        secrets: only_old(Stored::secrets),
    }
}

#[cfg(test)]
pub mod samples {
    use super::*;

    /// A revision with one ops file, and the value of one variable.
    pub fn revision(number: u64, manifest: &str, secret: &str) -> Revision {
        let document = |name: &str, file: &str| Document {
            config_map: name.into(),
            file: file.into(),
        };
        let record = Record {
            created: "2026-01-01T00:00:00Z".into(),
            user: Some("me".into()),
            rollback_to: None,
            inputs: Stored {
                manifest: document(manifest, "manifest.yml"),
                ops: vec![document("d.ops-1", "scale.yml")],
                cloud_configs: Vec::new(),
                runtime_configs: Vec::new(),
                vars: vec![VariableReference {
                    name: "word".into(),
                    secret: secret.into(),
                }],
            },
        };
        let object = record.object(number, &Names::new("d", "n", "").unwrap(), "n");
        Revision::of(serde_json::from_value(object).unwrap()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::samples::revision;
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let one = revision(7, "d.manifest-1", "d.given-word-7");
        assert_eq!((one.number, one.result()), (7, None));
        assert_eq!(one.object.name_any(), "d.revision-7");
        assert_eq!(one.record.inputs.vars[0].secret, "d.given-word-7");
        let mut other = one.object;
        other.data = None;
        assert!(Revision::of(other).is_none());
    }

    #[test]
    fn only_what_no_kept_revision_refers_to_is_deleted() {
        let all = [
            revision(1, "d.manifest-1", "d.given-word-1"),
            revision(2, "d.manifest-2", "d.given-word-1"),
            revision(4, "d.manifest-4", "d.given-word-4"),
            revision(5, "d.manifest-1", "d.given-word-4"),
        ];
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
        assert_eq!(garbage(&all, 5, 4), Garbage::default());
        let found = garbage(&all, 5, 2);
        assert_eq!(found.revisions, [1, 2].into());
        assert_eq!(found.config_maps, names(&["d.manifest-2"]));
        assert_eq!(found.secrets, names(&["d.given-word-1"]));
        // The current revision stays, however old it is.
        let found = garbage(&all, 1, 1);
        assert_eq!(found.revisions, [2, 4].into());
        assert_eq!(found.config_maps, names(&["d.manifest-2", "d.manifest-4"]));
        assert_eq!(found.secrets, names(&[]));
    }
}
