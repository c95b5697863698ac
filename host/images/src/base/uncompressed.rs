//! Layers that are not compressed, as in archives of `docker save`. Registries would have to store them as large as
//! they are. Compressing a stemcell takes longer than the rest of a build, so the result is kept.

use crate::gzip::Pool;
use crate::layer::compress;
use boson_oci::{Digest, Layer, MediaType, Section, parse_hex_digest};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

const SUFFIX: &str = ".tar.gz";

/// A layer with this content, from the directory `place` or, the first time, compressed. `None`: the content does not
/// have this digest.
pub(super) fn compressed(content: &Section, diff_id: &Digest, place: &Path, pool: &Pool) -> io::Result<Option<Layer>> {
    let beginning = format!("{}-", diff_id.digest());
    if let Some(kept) = kept(place, &beginning, diff_id) {
        return Ok(Some(kept));
    }
    let made = compress(content.reader(), place, pool)?;
    if made.diff_id != *diff_id {
        return Ok(None);
    }
    let mut file = NamedTempFile::new_in(place)?;
    io::copy(&mut made.content.reader(), &mut file)?;
    let name = format!("{beginning}{}{SUFFIX}", made.digest.digest());
    file.persist(place.join(name)).map_err(|error| error.error)?;
    Ok(Some(made))
}

/// The layer whose file has a name with this beginning, unless the file is damaged.
fn kept(place: &Path, beginning: &str, diff_id: &Digest) -> Option<Layer> {
    let names = place.read_dir().ok()?.flatten().map(|entry| entry.file_name());
    names.into_iter().find_map(|name| {
        let digest = name.to_str()?.strip_prefix(beginning)?.strip_suffix(SUFFIX)?;
        let digest = parse_hex_digest(digest)?;
        let content = Section::open(&place.join(&name)).ok()?;
        (content.digest().ok()? == digest).then(|| Layer {
            media_type: MediaType::ImageLayerGzip,
            digest,
            diff_id: diff_id.clone(),
            content,
        })
    })
}
