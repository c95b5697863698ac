//! Images to disk: an OCI image layout in a directory, or an archive of one that `docker load` reads as well.

use crate::codes;
use boson_oci::layout::Layout;
use boson_oci::{Descriptor, Image, NAME, Section};
use boson_pipeline::Diagnostic;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Writes an archive under a temporary name, then renames it.
///
/// # Errors
/// `image-unwritable`.
pub fn archive(image: &Image, out: &Path) -> Result<(), Diagnostic> {
    boson_oci::archive(image, out).map_err(|error| write_error(out, &error))
}

/// Writes a layout: a new directory, or one that has a layout of the same image.
///
/// # Errors
/// `image-unwritable`; `image-out-not-empty` if the directory contains other files.
pub fn layout(image: &Image, out: &Path) -> Result<(), Diagnostic> {
    // Another run would delete what this one has written so far. Not every file system can lock directories.
    let _lock = fs::create_dir_all(out)
        .and_then(|()| File::open(out))
        .and_then(|lock| lock.lock().map(|()| lock));
    check(image, out)?;
    boson_oci::directory(image, out).map_err(|error| write_error(out, &error))
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
        Err(error) => return Err(write_error(out, &error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    let find = |path: &str| Section::open(&out.join(path));
    let Ok(index) = Layout::new(&find).index() else {
        return refuse("files that are not an image layout");
    };
    let same = |entry: &Descriptor| {
        let annotations = entry.annotations().as_ref();
        annotations.is_some_and(|notes| notes.get(NAME) == Some(&image.name))
    };
    if index.manifests().iter().all(same) {
        Ok(())
    } else {
        refuse("another image")
    }
}

fn write_error(out: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("the image cannot be written to '{}': {error}", out.display());
    Diagnostic::error(codes::IMAGE_UNWRITABLE, message).help("check whether the disk is full or read-only")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_oci::{Blob, Layer, MediaType, digest};
    use std::io::Write;
    use std::sync::Arc;

    fn image(content: &[u8]) -> Image {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let layer = Layer {
            media_type: MediaType::ImageLayer,
            digest: digest(content),
            diff_id: digest(content),
            content: Section::new(Arc::new(file), 0, content.len() as u64),
        };
        let config = Blob::json(MediaType::ImageConfig, &serde_json::json!({"os": "linux"}));
        Image::new("r.example/p:1", config, vec![layer])
    }

    #[test]
    fn runs_with_the_same_directory_wait_for_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        std::thread::scope(|scope| {
            for content in [b"first", b"other"] {
                let (image, out) = (image(content), &out);
                scope.spawn(move || (0..20).for_each(|_| layout(&image, out).unwrap()));
            }
        });
        let find = |path: &str| Section::open(&out.join(path));
        Layout::new(&find).image().unwrap();
        assert_eq!(fs::read_dir(out.join("blobs/sha256")).unwrap().count(), 3);
    }
}
