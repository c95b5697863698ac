//! Files below a directory, at paths that come from a release: through a directory handle, so that no link can lead out
//! of it.

use super::durable::scratch_name;
use anyhow::{Context, Result};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use std::io::{self, Write};
use std::path::Path;

pub struct Below {
    pub path: String,
    pub content: String,
    pub mode: u32,
}

/// Writes these files below `directory`, which is made where it is missing; each is replaced as a whole. A link in the
/// place of a file is replaced, one in the place of a directory followed as far as it stays below.
///
/// # Errors
/// A link leads out of the directory, something is in the way, or the disk is full.
pub fn write(directory: &Path, files: &[Below]) -> Result<()> {
    let context = || format!("cannot create the directory '{}'", directory.display());
    std::fs::create_dir_all(directory).with_context(context)?;
    let root = Dir::open_ambient_dir(directory, ambient_authority()).with_context(context)?;
    files.iter().try_for_each(|file| {
        let place = || format!("cannot write '{}'", directory.join(&file.path).display());
        write_one(&root, file).with_context(place)
    })
}

fn write_one(root: &Dir, file: &Below) -> io::Result<()> {
    let path = Path::new(&file.path);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => {
            root.create_dir_all(parent)?;
            &root.open_dir(parent)?
        }
        None => root,
    };
    let scratch = scratch_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(file.mode);
    let written = parent
        .open_with(&scratch, &options)
        .and_then(|mut open| open.write_all(file.content.as_bytes()).and_then(|()| open.sync_all()))
        .and_then(|()| parent.rename(&scratch, parent, name));
    if written.is_err() {
        let _ = parent.remove_file(&scratch);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn file(path: &str) -> Below {
        Below {
            path: path.into(),
            content: "content".into(),
            mode: 0o700,
        }
    }

    #[test]
    fn no_link_leads_out() {
        let scratch = tempfile::tempdir().unwrap();
        let (inside, outside) = (scratch.path().join("in/side"), scratch.path().join("outside"));
        fs::create_dir_all(inside.join("real")).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, inside.join("absolute")).unwrap();
        symlink("../../outside", inside.join("climbing")).unwrap();
        symlink("real", inside.join("staying")).unwrap();
        for path in ["absolute/x", "climbing/x", "climbing/deeper/x"] {
            let error = format!("{:#}", write(&inside, &[file(path)]).unwrap_err());
            assert!(error.starts_with("cannot write '") && error.contains(path), "{error}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        write(&inside, &[file("staying/x"), file("new/deep/x")]).unwrap();
        assert_eq!(fs::read_to_string(inside.join("real/x")).unwrap(), "content");
        let mode = fs::metadata(inside.join("new/deep/x")).unwrap().permissions().mode();
        assert_eq!(mode & 0o700, 0o700);
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let (inside, outside) = (scratch.path().join("inside"), scratch.path().join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::write(&outside, "untouched").unwrap();
        symlink(&outside, inside.join("x")).unwrap();
        write(&inside, &[file("x")]).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "untouched");
        assert!(inside.join("x").symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 1, "no scratch file");
    }
}
