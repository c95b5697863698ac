//! Components in files: an OCI image layout in a directory or in a tar, as `host plugin push --archive`, `skopeo` and
//! `oras` write them, for clusters without a connection.

use crate::artifact::Artifact;
use crate::codes;
use crate::error::Error;
use boson_oci::layout::{self, INDEX, Layout, MARK};
use boson_oci::{Document, Section};
use boson_pipeline::Diagnostic;
use boson_pipeline::packed::MAX_COMPONENT_BYTES;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most files of an archive that are read.
const MAX_FILES: usize = 4096;

/// Whether a directory is an image layout.
pub fn is_layout(path: &Path) -> bool {
    path.join(MARK).is_file() && path.join(INDEX).is_file()
}

/// The component of the only image in a layout; its digest is checked. It blocks.
///
/// # Errors
/// `plugin-image-format`: there is no image with a component, or it is damaged. `plugin-image-archive`: a file cannot
/// be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let explain = |error: Error| error.explain_component(&path.display().to_string());
    let failed = |error: layout::Error| match error {
        layout::Error::Unreadable(file, error) if error.kind() == ErrorKind::NotFound && file == INDEX => explain(
            Error::Format("is not an image layout", "write it with `host plugin push --archive`"),
        ),
        layout::Error::Unreadable(_, error) if error.kind() != ErrorKind::NotFound => archive_error(path, &error),
        _ => explain(Error::Format("is incomplete or damaged", "write it again")),
    };
    let files = if path.is_dir() {
        BTreeMap::new()
    } else {
        files(path).map_err(|error| archive_error(path, &error))?
    };
    let find = |name: &str| match files.get(Path::new(name)) {
        Some(section) => Ok(section.clone()),
        None if path.is_dir() => Section::open(&path.join(name)),
        None => Err(ErrorKind::NotFound.into()),
    };
    let layout = Layout::new(&find);
    let mut document = Document::Index(layout.index().map_err(failed)?);
    // The layout's own index, an index in it, and the manifest.
    for _ in 0..3 {
        match Artifact::of(&document).map_err(explain)? {
            Artifact::Index(entry) => document = layout.document(&entry).map_err(failed)?,
            Artifact::Component(layer) => return layout.bytes(&layer, MAX_COMPONENT_BYTES as u64).map_err(failed),
        }
    }
    Err(explain(Error::Format("is an index of indexes", "copy only the image")))
}

/// The files in a tar, by their paths.
fn files(path: &Path) -> io::Result<BTreeMap<PathBuf, Section>> {
    let file = Arc::new(File::open(path)?);
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(&*file).entries_with_seek()?.take(MAX_FILES) {
        let entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = entry.path()?;
            let path = path.strip_prefix(".").unwrap_or(&path).to_path_buf();
            let content = Section::new(file.clone(), entry.raw_file_position(), entry.size());
            files.entry(path).or_insert(content);
        }
    }
    Ok(files)
}

fn archive_error(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("'{}' cannot be read as an archive of a plugin: {error}", path.display());
    Diagnostic::error(codes::PLUGIN_IMAGE_ARCHIVE, message).help("write it with `host plugin push --archive`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_oci::{Blob, Image, Layer, MediaType, digest};
    use std::io::Write;

    const COMPONENT: &[u8] = b"\0asm a component";

    /// Writes an archive whose layer has this content, whatever its digest says.
    fn write(file: &Path, content: &[u8]) {
        let mut layer = tempfile::tempfile().unwrap();
        layer.write_all(content).unwrap();
        let layer = Layer {
            media_type: MediaType::from("application/wasm"),
            digest: digest(COMPONENT),
            diff_id: digest(COMPONENT),
            content: Section::of(layer).unwrap(),
        };
        let config = Blob::json("application/vnd.wasm.config.v0+json".into(), &serde_json::json!({}));
        boson_oci::archive(&Image::new("r.example/p:1", config, vec![layer]), file).unwrap();
    }

    #[test]
    fn archive_and_directory_hold_the_same_component() {
        let scratch = tempfile::tempdir().unwrap();
        let (file, directory) = (scratch.path().join("p.tar"), scratch.path().join("p"));
        write(&file, COMPONENT);
        tar::Archive::new(File::open(&file).unwrap())
            .unpack(&directory)
            .unwrap();
        assert!(is_layout(&directory) && !is_layout(scratch.path()));
        assert_eq!(read(&file).unwrap(), COMPONENT);
        assert_eq!(read(&directory).unwrap(), COMPONENT);
    }

    #[test]
    fn what_is_damaged_or_no_layout_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("p.tar");
        let error = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read(&file).unwrap_err()
        };
        write(&file, b"\0asm something else");
        let evil = read(&file).unwrap_err();
        assert!(evil.message.contains("is incomplete or damaged"), "{evil:?}");
        let empty = tar::Builder::new(Vec::new()).into_inner().unwrap();
        assert_eq!(error(&empty).code, "plugin-image-format");
        assert_eq!(error(&[b'x'; 600]).code, "plugin-image-archive");
        assert_eq!(
            read(&scratch.path().join("none")).unwrap_err().code,
            "plugin-image-archive"
        );
    }
}
