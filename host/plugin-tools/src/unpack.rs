//! Unpacks components from ConfigMaps and pods: in parts, compressed, and with a size limit that does not rely on their
//! headers.

use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::packed::{self, COMPRESSED, MAX_COMPONENT_BYTES, MAX_PACKED_BYTES};
use ruzstd::decoding::StreamingDecoder;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::slice;

/// The component that these parts make up.
///
/// # Errors
/// It is too large, packed or unpacked, or not a zstd stream.
pub fn unpack(parts: &[Vec<u8>], compressed: bool) -> Result<Vec<u8>, Diagnostic> {
    if parts.iter().map(Vec::len).sum::<usize>() > MAX_PACKED_BYTES {
        return Err(too_large(MAX_PACKED_BYTES, " packed"));
    }
    if !compressed {
        return Ok(parts.concat());
    }
    let component = stream(parts, MAX_COMPONENT_BYTES).map_err(|why| no_stream(&why))?;
    component.ok_or_else(|| too_large(MAX_COMPONENT_BYTES, ""))
}

/// The content of a zstd stream; `None` if it has more than `bound` bytes.
///
/// # Errors
/// It is not a zstd stream: the reason.
pub fn stream(parts: &[Vec<u8>], bound: usize) -> Result<Option<Vec<u8>>, String> {
    let stream = Parts {
        part: &[],
        rest: parts.iter(),
    };
    let mut decoder = StreamingDecoder::new(stream).map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    // Read one byte more than allowed, to detect larger content.
    let most = u64::try_from(bound).unwrap_or(u64::MAX).saturating_add(1);
    let read = decoder.by_ref().take(most).read_to_end(&mut content);
    read.map_err(|error| error.to_string())?;
    Ok((content.len() <= bound).then_some(content))
}

/// The component at a path that is a directory with parts, or a compressed file. `None` if it is an uncompressed file.
///
/// # Errors
/// As [`unpack`], or it cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
    let name = path.display().to_string();
    let unreadable = |what: &str| Diagnostic::error(codes::PLUGIN_PARTS_UNREADABLE, format!("'{name}': {what}"));
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(|error| unreadable(&error.to_string()))?;
        let names: Vec<String> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect();
        let layout = packed::layout(names.iter().map(String::as_str)).map_err(|why| unreadable(&why))?;
        let mut parts = Vec::new();
        for file in &layout.files {
            parts.push(bounded(&path.join(file), MAX_PACKED_BYTES).map_err(|error| unreadable(&error.to_string()))?);
        }
        return unpack(&parts, layout.compressed).map(Some);
    }
    if !name.ends_with(COMPRESSED) {
        return Ok(None);
    }
    let part = bounded(path, MAX_PACKED_BYTES).map_err(|error| unreadable(&error.to_string()))?;
    unpack(&[part], true).map(Some)
}

/// The content of a file, cut after one byte more than `most`.
pub fn bounded(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(bound).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn too_large(bound: usize, how: &str) -> Diagnostic {
    let what = format!("the component has more than {} MiB{how}", bound >> 20);
    Diagnostic::error(boson_plugins::codes::PLUGIN_TOO_LARGE, what).help("strip it of debugging information")
}

fn no_stream(why: &str) -> Diagnostic {
    let error = Diagnostic::error(
        codes::PLUGIN_PARTS_UNREADABLE,
        format!("the component is not a zstd stream: {why}"),
    );
    error.help("compress it with `zstd`, or let `host plugin pack` do it")
}

/// Parts as one stream, without a copy of them.
struct Parts<'a> {
    /// What is left of the present one.
    part: &'a [u8],
    rest: slice::Iter<'a, Vec<u8>>,
}

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.part.is_empty() {
            let Some(next) = self.rest.next() else { return Ok(0) };
            self.part = next;
        }
        self.part.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn parts_are_one_stream_and_its_size_is_bounded() {
        let text = b"component".repeat(1000);
        let packed = compress_to_vec(text.as_slice(), CompressionLevel::Fastest);
        let parts: Vec<Vec<u8>> = packed.chunks(7).map(<[u8]>::to_vec).collect();
        assert_eq!(unpack(&parts, true).ok(), Some(text));
        // A bomb: 200 MiB of zeros in a few kilobytes.
        let bomb = compress_to_vec(std::io::repeat(0).take(200 << 20), CompressionLevel::Fastest);
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        assert_eq!(
            unpack(&[bomb], true).map_err(|error| error.code).err().as_deref(),
            Some("plugin-too-large")
        );
        let broken = unpack(&[b"no stream".to_vec()], true).map_err(|error| error.code);
        assert_eq!(broken.err().as_deref(), Some("plugin-parts-unreadable"));
    }
}
