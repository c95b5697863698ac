//! A layer in an unnamed temporary file, which the kernel deletes with its last reader, however the process ends.

use crate::gzip::{Gzip, Pool};
use boson_oci::{Digested, Digesting, Layer, MediaType, Section, header};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use tar::{Builder, EntryType};

/// Group of what is in packages and jobs: vcap's, as BOSH's agent sets it.
pub const VCAP_GROUP_ID: u64 = 1000;

pub(crate) struct Draft {
    archive: Builder<Digesting<LayerWriter>>,
    directories: BTreeSet<String>,
}

type LayerWriter = Gzip<Digesting<BufWriter<File>>>;

// === impl Draft ===

impl Draft {
    /// Begins a layer whose file is in the directory `place`.
    pub(crate) fn new(place: &Path, pool: &Pool) -> io::Result<Self> {
        let writer = create(place, pool)?;
        Ok(Self {
            archive: Builder::new(Digesting::new(writer)),
            directories: BTreeSet::new(),
        })
    }

    /// Adds a directory and those above it, unless they are there.
    pub(crate) fn directory(&mut self, path: &str) -> io::Result<()> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in ends.filter_map(|end| path.get(..end)) {
            if !part.is_empty() && self.directories.insert(part.to_owned()) {
                let mut header = header(EntryType::Directory, 0o755, 0);
                self.archive.append_data(&mut header, part, io::empty())?;
            }
        }
        Ok(())
    }

    /// Adds a directory with a mode.
    pub(crate) fn directory_with(&mut self, path: &str, mode: u32) -> io::Result<()> {
        let mut header = header(EntryType::Directory, mode, 0);
        header.set_gid(VCAP_GROUP_ID);
        self.archive.append_data(&mut header, path, io::empty())
    }

    pub(crate) fn file(&mut self, path: &str, mode: u32, size: u64, content: impl Read) -> io::Result<()> {
        let mut header = header(EntryType::Regular, mode, size);
        header.set_gid(VCAP_GROUP_ID);
        self.archive.append_data(&mut header, path, content)
    }

    /// Adds a file of root's.
    pub(crate) fn system_file(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        let mut header = header(EntryType::Regular, 0o644, content.len() as u64);
        self.archive.append_data(&mut header, path, content)
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.archive
            .append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)
    }

    /// Adds another name of a file of this layer.
    pub(crate) fn hard_link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.archive
            .append_link(&mut header(EntryType::Link, 0o644, 0), path, target)
    }

    pub(crate) fn finish(self) -> io::Result<Layer> {
        layer(self.archive.into_inner()?.finish())
    }
}

/// One layer with the content of all these, which overlap in directories only.
pub(crate) fn merge(layers: &[Layer], place: &Path, pool: &Pool) -> io::Result<Layer> {
    if let [only] = layers {
        return Ok(only.clone());
    }
    let mut archive = Builder::new(Digesting::new(create(place, pool)?));
    for layer in layers {
        let mut inner = tar::Archive::new(flate2::read::GzDecoder::new(layer.content.reader()));
        // Raw: long names are entries of their own, and stay so.
        for entry in inner.entries()?.raw(true) {
            let mut entry = entry?;
            let header = entry.header().clone();
            archive.append(&header, &mut entry)?;
        }
    }
    layer(archive.into_inner()?.finish())
}

/// Compresses an uncompressed layer.
pub(crate) fn compress(mut content: impl Read, place: &Path, pool: &Pool) -> io::Result<Layer> {
    let mut out = Digesting::new(create(place, pool)?);
    io::copy(&mut content, &mut out)?;
    layer(out.finish())
}

fn create(place: &Path, pool: &Pool) -> io::Result<LayerWriter> {
    let file = tempfile::tempfile_in(place)?;
    Gzip::new(Digesting::new(BufWriter::new(file)), pool)
}

fn layer(archive: Digested<LayerWriter>) -> io::Result<Layer> {
    let mut packed = archive.inner.finish()?.finish();
    packed.inner.flush()?;
    let file = packed.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(Layer {
        media_type: MediaType::ImageLayerGzip,
        digest: packed.digest,
        diff_id: archive.digest,
        content: Section::new(Arc::new(file), 0, packed.size),
    })
}
