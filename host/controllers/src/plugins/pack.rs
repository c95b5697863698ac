//! The ConfigMaps that hold a plugin, as `host plugin pack` writes them. Pure.

use super::marks::{DOCUMENT, PART_OF, PLUGIN};
use boson_pipeline::{Stage, packed};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// Bytes of one part: a ConfigMap holds 1 MiB, and its description takes some of it.
const PART: usize = 960 << 10;

/// What to pack.
pub struct Packing<'a> {
    /// Name of the first ConfigMap; the others have a number appended.
    pub name: &'a str,
    /// Namespace; none: that of the user who applies them.
    pub namespace: Option<&'a str>,
    /// Stage.
    pub stage: Stage,
    /// The component, compressed or not.
    pub bytes: &'a [u8],
    /// Whether it is a zstd stream.
    pub compressed: bool,
    /// `plugin.yaml`.
    pub document: String,
}

impl Packing<'_> {
    /// Number of parts.
    pub fn parts(bytes: usize) -> usize {
        bytes.div_ceil(PART).max(1)
    }
}

/// The ConfigMaps. The one with `plugin.yaml` is last, so that all parts exist when it is applied.
pub fn pack(packing: Packing<'_>) -> Vec<ConfigMap> {
    let parts = Packing::parts(packing.bytes.len());
    let empty = packing.bytes.is_empty().then_some(packing.bytes);
    let chunks = packing.bytes.chunks(PART).chain(empty).enumerate();
    let mut maps: Vec<ConfigMap> = chunks
        .map(|(nth, chunk)| {
            let file = packed::name(nth, parts, packing.compressed);
            let binary: BTreeMap<String, ByteString> = [(file, ByteString(chunk.to_vec()))].into();
            ConfigMap {
                metadata: metadata(&packing, nth),
                binary_data: Some(binary),
                ..ConfigMap::default()
            }
        })
        .collect();
    if let Some(first) = maps.first_mut() {
        first.data = Some([(DOCUMENT.to_string(), packing.document)].into());
    }
    maps.rotate_left(1);
    maps
}

fn metadata(packing: &Packing<'_>, nth: usize) -> ObjectMeta {
    let part_of = || [(PART_OF.to_string(), packing.name.to_string())].into();
    ObjectMeta {
        name: Some(match nth {
            0 => packing.name.to_string(),
            nth => format!("{}-{nth}", packing.name),
        }),
        namespace: packing.namespace.map(str::to_string),
        labels: Some([(PLUGIN.to_string(), packing.stage.name().to_string())].into()),
        annotations: (nth > 0).then(part_of),
        ..ObjectMeta::default()
    }
}
