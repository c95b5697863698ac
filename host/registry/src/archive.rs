//! Components in files: an OCI image layout in a directory or in a tar, as `host plugin push --archive`, `skopeo` and
//! `oras` write them, for clusters without a connection.

use crate::artifact::Artifact;
use crate::codes;
use crate::error::Error;
use boson_pipeline::Diagnostic;
use boson_pipeline::packed::MAX_COMPONENT_BYTES;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest index or manifest, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 4 << 20;
/// The index of a layout.
const INDEX: &str = "index.json";
/// The file that marks a layout.
const MARK: &str = "oci-layout";

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
    let name = path.display().to_string();
    let explain = |failure: Error| failure.explain_component(&name);
    let blob = |digest: &str, most: u64| {
        let file = boson_oci::path(digest);
        let bytes = entry(path, &file, most).map_err(|error| unreadable(path, &error))?;
        let bytes = bytes.filter(|bytes| boson_oci::digest(bytes) == digest);
        bytes.ok_or_else(|| explain(Error::Format("is incomplete or damaged", "write it again")))
    };
    let index = entry(path, INDEX, MAX_DOCUMENT_BYTES).map_err(|error| unreadable(path, &error))?;
    let mut body = index.ok_or_else(|| {
        explain(Error::Format(
            "is not an image layout",
            "write it with `host plugin push --archive`",
        ))
    })?;
    // The layout's own index, an index in it, and the manifest.
    for _ in 0..3 {
        match Artifact::read(&body).map_err(explain)? {
            Artifact::Index(digest) => body = blob(&digest, MAX_DOCUMENT_BYTES)?,
            Artifact::Component(layer) => return blob(&layer.digest, MAX_COMPONENT_BYTES as u64),
        }
    }
    Err(explain(Error::Format("is an index of indexes", "copy only the image")))
}

/// A file of the layout; `None` if it does not exist or is larger.
fn entry(layout: &Path, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
    if layout.is_dir() {
        return match File::open(layout.join(name)) {
            Ok(file) => bounded(file, most),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
    }
    let mut archive = tar::Archive::new(io::BufReader::new(File::open(layout)?));
    for file in archive.entries()? {
        let file = file?;
        let path = file.path()?;
        let is_it = path.strip_prefix(".").unwrap_or(&path) == Path::new(name);
        if is_it && file.header().entry_type().is_file() {
            return bounded(file, most);
        }
    }
    Ok(None)
}

fn bounded(file: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("'{}' cannot be read as an archive of a plugin: {error}", path.display());
    Diagnostic::error(codes::PLUGIN_IMAGE_ARCHIVE, message).help("write it with `host plugin push --archive`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_oci::{Archive, Blob, descriptor, digest, manifest};

    const COMPONENT: &[u8] = b"\0asm a component";

    fn archive(component: &[u8]) -> Vec<u8> {
        let config = Blob::json("application/vnd.wasm.config.v0+json", &serde_json::json!({}));
        let layer = descriptor("application/wasm", &digest(COMPONENT), component.len() as u64);
        let manifest = manifest(&config, std::slice::from_ref(&layer));
        let mut archive = Archive::new(Vec::new()).unwrap();
        archive
            .add(&digest(COMPONENT), component.len() as u64, component)
            .unwrap();
        archive.blob(&config).unwrap();
        archive.blob(&manifest).unwrap();
        archive.end("r.example/p:1", &manifest, &config, &[layer]).unwrap()
    }

    #[test]
    fn archive_and_directory_hold_the_same_component() {
        let scratch = tempfile::tempdir().unwrap();
        let (file, directory) = (scratch.path().join("p.tar"), scratch.path().join("p"));
        std::fs::write(&file, archive(COMPONENT)).unwrap();
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
        let evil = error(&archive(b"\0asm something else"));
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
