//! Large texts in a Secret: compressed with gzip above a threshold, and marked by an annotation
//! ([`boson_manifest::labels::ENCODING`]). The same texts give the same bytes, so that unchanged Secrets are not
//! rewritten.
//!
//! A compressed value can also be recognized without the annotation, as a file in a pod must be: no text begins with
//! the two bytes of gzip.

use crate::bundle::limits::MAX_DATA_BYTES;
use crate::yaml::MAX_DOCUMENT_BYTES;
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::borrow::Cow;
use std::io::{Read, Write};

/// Value of the annotation of a Secret whose large values are compressed.
pub const GZIP: &str = "gzip";
/// Limit up to which the values of a Secret, together, are not compressed, in bytes.
pub const COMPRESSION_THRESHOLD_BYTES: usize = 256 << 10;
/// Limit up to which a single value is not compressed, in any Secret, in bytes: short values such as numbers of
/// instances become environment variables of containers.
pub const MAX_SHORT_VALUE_BYTES: usize = 1 << 10;
/// Limit on an unpacked value, in bytes; the same as for a YAML document. A few bytes can unpack to gigabytes.
pub const MAX_UNPACKED_BYTES: usize = MAX_DOCUMENT_BYTES;

/// The first two bytes of gzip files. The second begins no character of UTF-8.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Fixed instead of zlib's default: the level affects the bytes.
const COMPRESSION_LEVEL: u32 = 6;

/// The values do not fit into a Secret. `size`: bytes of all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretSizeError {
    /// Also when compressed.
    #[error("it would have {size} bytes, {packed} when compressed, but a Secret may have at most {MAX_DATA_BYTES}")]
    Packed { size: usize, packed: usize },
    /// One value is too large to be read again.
    #[error("it would have {size} bytes, and one value at most {MAX_UNPACKED_BYTES} before it is compressed")]
    Unpacked { size: usize },
}

/// A value is not a complete gzip file, or unpacks to more than [`MAX_UNPACKED_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackError;

/// Compresses the values of one Secret if they have more than [`COMPRESSION_THRESHOLD_BYTES`] bytes together. Returns
/// whether it did: then the Secret needs the annotation.
///
/// # Errors
/// They do not fit into a Secret even when compressed; some may be compressed then.
pub fn pack<'v>(values: impl IntoIterator<Item = &'v mut Vec<u8>>) -> Result<bool, SecretSizeError> {
    let mut values: Vec<&mut Vec<u8>> = values.into_iter().collect();
    let size = values.iter().map(|value| value.len()).sum();
    if size <= COMPRESSION_THRESHOLD_BYTES {
        return Ok(false);
    }
    if values.iter().any(|value| value.len() > MAX_UNPACKED_BYTES) {
        return Err(SecretSizeError::Unpacked { size });
    }
    let mut packed = false;
    for value in values.iter_mut().filter(|value| value.len() > MAX_SHORT_VALUE_BYTES) {
        if let Some(compressed) = compress(value) {
            **value = compressed;
            packed = true;
        }
    }
    match values.iter().map(|value| value.len()).sum() {
        fits if fits <= MAX_DATA_BYTES => Ok(packed),
        now => Err(SecretSizeError::Packed { size, packed: now }),
    }
}

/// A value as it was before [`pack`].
///
/// # Errors
/// See [`UnpackError`].
pub fn unpack(value: &[u8]) -> Result<Cow<'_, [u8]>, UnpackError> {
    if !is_packed(value) {
        return Ok(Cow::Borrowed(value));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_UNPACKED_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = GzDecoder::new(value).take(limit).read_to_end(&mut bytes);
    match read {
        Ok(length) if length <= MAX_UNPACKED_BYTES => Ok(Cow::Owned(bytes)),
        _ => Err(UnpackError),
    }
}

pub fn is_packed(value: &[u8]) -> bool {
    value.starts_with(&GZIP_MAGIC)
}

/// Whether two values hold the same text: two versions of this program may compress it to different bytes.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    let packed = is_packed(one) || is_packed(other);
    one == other || packed && matches!((unpack(one), unpack(other)), (Ok(one), Ok(other)) if one == other)
}

/// No time, file name or system: only the content determines the bytes. Writing to a vector does not fail, so there is
/// always a result.
pub(crate) fn compress(value: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::new(COMPRESSION_LEVEL));
    encoder.write_all(value).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Vec<u8> {
        (0..)
            .flat_map(|n: u64| format!("line {n}\n").into_bytes())
            .take(bytes)
            .collect()
    }

    /// Bytes that gzip cannot make smaller.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        std::iter::repeat_with(next).take(bytes).collect()
    }

    #[test]
    fn values_up_to_the_threshold_stay_as_they_are() {
        let mut values = [text(COMPRESSION_THRESHOLD_BYTES - 3), b"abc".to_vec()];
        let before = values.clone();
        assert_eq!(pack(&mut values), Ok(false));
        assert_eq!(values, before);
    }

    #[test]
    fn above_it_large_values_are_compressed_and_short_ones_are_not() {
        let before = [
            text(COMPRESSION_THRESHOLD_BYTES),
            b"3".to_vec(),
            text(MAX_SHORT_VALUE_BYTES),
        ];
        let (mut values, mut again) = (before.clone(), before.clone());
        assert_eq!(pack(&mut values), Ok(true));
        assert_eq!(pack(&mut again), Ok(true));
        assert_eq!(values, again, "the same bytes each time");
        assert!(is_packed(&values[0]) && values[0].len() < COMPRESSION_THRESHOLD_BYTES / 3);
        assert_eq!(values[1..], before[1..]);
        assert_eq!(&values[0][4..10], [0, 0, 0, 0, 0, 255], "no time, no system");
        for (packed, plain) in values.iter().zip(&before) {
            assert_eq!(*unpack(packed).unwrap(), **plain);
            assert!(is_same(packed, plain));
        }
        assert!(!is_same(&values[0], &before[1]));
    }

    #[test]
    fn a_secret_that_does_not_fit_compressed_is_reported_with_both_sizes() {
        let error = pack([&mut noise(MAX_DATA_BYTES + 1)]).unwrap_err();
        let SecretSizeError::Packed { size, packed } = error else {
            panic!("{error:?}")
        };
        assert!(size == MAX_DATA_BYTES + 1 && packed > MAX_DATA_BYTES, "{error:?}");
        assert!(error.to_string().contains("1048577 bytes"), "{error}");
        let error = pack([&mut vec![b'x'; MAX_UNPACKED_BYTES + 1]]).unwrap_err();
        assert!(matches!(error, SecretSizeError::Unpacked { .. }), "{error:?}");
    }

    #[test]
    fn a_value_that_is_damaged_or_unpacks_to_too_much_is_refused() {
        let mut values = [text(COMPRESSION_THRESHOLD_BYTES + 1)];
        pack(&mut values).unwrap();
        assert_eq!(unpack(&values[0][..values[0].len() - 9]), Err(UnpackError));
        assert_eq!(unpack(&GZIP_MAGIC), Err(UnpackError));
        let bomb = compress(&vec![0; MAX_UNPACKED_BYTES + 1]).unwrap();
        assert_eq!(unpack(&bomb), Err(UnpackError));
        assert!(!is_same(&bomb, &bomb[1..]));
    }
}
