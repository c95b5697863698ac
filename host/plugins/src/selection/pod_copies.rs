//! Copies of plugins for pods, which render templates again with the plugins of the conversion. A pod can mount only
//! ConfigMaps of its own namespace, so the operator creates copies there. They are immutable and named by their
//! content, so pods of an older version keep theirs. Pure.

use super::Pick;
use crate::marks::{COPY, with_suffix};
use boson_cluster::objects;
use boson_document::json;
use boson_manifest::labels;
use boson_oci::Digest;
use boson_pipeline::Stage;
use boson_pipeline::convert::pod_plugins::{PodPlugin, SETTINGS_FILE};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::BTreeMap;

/// The copies that the pods of a deployment need.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// To be created before the pods.
    pub maps: Vec<ConfigMap>,
    /// To be mounted by the pods.
    pub plugins: Vec<PodPlugin>,
}

/// The copies of what a deployment uses in these stages, of those that pods may run.
pub fn copies(picks: &[Pick], stages: &[Stage], namespace: &str, deployment: &str, owner: &OwnerReference) -> Copies {
    let mut copies = Copies::default();
    for pick in picks.iter().filter(|pick| stages.contains(&pick.chosen.stage)) {
        let chosen = &pick.chosen;
        let settings = json::to_text(&chosen.settings.tree);
        let component = chosen.digest.as_ref().map(Digest::digest);
        let digest = objects::digest(&serde_json::json!([component, settings]));
        let suffix = |nth: usize| format!(".plugin-{}-{}-{nth}", chosen.stage, &digest[..16]);
        let map = |nth: usize| ConfigMap {
            metadata: ObjectMeta {
                name: Some(with_suffix(deployment, &suffix(nth))),
                namespace: Some(namespace.into()),
                labels: Some(
                    [(labels::DEPLOYMENT_NAME, deployment), (COPY, "true")]
                        .map(|(key, value)| (key.to_string(), value.to_string()))
                        .into(),
                ),
                owner_references: Some(vec![owner.clone()]),
                ..ObjectMeta::default()
            },
            immutable: Some(true),
            ..ConfigMap::default()
        };
        let mut maps = vec![ConfigMap {
            data: Some([(SETTINGS_FILE.to_string(), settings.clone())].into()),
            ..map(0)
        }];
        for (nth, files) in (1..).zip(pick.packed.iter().flat_map(|packed| packed.iter())) {
            let binary: BTreeMap<String, ByteString> = files
                .iter()
                .map(|(name, bytes)| (name.clone(), ByteString(bytes.clone())))
                .collect();
            maps.push(ConfigMap {
                binary_data: Some(binary),
                ..map(nth)
            });
        }
        copies.plugins.push(PodPlugin {
            stage: chosen.stage,
            name: chosen.name.clone(),
            nth: copies.plugins.iter().filter(|one| one.stage == chosen.stage).count(),
            config_maps: maps.iter().filter_map(|map| map.metadata.name.clone()).collect(),
            component: pick.packed.is_some(),
            groups: chosen.groups.clone(),
        });
        copies.maps.extend(maps);
    }
    copies
}

/// Whether the deployment no longer mounts a copy. Older workloads may still mount it.
pub fn is_unused(copy: &ConfigMap, copies: &Copies) -> bool {
    !copies.maps.iter().any(|map| map.metadata.name == copy.metadata.name)
}
