//! Reduces a layer of an image to the part that a conversion needs, so that a cache stores kilobytes of jobs instead of
//! hundreds of megabytes of packages.

use crate::entries::{self, Item, Kind};
use crate::image::relevant;
use crate::limits::Budget;
use boson_oci::header;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use std::io::{self, Read, Write};
use tar::{Builder, EntryType};

/// Reads the layer `name` (for messages), gzip or not, to its end, and writes to `out` a plain tar with the same effect
/// on `/var/vcap/jobs-src`: the files there, and whiteouts of files of lower layers. The layers of an image share one
/// `budget`.
///
/// # Errors
/// The layer is truncated, damaged, over a limit, or holds a device among the jobs; or `out` fails.
pub fn reduce(name: &str, reader: impl Read, budget: &Budget, out: impl Write) -> Result<(), Diagnostic> {
    let mut archive = Builder::new(out);
    let unwritable = |error: io::Error| {
        Diagnostic::error(codes::RELEASE_IMAGE, format!("'{name}' cannot be stored: {error}")).in_document(name)
    };
    entries::each(name, reader, budget, &mut |_| {}, &mut |item, data| {
        let Some(path) = relevant(item, name)? else {
            return Ok(());
        };
        budget.note(&path, name)?;
        budget.keep(item.size, name)?;
        if let Kind::Special(what) = item.kind {
            return Err(item.entry_error(codes::RELEASE_ARCHIVE_ENTRY, name, what));
        }
        append(&mut archive, &path, item, data).map_err(unwritable)
    })?;
    archive.into_inner().and_then(|mut out| out.flush()).map_err(unwritable)
}

fn append(archive: &mut Builder<impl Write>, path: &str, item: &Item, data: &mut dyn Read) -> io::Result<()> {
    let executable = matches!(item.kind, Kind::File { executable: true } | Kind::Directory);
    let mode = if executable { 0o755 } else { 0o644 };
    match &item.kind {
        Kind::Link(target) => archive.append_link(&mut header(EntryType::Symlink, mode, 0), path, target),
        Kind::HardLink(target) => archive.append_link(&mut header(EntryType::Link, mode, 0), path, target),
        Kind::Directory => archive.append_data(&mut header(EntryType::Directory, mode, 0), path, io::empty()),
        Kind::File { .. } | Kind::Special(_) => {
            let mut header = header(EntryType::Regular, mode, item.size);
            archive.append_data(&mut header, path, data.take(item.size))
        }
    }
}
