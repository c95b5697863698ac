//! The ConfigMaps that hold a plugin, as `host plugin pack` writes them, and as pods get components of images. Pure.

use super::marks::{ATTESTATION, DOCUMENT, PART_OF, PLUGIN, SIGNATURE};
use super::registry::Packed;
use crate::codes;
use boson_pipeline::{Diagnostic, Stage, packed};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::collections::BTreeMap;

/// Bytes of one part: a ConfigMap holds 1 MiB, and its description takes some of it.
const MAX_PART_BYTES: usize = 960 << 10;

pub struct Packing<'a> {
    /// Name of the first ConfigMap; the others have a number appended.
    pub name: &'a str,
    /// Namespace; none: that of the user who applies them.
    pub namespace: Option<&'a str>,
    pub stage: Stage,
    /// The component, compressed or not; none if it is in an image.
    pub bytes: Option<&'a [u8]>,
    /// Whether it is a zstd stream.
    pub compressed: bool,
    pub document: String,
    /// A signature of the component, in base64.
    pub signature: Option<String>,
    /// An attestation of the component: an envelope or a bundle.
    pub attestation: Option<String>,
    /// The file with its cases, of at most [`packed::MAX_PACKED_CASES_BYTES`] bytes.
    pub cases: Option<Vec<u8>>,
}

/// Number of parts of a component that is packed with a file of cases.
pub fn parts(bytes: usize, cases: Option<&[u8]>) -> usize {
    1 + bytes.saturating_sub(first(cases)).div_ceil(MAX_PART_BYTES)
}

/// Bytes of the first part, which shares its ConfigMap with the cases.
fn first(cases: Option<&[u8]>) -> usize {
    MAX_PART_BYTES.saturating_sub(cases.map_or(0, <[u8]>::len))
}

/// The ConfigMaps. The one with `plugin.yaml` is last, so that all parts exist when it is applied.
pub fn pack(mut packing: Packing<'_>) -> Vec<ConfigMap> {
    let cases = packing.cases.as_deref();
    let bytes = packing.bytes.unwrap_or_default();
    let parts = parts(bytes.len(), cases);
    let (begin, rest) = bytes.split_at(first(cases).min(bytes.len()));
    let chunks = std::iter::once(begin).chain(rest.chunks(MAX_PART_BYTES)).enumerate();
    let mut maps: Vec<ConfigMap> = chunks
        .map(|(nth, chunk)| {
            let name = packed::name(nth, parts, packing.compressed);
            let file = packing.bytes.map(|_| (name, ByteString(chunk.to_vec())));
            ConfigMap {
                metadata: metadata(&packing, nth),
                binary_data: file.map(|file| [file].into()),
                ..ConfigMap::default()
            }
        })
        .collect();
    if let Some(first) = maps.first_mut() {
        if let Some(cases) = packing.cases.take() {
            let files = first.binary_data.get_or_insert_default();
            files.insert(packed::CASES.to_string(), ByteString(cases));
        }
        first.data = Some(data(packing));
    }
    maps.rotate_left(1);
    maps
}

/// A component from an image in the form of ConfigMaps, for pods: they can pull neither from registries nor use the
/// pull Secrets of another namespace. It takes a second for a large component, so call it on a thread that may block.
///
/// # Errors
/// It is too large for ConfigMaps.
pub(super) fn for_pods(component: &[u8]) -> Result<Packed, Diagnostic> {
    let bytes = compress_to_vec(component, CompressionLevel::Fastest);
    if bytes.len() > packed::MAX_PACKED_BYTES {
        let limit = packed::MAX_PACKED_BYTES >> 20;
        let what = format!(
            "the component has more than {limit} MiB packed, and pods that render templates need it in ConfigMaps"
        );
        return Err(Diagnostic::error(codes::PLUGIN_TOO_LARGE, what).help("strip it of debugging information"));
    }
    let count = parts(bytes.len(), None);
    let named = |(nth, chunk): (usize, &[u8])| [(packed::name(nth, count, true), chunk.to_vec())].into();
    Ok(bytes.chunks(MAX_PART_BYTES).enumerate().map(named).collect())
}

/// The texts in the first ConfigMap.
fn data(packing: Packing<'_>) -> BTreeMap<String, String> {
    let signature = packing.signature.map(|text| (SIGNATURE.to_string(), text));
    let attestation = packing.attestation.map(|text| (ATTESTATION.to_string(), text));
    [(DOCUMENT.to_string(), packing.document)]
        .into_iter()
        .chain(signature)
        .chain(attestation)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8], cases: Option<Vec<u8>>) -> Vec<ConfigMap> {
        pack(Packing {
            name: "p",
            namespace: None,
            stage: Stage::Ops,
            bytes: Some(bytes),
            compressed: true,
            document: "name: p\n".into(),
            signature: None,
            attestation: None,
            cases,
        })
    }

    #[test]
    fn every_config_map_has_room_for_its_part_and_the_first_for_the_cases() {
        let cases = vec![7; packed::MAX_PACKED_CASES_BYTES];
        for (size, with_cases, wanted) in [
            (0, false, 1),
            (MAX_PART_BYTES, false, 1),
            (MAX_PART_BYTES + 1, false, 2),
            (MAX_PART_BYTES - packed::MAX_PACKED_CASES_BYTES, true, 1),
            (MAX_PART_BYTES, true, 2),
        ] {
            let cases = with_cases.then(|| cases.clone());
            assert_eq!(parts(size, cases.as_deref()), wanted, "{size}");
            let maps = packed(&vec![1; size], cases);
            assert_eq!(maps.len(), wanted, "{size}");
            let first = maps.last().unwrap();
            assert!(first.data.is_some(), "the one with plugin.yaml is last");
            let files = first.binary_data.as_ref().unwrap();
            assert_eq!(files.contains_key(packed::CASES), with_cases);
            let size =
                |map: &ConfigMap| -> usize { map.binary_data.iter().flatten().map(|(_, file)| file.0.len()).sum() };
            assert!(maps.iter().all(|map| size(map) <= MAX_PART_BYTES));
        }
    }
}
