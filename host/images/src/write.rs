//! Images to disk: an OCI image layout in a directory, or an archive of one that `docker load` reads as well.

use crate::codes;
use boson_oci::{Archive, Blob, Image, index, path};
use boson_pipeline::Diagnostic;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// The names of the images in a layout.
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "io.containerd.image.name")]
    name: Option<String>,
}

/// Writes an archive under a temporary name, then renames it.
///
/// # Errors
/// `image-unwritable`.
pub fn archive(image: &Image, out: &Path) -> Result<(), Diagnostic> {
    let place = out
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(place).and_then(|file| {
        let mut archive = Archive::new(BufWriter::new(file))?;
        for layer in &image.layers {
            archive.add(&layer.digest, layer.content.size(), layer.content.reader())?;
        }
        archive.blob(&image.config)?;
        archive.blob(&image.manifest)?;
        let out = archive.end(&image.name, &image.manifest, &image.config, &image.descriptors())?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        open_to_all(file.as_file())?;
        file.as_file().sync_all()?;
        Ok(file)
    });
    let kept = written.and_then(|file| file.persist(out).map_err(|error| error.error));
    kept.map(drop).map_err(|error| unwritable(out, &error))
}

/// Writes a layout: a new directory, or one that has a layout of the same image.
///
/// # Errors
/// `image-unwritable`; `image-out-not-empty` if the directory contains other files.
pub fn layout(image: &Image, out: &Path) -> Result<(), Diagnostic> {
    check(image, out)?;
    write_layout(image, out).map_err(|error| unwritable(out, &error))
}

/// Files of the user are not overwritten.
fn check(image: &Image, out: &Path) -> Result<(), Diagnostic> {
    let refuse = |what: &str| {
        let message = format!("'{}' holds {what}", out.display());
        Err(Diagnostic::error(codes::IMAGE_OUT_NOT_EMPTY, message).help("set --out to an empty or new directory"))
    };
    let mut entries = match fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(out, &error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    let index = File::open(out.join("index.json")).ok().and_then(|file| {
        let mut bytes = Vec::new();
        file.take(4 << 20).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice::<Index>(&bytes).ok()
    });
    let Some(index) = index else {
        return refuse("files that are not an image layout");
    };
    let same = |entry: &Entry| entry.annotations.name.as_ref() == Some(&image.name);
    if index.manifests.iter().all(same) {
        Ok(())
    } else {
        refuse("another image")
    }
}

fn write_layout(image: &Image, out: &Path) -> io::Result<()> {
    let blobs = out.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let mut known = BTreeSet::new();
    for layer in &image.layers {
        known.insert(layer.digest.replace("sha256:", ""));
        let place = out.join(path(&layer.digest));
        if !place.is_file() {
            put(&place, &blobs, layer.content.reader())?;
        }
    }
    for Blob { digest, bytes, .. } in [&image.config, &image.manifest] {
        known.insert(digest.replace("sha256:", ""));
        put(&out.join(path(digest)), &blobs, bytes.as_slice())?;
    }
    let index = index(&image.name, &image.manifest).to_string();
    put(
        &out.join("oci-layout"),
        out,
        br#"{"imageLayoutVersion":"1.0.0"}"#.as_slice(),
    )?;
    put(&out.join("index.json"), out, index.as_bytes())?;
    // Blobs of the previous image.
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
    let mut file = tempfile::NamedTempFile::new_in(place)?;
    io::copy(&mut content, &mut file)?;
    file.flush()?;
    open_to_all(file.as_file())?;
    file.as_file().sync_all()?;
    file.persist(to).map(drop).map_err(|error| error.error)
}

/// Temporary files are readable by their owner only; images are not secret.
fn open_to_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

fn unwritable(out: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("the image cannot be written to '{}': {error}", out.display());
    Diagnostic::error(codes::IMAGE_UNWRITABLE, message).help("check whether the disk is full or read-only")
}
