//! The configuration of a run: its template, and the ConfigMaps and Secrets that this refers to.

use super::references::{Kind, Reference, newest_versions, references, with_newest_secrets};
use boson_api::{QuarksJob, word};
use boson_cluster::client::{Cluster, Error, Identity};
use boson_cluster::objects::{self, versioned};
use boson_manifest::labels::{self, secret_kind};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Most references of a template. All are read whenever one of them changes, up to a megabyte each.
const MAX_REFERENCES: usize = 256;

#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::job) struct Config {
    /// The template, with the newest versions of Secrets.
    pub template: Map<String, Value>,
    /// Digest of everything that shapes the run; none while something is missing.
    pub digest: Option<String>,
    /// Missing required objects, such as `Secret 'a'`.
    pub missing: Vec<String>,
    pub refused: Option<String>,
}

/// Computes the digest of everything that shapes a run as that of one JSON list, with only one content in memory at a
/// time.
struct ConfigDigest {
    bytes: Sha256,
    is_first: bool,
}

// === impl ConfigDigest ===

impl ConfigDigest {
    fn new(object: &QuarksJob, template: &Map<String, Value>) -> Self {
        let mut template = Value::Object(template.clone());
        template.sort_all_objects();
        let head = json!([object.uid(), template, object.spec.output]).to_string();
        let mut bytes = Sha256::new();
        bytes.update(head.strip_suffix(']').unwrap_or(&head));
        bytes.update(",[");
        Self { bytes, is_first: true }
    }

    fn add(&mut self, content: &Value) {
        if !std::mem::take(&mut self.is_first) {
            self.bytes.update(",");
        }
        self.bytes.update(content.to_string());
    }

    fn finish(mut self) -> String {
        self.bytes.update("]]");
        objects::short_hexadecimal(&self.bytes.finalize())
    }
}

/// Reads the configuration of the next run. `wanted`: what the template refers to.
pub(super) async fn config(
    cluster: &Cluster,
    object: &QuarksJob,
    template: &Map<String, Value>,
    wanted: BTreeSet<Reference>,
) -> Result<Config, Error> {
    let namespace = Identity::of(object)?.namespace;
    if wanted.len() > MAX_REFERENCES {
        let refused = format!(
            "spec.template refers to {} ConfigMaps and Secrets, more than {MAX_REFERENCES}",
            wanted.len()
        );
        return Ok(Config {
            refused: Some(refused),
            ..Config::default()
        });
    }
    let is_version = |one: &Reference| one.kind == Kind::Secret && versioned::parts(&one.name).is_some();
    let mut newer = BTreeMap::new();
    if wanted.iter().any(is_version) {
        let label = format!("{}={}", labels::SECRET_KIND, secret_kind::VERSIONED);
        let there = cluster.list_metadata::<Secret>(namespace, &label).await?;
        newer = newest_versions(&wanted, there.iter().filter_map(|meta| meta.name.as_deref()));
    }
    let template = with_newest_secrets(template, &newer);
    let mut missing = Vec::new();
    let mut digest = ConfigDigest::new(object, &template);
    for reference in references(&template) {
        match content(cluster, namespace, &reference).await? {
            Some(content) => digest.add(&content),
            None if reference.optional => digest.add(&Value::Null),
            None => missing.push(format!("{} '{}'", word(reference.kind), reference.name)),
        }
    }
    missing.dedup();
    Ok(Config {
        digest: missing.is_empty().then(|| digest.finish()),
        template,
        missing,
        refused: None,
    })
}

/// The data of what is referred to.
async fn content(cluster: &Cluster, namespace: &str, reference: &Reference) -> Result<Option<Value>, Error> {
    let name = &reference.name;
    Ok(match reference.kind {
        Kind::ConfigMap => {
            let found: Option<ConfigMap> = cluster.get(namespace, name).await?;
            found.map(|map| json!([name, map.data, map.binary_data]))
        }
        Kind::Secret => {
            let found: Option<Secret> = cluster.get(namespace, name).await?;
            found.map(|secret| json!([name, secret.data]))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::tests::asked;

    #[test]
    fn the_digest_is_that_of_one_list() {
        let object = asked(json!({"trigger": {"strategy": "once"}, "template": {"b": 1, "a": {"d": 2, "c": 3}}}));
        let template = &object.spec.template.members();
        for contents in [
            json!([]),
            json!([["a", {"k": "v"}]]),
            json!([null, ["b", null], ["a", {}]]),
        ] {
            let mut digest = ConfigDigest::new(&object, template);
            contents.as_array().unwrap().iter().for_each(|one| digest.add(one));
            let mut sorted = Value::Object(template.clone());
            sorted.sort_all_objects();
            let list = json!(["uid-a", sorted, object.spec.output, contents]);
            assert_eq!(digest.finish(), objects::digest(&list));
        }
    }
}
