//! Files from containers. Whoever can write into a container decides what an archive from it contains, so names that
//! lead elsewhere are refused, and only files and directories are made.

use anyhow::{Context, bail};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Entry, EntryType};

/// The path of an entry, as its parts. They are all names.
///
/// # Errors
/// The path leads out of the directory that it belongs into.
pub fn path_parts(entry: &Entry<'_, impl Read>) -> anyhow::Result<Vec<String>> {
    let path = entry.path()?;
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    };
    let parts: Option<Vec<String>> = path.components().map(name).collect();
    let parts = parts.filter(|parts| !parts.is_empty());
    parts.with_context(|| {
        format!(
            "the container sent the name '{}', which is not relative",
            path.display()
        )
    })
}

/// Writes the files of an archive: below the target if it is a directory, otherwise to the target.
///
/// # Errors
/// A file cannot be written, or is neither a file nor a directory.
pub fn unpack(archive: impl Read, target: &Path) -> anyhow::Result<()> {
    let into = target.is_dir();
    for entry in Archive::new(archive).entries()? {
        let mut entry = entry?;
        let mut path = PathBuf::from(target);
        path.extend(path_parts(&entry)?.into_iter().skip(usize::from(!into)));
        let mode = entry.header().mode()? & 0o777;
        let failed = || format!("cannot write '{}'", path.display());
        match entry.header().entry_type() {
            EntryType::Directory => {
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(mode | 0o700);
                builder.create(&path).with_context(failed)?;
            }
            EntryType::Regular => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(mode);
                let mut file = options.open(&path).with_context(failed)?;
                let copied = io::copy(&mut entry, &mut file).with_context(failed)?;
                if copied != entry.size() {
                    bail!("the container sent only a part of '{}'", path.display());
                }
            }
            _ => bail!(
                "the container sent '{}', which is neither a file nor a directory",
                path.display()
            ),
        }
    }
    Ok(())
}

/// Packs a file, or a directory with all below it, under its own name.
///
/// # Errors
/// A file cannot be read.
pub fn pack(source: &Path, recursive: bool) -> anyhow::Result<fs::File> {
    let failed = || format!("cannot read '{}'", source.display());
    let source = fs::canonicalize(source).with_context(failed)?;
    let name = source.file_name().with_context(failed)?;
    let mut builder = tar::Builder::new(tempfile::tempfile()?);
    // container-run does not know GNU's entries for files with holes.
    builder.sparse(false);
    if !source.is_dir() {
        builder.append_path_with_name(&source, name).with_context(failed)?;
    } else if recursive {
        builder.append_dir_all(name, &source).with_context(failed)?;
    } else {
        bail!("'{}' is a directory: use --recursive", source.display());
    }
    rewind(builder.into_inner()?)
}

/// A file, to be read from its beginning.
pub fn rewind(mut file: fs::File) -> anyhow::Result<fs::File> {
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_packed_and_unpacked() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join("a");
        fs::create_dir_all(source.join("b")).unwrap();
        fs::write(source.join("b/c"), "text").unwrap();
        fs::File::create(source.join("holes"))
            .unwrap()
            .set_len(1 << 20)
            .unwrap();
        symlink("b/c", source.join("link")).unwrap();
        assert!(
            pack(&source, false)
                .unwrap_err()
                .to_string()
                .ends_with("is a directory: use --recursive")
        );
        let into = scratch.path().join("into");
        fs::create_dir(&into).unwrap();
        unpack(pack(&source, true).unwrap(), &into).unwrap();
        unpack(pack(&source, true).unwrap(), &scratch.path().join("renamed")).unwrap();
        for copy in ["into/a/b/c", "into/a/link", "renamed/b/c"] {
            assert_eq!(fs::read_to_string(scratch.path().join(copy)).unwrap(), "text", "{copy}");
        }
        assert_eq!(fs::metadata(into.join("a/holes")).unwrap().len(), 1 << 20);
        unpack(pack(&source.join("b/c"), false).unwrap(), &scratch.path().join("file")).unwrap();
        assert_eq!(fs::read_to_string(scratch.path().join("file")).unwrap(), "text");
    }

    #[test]
    fn an_archive_cannot_write_elsewhere() {
        let scratch = tempfile::tempdir().unwrap();
        let refused = |name: &[u8], kind: EntryType| {
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name);
            header.set_entry_type(kind);
            header.set_mode(0o644);
            header.set_size(0);
            header.set_cksum();
            let mut builder = tar::Builder::new(Vec::new());
            builder.append(&header, io::empty()).unwrap();
            let archive = builder.into_inner().unwrap();
            unpack(&*archive, scratch.path()).unwrap_err().to_string()
        };
        assert!(refused(b"../a", EntryType::Regular).contains("'../a', which is not relative"));
        assert!(refused(b"/etc/a", EntryType::Regular).contains("which is not relative"));
        assert!(refused(b"a", EntryType::Symlink).contains("neither a file nor a directory"));
    }
}
