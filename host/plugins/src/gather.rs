//! Reads a plugin from its ConfigMaps. Pure except for the calls that fetch them.

use super::document::{self, PluginDocument};
use super::error::LoadError;
use super::marks::{ATTESTATION, DOCUMENT, IMAGE, PLUGIN, SIGNATURE, STOPPED};
use super::registry::{Key, Packed, Plugin};
use crate::codes;
use crate::host::Content;
use boson_cluster::client::{Cluster, Error, FieldManager};
use boson_cluster::objects;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml;
use boson_pipeline::{Diagnostic, Stage, packed};
use boson_signatures::Signed;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use std::collections::BTreeMap;

/// Who owns the annotations, records and copies.
pub(super) const MANAGER: FieldManager = FieldManager("boson-plugins");

/// The first ConfigMap of a plugin, read.
pub(super) struct Described {
    /// Its `plugin.yaml`, or what is wrong with it.
    pub document: Result<PluginDocument, Vec<Diagnostic>>,
    /// For the positions of diagnostics.
    pub sources: Sources,
    /// Digest of the content: a component in other ConfigMaps has its own digest in it.
    pub identity: String,
    map: ConfigMap,
}

pub(super) struct Gathered {
    pub content: Content,
    /// In the form of the ConfigMaps.
    pub packed: Packed,
}

// === impl Described ===

impl Described {
    /// The image with the digest that its tag was resolved to.
    pub(super) fn record(&self) -> Option<&str> {
        self.annotation(IMAGE)
    }

    /// Why it was stopped as a canary, if its content has not changed since.
    pub(super) fn stopped(&self) -> Option<&str> {
        let is_canary = self.document.as_ref().is_ok_and(|document| document.canary.is_some());
        let (identity, why) = self.annotation(STOPPED).filter(|_| is_canary)?.split_once(' ')?;
        (identity == self.identity).then_some(why)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.map.annotations().get(key).map(String::as_str)
    }

    /// Records what the tag of its image was resolved to, unless the ConfigMap has changed since it was read.
    pub(super) async fn write_record(&self, cluster: &Cluster, image: &str) -> Result<(), Error> {
        annotate(cluster, &self.map, IMAGE, image).await
    }

    /// The signature and the attestation of the component.
    pub(super) fn signed(&self) -> Signed {
        let file = |name: &str| self.map.data.as_ref()?.get(name).cloned();
        Signed {
            component: file(SIGNATURE),
            statement: file(ATTESTATION),
            ..Signed::default()
        }
    }

    /// The file with its cases. Beside `plugin.yaml`: one update of an object changes both, and they always belong
    /// together.
    pub(super) fn cases(&self) -> Option<Vec<u8>> {
        let file = self.map.binary_data.as_ref()?.get(packed::CASES)?;
        Some(file.0.clone())
    }

    /// Whether it holds a component, too.
    fn has_component(&self) -> bool {
        let files = self.map.binary_data.iter().flatten();
        files.map(|(name, _)| name).any(|name| packed::part(name).is_some())
    }
}

/// Sets an annotation of a ConfigMap, unless it has changed since it was read.
pub(super) async fn annotate(cluster: &Cluster, map: &ConfigMap, key: &str, value: &str) -> Result<(), Error> {
    let annotation = serde_json::json!({"metadata": {"annotations": {key: value}}});
    cluster.merge(MANAGER, map, annotation).await.map(drop)
}

/// Reads the first ConfigMap; none if it was deleted.
pub(super) async fn describe(cluster: &Cluster, key: &Key, plugin: &Plugin) -> Result<Option<Described>, Error> {
    let map: Option<ConfigMap> = cluster.get(&key.namespace, &key.name).await?;
    Ok(map.map(|map| described(map, key, plugin)))
}

/// The first ConfigMap, read.
pub(super) fn described(map: ConfigMap, key: &Key, plugin: &Plugin) -> Described {
    let mut sources = Sources::default();
    let document = match Stage::named(&plugin.label) {
        Some(stage) => read(&map, key, stage, &mut sources),
        None => {
            let names = Stage::ALL.map(Stage::name);
            let what = format!("unknown stage '{}' in the label {PLUGIN}", plugin.label);
            let error = Diagnostic::error(codes::PLUGIN_STAGE, what).help(format!("use one of {}", names.join(", ")));
            Err(vec![error.suggest(&plugin.label, names)])
        }
    };
    let mut described = Described {
        document,
        sources,
        identity: identity(&map),
        map,
    };
    let in_both = matches!(&described.document, Ok(document) if document.image.is_some() && described.has_component());
    if in_both {
        let what = "the component is in an image and in the ConfigMap";
        let help = "keep either `image` in plugin.yaml or the component in binaryData";
        described.document = Err(vec![Diagnostic::error(codes::PLUGIN_PARTS, what).help(help)]);
    }
    described
}

/// Digest of the content of a plugin's first ConfigMap: its description, which has the digest of the component, and its
/// cases.
pub(super) fn identity(map: &ConfigMap) -> String {
    let cases = map.binary_data.as_ref().and_then(|files| files.get(packed::CASES));
    objects::digest(&serde_json::json!([map.data, cases]))
}

fn read(map: &ConfigMap, key: &Key, stage: Stage, sources: &mut Sources) -> Result<PluginDocument, Vec<Diagnostic>> {
    let Some(text) = map.data.as_ref().and_then(|data| data.get(DOCUMENT)) else {
        let error = Diagnostic::error(
            codes::PLUGIN_NO_DOCUMENT,
            format!("there is no key '{DOCUMENT}' in its data"),
        );
        return Err(vec![error.help("run `host plugin pack` to write the ConfigMap")]);
    };
    let name = format!("configmap/{}/{DOCUMENT}", key.name);
    let parsed = yaml::read(&name, text)?;
    sources.add_document(parsed.clone(), false);
    document::read(&parsed, stage)
}

pub(super) async fn gather(
    cluster: &Cluster,
    key: &Key,
    plugin: &Plugin,
    described: Described,
    parts: Option<usize>,
) -> Result<Gathered, LoadError> {
    let mut maps = vec![files(described.map)];
    for name in &plugin.more {
        let map: Option<ConfigMap> = cluster.get(&key.namespace, name).await?;
        maps.push(map.map(files).unwrap_or_default());
        let size: usize = maps.iter().flat_map(BTreeMap::values).map(Vec::len).sum();
        if size > packed::MAX_PACKED_BYTES {
            let what = format!(
                "its parts have more than {} MiB together",
                packed::MAX_PACKED_BYTES >> 20
            );
            let error = Diagnostic::error(codes::PLUGIN_TOO_LARGE, what);
            return Err(error.help("compress it with zstd").into());
        }
    }
    Ok(put_together(maps, parts)?)
}

/// The files of the component in a ConfigMap.
fn files(map: ConfigMap) -> BTreeMap<String, Vec<u8>> {
    let binary = map.binary_data.unwrap_or_default().into_iter();
    binary
        .filter(|(name, _)| packed::part(name).is_some())
        .map(|(name, bytes)| (name, bytes.0))
        .collect()
}

fn put_together(maps: Packed, parts: Option<usize>) -> Result<Gathered, Diagnostic> {
    let incomplete = |what: String| {
        Diagnostic::error(codes::PLUGIN_PARTS, what)
            .help("put the component into `binaryData`, whole or in numbered parts; ConfigMaps with further parts name the first one in an annotation")
    };
    let names = maps.iter().flat_map(BTreeMap::keys).map(String::as_str);
    let layout = packed::layout(names).map_err(incomplete)?;
    if let Some(wanted) = parts.filter(|wanted| *wanted != layout.files.len()) {
        return Err(incomplete(format!("{} of {wanted} parts exist", layout.files.len())));
    }
    let all: BTreeMap<&String, &Vec<u8>> = maps.iter().flatten().collect();
    let parts = layout
        .files
        .iter()
        .filter_map(|file| all.get(file).map(|bytes| (*bytes).clone()));
    Ok(Gathered {
        content: Content::Packed {
            parts: parts.collect(),
            compressed: layout.compressed,
        },
        packed: maps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::ByteString;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    fn map(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        let binary = files
            .iter()
            .map(|(name, text)| ((*name).to_string(), ByteString(text.as_bytes().to_vec())));
        super::files(ConfigMap {
            binary_data: Some(binary.collect()),
            ..ConfigMap::default()
        })
    }

    #[test]
    fn the_record_of_a_stop_counts_for_the_content_that_was_stopped() {
        let described = |canary: &str, record: Option<String>| {
            let document = format!("name: p\ndigest: sha256:{}\n{canary}", "a1".repeat(32));
            let map = ConfigMap {
                metadata: ObjectMeta {
                    annotations: record.map(|record| [(STOPPED.to_string(), record)].into()),
                    ..ObjectMeta::default()
                },
                data: Some([(DOCUMENT.to_string(), document)].into()),
                ..ConfigMap::default()
            };
            let key = Key {
                namespace: "here".into(),
                name: "p".into(),
            };
            let plugin = Plugin {
                label: "resources".into(),
                ..Plugin::default()
            };
            described(map, &key, &plugin)
        };
        let canary = "canary: {percent: 10}\n";
        let record = format!("{} it failed", described(canary, None).identity);
        assert_eq!(described(canary, None).stopped(), None);
        assert_eq!(described(canary, Some(record.clone())).stopped(), Some("it failed"));
        assert_eq!(described("canary: {percent: 20}\n", Some(record)).stopped(), None);
        let record = format!("{} it failed", described("", None).identity);
        assert_eq!(described("", Some(record)).stopped(), None, "no canary");
    }

    #[test]
    fn parts_of_several_config_maps_are_one_component() {
        let maps = vec![
            map(&[("plugin.wasm.0", "a"), ("readme", "x")]),
            map(&[("plugin.wasm.2", "c"), ("plugin.wasm.1", "b")]),
        ];
        let gathered = put_together(maps.clone(), Some(3)).unwrap();
        let Content::Packed { parts, compressed } = gathered.content else {
            unreachable!("of ConfigMaps")
        };
        assert_eq!((parts.concat().as_slice(), compressed), (b"abc".as_slice(), false));
        let error = put_together(maps, Some(4)).map(drop).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("plugin-parts", "3 of 4 parts exist")
        );
        assert_eq!(
            put_together(vec![map(&[])], None).map(drop).unwrap_err().code,
            "plugin-parts"
        );
    }
}
