//! Everything about a version of a plugin that has to be approved. Pure.

use super::super::document::PluginDocument;
use boson_api::{ApprovedVersion, OnFailure};
use boson_document::{Tree, json};
use boson_oci::Digest;
use boson_pipeline::Stage;

/// The version that this `plugin.yaml` describes; `record`: the image that its tag was resolved to. None if it names an
/// image without a digest that was not resolved yet.
pub fn version(document: &PluginDocument, record: Option<&str>) -> Option<ApprovedVersion> {
    let component = match &document.image {
        // The digest of the image fixes every byte of the component, and is known before the image is pulled.
        Some(source) => source.pinned(record)?.split_once('@')?.1.to_string(),
        None => document.digest.as_ref()?.to_string(),
    };
    let settings = document.settings.as_object().into_iter().flatten();
    Some(ApprovedVersion {
        name: document.name.clone(),
        stage: document.stage,
        component,
        // A stage without a rule has nothing to wrap.
        wraps: document.wraps && Stage::has_rule(document.stage),
        order: document.order,
        enforce: document.policy.is_enforced,
        on_failure: if document.policy.is_optional {
            OnFailure::Skip
        } else {
            OnFailure::Fail
        },
        settings: settings.map(|(key, value)| (key.clone(), of_setting(value))).collect(),
        namespaces: document.selector.namespaces.as_deref().map(sorted),
        deployments: document.selector.deployments.as_deref().map(sorted),
        instance_groups: document.selector.instance_groups.as_deref().map(sorted),
    })
}

/// The digest of everything that is approved: a user confirms with it what they have read.
pub fn digest(version: &ApprovedVersion) -> Digest {
    // Never fails: it has only texts and numbers.
    boson_oci::digest(&serde_json::to_vec(version).unwrap_or_default())
}

/// The value of a setting, only as a digest: more users may read approvals than plugins.
fn of_setting(value: &Tree) -> String {
    boson_oci::digest(json::to_text(value).as_bytes()).to_string()
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    names
}
