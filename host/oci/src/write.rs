//! Images to disk: an OCI image layout in a directory, or a tar of one, with the `manifest.json` of `docker save`.

use crate::layout::{BLOBS, INDEX, MARK, MARK_CONTENT};
use crate::{Blob, Image, header, index, path};
use serde_json::json;
use std::collections::HashSet;
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tar::{Builder, EntryType};
use tempfile::NamedTempFile;

/// Writes an archive under a temporary name, then renames it.
///
/// # Errors
/// Those of the disk.
pub fn archive(image: &Image, out: &Path) -> io::Result<()> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let file = NamedTempFile::new_in(parent.unwrap_or(Path::new(".")))?;
    let written = tar(image, BufWriter::new(file))?;
    publish(written.into_inner().map_err(io::IntoInnerError::into_error)?, out)
}

fn tar<W: Write>(image: &Image, out: W) -> io::Result<W> {
    let mut archive = Builder::new(out);
    add(&mut archive, MARK, MARK_CONTENT.as_bytes(), MARK_CONTENT.len() as u64)?;
    for directory in ["blobs", BLOBS] {
        archive.append_data(&mut header(EntryType::Directory, 0o755, 0), directory, io::empty())?;
    }
    let mut written = HashSet::new();
    for layer in &image.layers {
        if written.insert(&layer.digest) {
            add(
                &mut archive,
                &path(&layer.digest),
                layer.content.reader(),
                layer.content.size(),
            )?;
        }
    }
    for Blob { digest, bytes, .. } in [&image.config, &image.manifest] {
        add(&mut archive, &path(digest), bytes.as_slice(), bytes.len() as u64)?;
    }
    let files: Vec<String> = image.layers.iter().map(|layer| path(&layer.digest)).collect();
    let saved = json!([{"Config": path(&image.config.digest), "RepoTags": [image.name], "Layers": files}]);
    for (path, document) in [
        (INDEX, index(&image.name, &image.manifest.descriptor())),
        ("manifest.json", saved),
    ] {
        let text = document.to_string();
        add(&mut archive, path, text.as_bytes(), text.len() as u64)?;
    }
    let mut out = archive.into_inner()?;
    out.flush()?;
    Ok(out)
}

fn add(archive: &mut Builder<impl Write>, path: &str, content: impl Read, size: u64) -> io::Result<()> {
    archive.append_data(&mut header(EntryType::Regular, 0o644, size), path, content)
}

/// Writes a layout, and deletes the blobs of another one in this directory.
///
/// # Errors
/// Those of the disk.
pub fn directory(image: &Image, out: &Path) -> io::Result<()> {
    let blobs = out.join(BLOBS);
    fs::create_dir_all(&blobs)?;
    let mut known = HashSet::new();
    for layer in &image.layers {
        known.insert(layer.digest.digest());
        let place = out.join(path(&layer.digest));
        if !place.is_file() {
            put(&place, &blobs, layer.content.reader())?;
        }
    }
    for Blob { digest, bytes, .. } in [&image.config, &image.manifest] {
        known.insert(digest.digest());
        put(&out.join(path(digest)), &blobs, bytes.as_slice())?;
    }
    let index = index(&image.name, &image.manifest.descriptor()).to_string();
    put(&out.join(MARK), out, MARK_CONTENT.as_bytes())?;
    put(&out.join(INDEX), out, index.as_bytes())?;
    for entry in fs::read_dir(&blobs)? {
        let entry = entry?;
        if !known.contains(&*entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file under a temporary name and renames it, so that an existing file is always complete.
fn put(to: &Path, place: &Path, mut content: impl Read) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(place)?;
    io::copy(&mut content, &mut file)?;
    file.flush()?;
    publish(file, to)
}

fn publish(file: NamedTempFile, to: &Path) -> io::Result<()> {
    // Temporary files are readable by their owner only; images are not secret.
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    file.persist(to).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Error, Layout};
    use crate::{Descriptor, Digest, Document, Layer, MediaType, Section, digest};
    use std::sync::Arc;

    fn image(name: &str, content: &[u8]) -> Image {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let layer = Layer {
            media_type: MediaType::ImageLayer,
            digest: digest(content),
            diff_id: digest(content),
            content: Section::new(Arc::new(file), 0, content.len() as u64),
        };
        let config = Blob::json(MediaType::ImageConfig, &json!({"os": "linux"}));
        Image::new(name, config, vec![layer.clone(), layer])
    }

    /// The same content must be the same file for other builders, too.
    #[test]
    fn an_archive_keeps_its_bytes() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("image.tar");
        archive(&image("r.example/p:1", b"layer"), &file).unwrap();
        let digest = digest(&fs::read(file).unwrap());
        assert_eq!(
            digest.digest(),
            "cc99fc08baa6981ee63f03cc40b2a2bf772c734b7459c57a27f5db09b79caf4e"
        );
    }

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_or_missing_is_not() {
        let place = tempfile::tempdir().unwrap();
        let (first, second) = (image("r.example/p:1", b"first"), image("r.example/p:2", b"second"));
        directory(&first, place.path()).unwrap();
        directory(&second, place.path()).unwrap();
        assert_eq!(
            fs::read_dir(place.path().join(BLOBS)).unwrap().count(),
            3,
            "those of the second"
        );
        let find = |path: &str| Section::open(&place.path().join(path));
        let layout = Layout::new(&find);
        let found = layout.image().unwrap();
        assert_eq!(
            (found.digest, found.name.as_deref()),
            (second.manifest.digest, Some("r.example/p:2"))
        );
        let layer = &found.manifest.layers()[0];
        assert_eq!(layout.bytes(layer, 6).unwrap(), b"second");
        assert!(matches!(layout.bytes(layer, 5), Err(Error::TooLarge(_))));
        fs::write(place.path().join(path(layer.digest())), "damage").unwrap();
        assert!(matches!(layout.bytes(layer, 6), Err(Error::Damaged { .. })));
        let missing = Descriptor::new(MediaType::ImageManifest, 5, digest(b"first"));
        assert!(matches!(layout.document(&missing), Err(Error::Unreadable(..))));
        let other: Digest = format!("sha512:{}", "a".repeat(128)).parse().unwrap();
        let other = Descriptor::new(MediaType::ImageManifest, 5, other);
        assert!(matches!(layout.document(&other), Err(Error::Uncheckable(_))));
    }

    #[test]
    fn indexes_lead_to_one_image_after_some_steps() {
        let place = tempfile::tempdir().unwrap();
        let image = image("r.example/p:1", b"layer");
        directory(&image, place.path()).unwrap();
        let find = |path: &str| Section::open(&place.path().join(path));
        let layout = Layout::new(&find);
        let mut entry = image.manifest.descriptor();
        for depth in 1..=4 {
            let index = json!({"schemaVersion": 2, "manifests": [entry]});
            fs::write(place.path().join(INDEX), index.to_string()).unwrap();
            assert!(matches!(
                (depth, layout.image()),
                (1..=3, Ok(_)) | (4, Err(Error::Nested))
            ));
            let blob = Blob::json(MediaType::ImageIndex, &index);
            fs::write(place.path().join(path(&blob.digest)), &blob.bytes).unwrap();
            entry = blob.descriptor();
            assert!(matches!(layout.document(&entry), Ok(Document::Index(_))));
        }
        let index = json!({"schemaVersion": 2, "manifests": [entry, entry]});
        fs::write(place.path().join(INDEX), index.to_string()).unwrap();
        assert!(matches!(layout.image(), Err(Error::Several(2, _))));
    }
}
