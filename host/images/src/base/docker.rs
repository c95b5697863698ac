//! Archives: of an OCI image layout, or what `docker save` writes. Both are uncompressed tars; one pass notes where
//! their files are.

use super::{base_error, layout};
use boson_oci::layout::{Find, MARK, MAX_DOCUMENT_BYTES};
use boson_oci::{MediaType, Part, Parts, Section, digest};
use boson_pipeline::Diagnostic;
use boson_pipeline::release::paths::clean;
use boson_releases::{Budget, Kind, Limits, each};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Files that an archive of an image may have.
const MAX_FILES: usize = 4096;
/// Links that are followed from one name of a layer to its file.
const MAX_LINKS: usize = 8;

/// An image in `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    /// Path of its configuration.
    config: String,
    /// Paths of its layers.
    layers: Vec<String>,
}

enum Place {
    File { begin: u64, size: u64 },
    Link(String),
}

pub(super) fn archive(path: &Path, name: &str) -> Result<Parts, Diagnostic> {
    let unreadable = |error: io::Error| base_error(name, &format!("cannot be read: {error}"));
    let file = Arc::new(File::open(path).map_err(unreadable)?);
    let size = file.metadata().map_err(unreadable)?.len();
    let whole = Section::new(file.clone(), 0, size);
    if whole.part(0, 2).map_err(unreadable)? == [0x1f, 0x8b] {
        return Err(base_error(name, "is compressed").help("unpack it first: `gunzip`"));
    }
    let places = places(name, whole.reader())?;
    let find = |path: &str| find(&places, &file, path);
    if places.contains_key(MARK) {
        return layout::read(name, &find);
    }
    match find("manifest.json") {
        Ok(manifest) => saved(name, &find, &bytes(name, &manifest)?),
        Err(_) => Err(base_error(name, "is not an archive of an image")
            .help("expected an archive from `docker save` or `skopeo copy .. oci-archive:FILE`")),
    }
}

fn places(name: &str, reader: impl Read) -> Result<BTreeMap<String, Place>, Diagnostic> {
    let mut places = BTreeMap::new();
    let budget = Budget::new(Limits::scanning(64 << 30));
    each(name, reader, &budget, &mut |_| {}, &mut |item, _| {
        let Ok(path) = clean(&item.path) else {
            return Err(base_error(name, "has paths outside the archive"));
        };
        let place = match &item.kind {
            Kind::File { .. } => Place::File {
                begin: item.offset,
                size: item.size,
            },
            Kind::Link(target) => Place::Link(beside(&path, target)),
            Kind::HardLink(target) => Place::Link(target.clone()),
            Kind::Directory | Kind::Special(_) => return Ok(()),
        };
        if places.len() >= MAX_FILES {
            return Err(base_error(name, "has too many files for an image"));
        }
        places.insert(path, place);
        Ok(())
    })?;
    Ok(places)
}

/// The target of a link at `path`: `docker save` stores a repeated layer as a link.
fn beside(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn find(places: &BTreeMap<String, Place>, file: &Arc<File>, path: &str) -> io::Result<Section> {
    let mut path = path;
    for _ in 0..MAX_LINKS {
        match places.get(path) {
            Some(Place::File { begin, size }) => return Ok(Section::new(file.clone(), *begin, *size)),
            Some(Place::Link(target)) => path = target,
            None => break,
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// The image of a `manifest.json`.
fn saved(name: &str, find: &Find<'_>, manifest: &[u8]) -> Result<Parts, Diagnostic> {
    let images: Vec<Saved> = serde_json::from_slice(manifest)
        .map_err(|error| base_error(name, &format!("has the unsupported document 'manifest.json': {error}")))?;
    let [image] = images.as_slice() else {
        return Err(base_error(name, "does not contain exactly one image").help("save one image only"));
    };
    let file = |path: &String| {
        let found = clean(path).ok().and_then(|path| find(&path).ok());
        found.ok_or_else(|| base_error(name, &format!("lacks the file '{path}'")))
    };
    let config = bytes(name, &file(&image.config)?)?;
    let mut layers = Vec::new();
    for layer in &image.layers {
        layers.push(Part {
            media_type: MediaType::ImageLayer,
            digest: None,
            content: file(layer)?,
        });
    }
    Ok(Parts {
        // The archive has no registry manifest: the configuration, which names the layers, identifies the image.
        digest: digest(&config),
        config,
        layers,
    })
}

/// The content of a document.
fn bytes(name: &str, section: &Section) -> Result<Vec<u8>, Diagnostic> {
    if section.size() > MAX_DOCUMENT_BYTES {
        return Err(base_error(name, "has a document of more than 4 MiB"));
    }
    let size = usize::try_from(section.size()).unwrap_or_default();
    section
        .part(0, size)
        .map_err(|error| base_error(name, &format!("cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn links_lead_from_their_directory() {
        assert_eq!(beside("abc/layer.tar", "../def/layer.tar"), "def/layer.tar");
        assert_eq!(beside("layer.tar", "./x.tar"), "x.tar");
        assert_eq!(beside("layer.tar", "../../x.tar"), "x.tar");
    }
}
