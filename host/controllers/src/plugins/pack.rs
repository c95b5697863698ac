//! The ConfigMaps that hold a plugin, as `host plugin pack` writes them, and as pods get components of images. Pure.

use super::marks::{DOCUMENT, PART_OF, PLUGIN, SIGNATURE};
use super::registry::Packed;
use crate::codes;
use boson_pipeline::{Diagnostic, Stage, packed};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
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
    /// The component, compressed or not; none if it is in an image.
    pub bytes: Option<&'a [u8]>,
    /// Whether it is a zstd stream.
    pub compressed: bool,
    /// `plugin.yaml`.
    pub document: String,
    /// A signature of the component, in base64.
    pub signature: Option<String>,
}

impl Packing<'_> {
    /// Number of parts.
    pub fn parts(bytes: usize) -> usize {
        bytes.div_ceil(PART).max(1)
    }
}

/// The ConfigMaps. The one with `plugin.yaml` is last, so that all parts exist when it is applied.
pub fn pack(packing: Packing<'_>) -> Vec<ConfigMap> {
    let Some(bytes) = packing.bytes else {
        return vec![ConfigMap {
            metadata: metadata(&packing, 0),
            data: Some(data(packing.document, packing.signature)),
            ..ConfigMap::default()
        }];
    };
    let parts = Packing::parts(bytes.len());
    let empty = bytes.is_empty().then_some(bytes);
    let chunks = bytes.chunks(PART).chain(empty).enumerate();
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
        first.data = Some(data(packing.document, packing.signature));
    }
    maps.rotate_left(1);
    maps
}

/// A component from an image in the form of ConfigMaps, for pods: they can pull neither from registries nor use the pull
/// Secrets of another namespace. It takes a second for a large component, so call it on a thread that may block.
///
/// # Errors
/// It is too large for ConfigMaps.
pub(super) fn for_pods(component: &[u8]) -> Result<Packed, Diagnostic> {
    let bytes = compress_to_vec(component, CompressionLevel::Fastest);
    if bytes.len() > packed::MAX_PACKED {
        let limit = packed::MAX_PACKED >> 20;
        let what = format!(
            "the component has more than {limit} MiB packed, and pods that render templates need it in ConfigMaps"
        );
        return Err(Diagnostic::error(codes::PLUGIN_TOO_LARGE, what).help("strip it of debugging information"));
    }
    let parts = Packing::parts(bytes.len());
    let named = |(nth, chunk): (usize, &[u8])| [(packed::name(nth, parts, true), chunk.to_vec())].into();
    Ok(bytes.chunks(PART).enumerate().map(named).collect())
}

fn data(document: String, signature: Option<String>) -> BTreeMap<String, String> {
    let signature = signature.map(|text| (SIGNATURE.to_string(), text));
    [(DOCUMENT.to_string(), document)]
        .into_iter()
        .chain(signature)
        .collect()
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
