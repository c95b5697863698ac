//! A layer: files in the order of their paths, all of root's and of 1970, with their digest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use boson_oci::{Digested, Digesting, Layer, MediaType, Section, header};
use tar::{Builder, EntryType};

/// One thing in an image.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A file that everybody may read.
    File(PathBuf),
    /// A file that everybody may run.
    Program(PathBuf),
    /// A file with this text.
    Text(&'static str),
    Directory,
    /// A directory that everybody may write to.
    Scratch,
}

/// What is in a layer, by path without a slash at the front.
#[derive(Default)]
pub(super) struct Entries(BTreeMap<String, Entry>);

// === impl Entries ===

impl Entries {
    /// Adds this and the directories above it.
    pub(super) fn add(&mut self, path: &str, entry: Entry) {
        for (end, _) in path.match_indices('/') {
            self.0.entry(path[..end].to_string()).or_insert(Entry::Directory);
        }
        self.0.insert(path.to_string(), entry);
    }
}

/// Writes the entries to an unnamed file in `place`. The layer is not compressed: the tool that pushes the image
/// compresses it.
pub(super) fn write(entries: &Entries, place: &Path) -> Result<Layer> {
    let file = tempfile::tempfile_in(place).with_context(|| format!("writing to {}", place.display()))?;
    let mut archive = Builder::new(Digesting::new(file));
    for (path, entry) in &entries.0 {
        append(&mut archive, path, entry).with_context(|| format!("adding {path}"))?;
    }
    let Digested { inner, digest, size } = archive.into_inner()?.finish();
    Ok(Layer {
        media_type: MediaType::ImageLayer,
        diff_id: digest.clone(),
        digest,
        content: Section::new(Arc::new(inner), 0, size),
    })
}

fn append(archive: &mut Builder<impl Write>, path: &str, entry: &Entry) -> Result<()> {
    match entry {
        Entry::File(from) | Entry::Program(from) => {
            let mode = if matches!(entry, Entry::Program(_)) {
                0o755
            } else {
                0o644
            };
            let file = File::open(from).with_context(|| format!("reading {}", from.display()))?;
            let size = file.metadata()?.len();
            archive.append_data(&mut header(EntryType::Regular, mode, size), path, file)?;
        }
        Entry::Text(text) => {
            let mut header = header(EntryType::Regular, 0o644, text.len() as u64);
            archive.append_data(&mut header, path, text.as_bytes())?;
        }
        Entry::Directory => archive.append_data(&mut header(EntryType::Directory, 0o755, 0), path, io::empty())?,
        Entry::Scratch => archive.append_data(&mut header(EntryType::Directory, 0o1777, 0), path, io::empty())?,
    }
    Ok(())
}
