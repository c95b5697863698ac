//! OCI image layouts: a directory, or an archive of one. Every blob is checked against its digest before it is used.

use super::base_error;
use boson_oci::layout::{Error, Find, Layout, MARK, MAX_DOCUMENT_BYTES, check};
use boson_oci::{Digesting, Part, Parts, Section};
use boson_pipeline::Diagnostic;
use std::path::Path;

/// Reads the layout in a directory.
pub(super) fn directory(root: &Path, name: &str) -> Result<Parts, Diagnostic> {
    if !root.join(MARK).is_file() {
        return Err(base_error(name, "is a directory without an OCI image layout")
            .help("expected a directory with `oci-layout`, an archive of an image, or its name in a registry"));
    }
    read(name, &|path| Section::open(&root.join(path)))
}

/// Reads the one image of a layout.
pub(super) fn read(name: &str, find: &Find<'_>) -> Result<Parts, Diagnostic> {
    parts(&Layout::new(find)).map_err(|error| {
        let diagnostic = base_error(name, &error.to_string());
        match error {
            Error::Damaged { .. } => diagnostic.help("it is damaged: download it again"),
            Error::Several(..) => diagnostic.help("create a layout with one image, for Linux on this architecture"),
            _ => diagnostic,
        }
    })
}

fn parts(layout: &Layout<'_>) -> Result<Parts, Error> {
    let found = layout.image()?;
    let config = layout.bytes(found.manifest.config(), MAX_DOCUMENT_BYTES)?;
    let mut layers = Vec::new();
    for layer in found.manifest.layers() {
        let content = layout.blob(layer)?;
        check(layer, Digesting::new(content.reader()))?;
        layers.push(Part {
            media_type: layer.media_type().clone(),
            digest: Some(layer.digest().clone()),
            content,
        });
    }
    Ok(Parts {
        digest: found.digest,
        config,
        layers,
    })
}
