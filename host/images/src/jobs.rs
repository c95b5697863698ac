//! The layer of jobs: `/var/vcap/jobs-src/<job>` with `job.MF`, `monit` and templates, as their tarballs have them.

use crate::error::write_error;
use crate::gzip::Pool;
use crate::layer::Draft;
use boson_document::Code;
use boson_oci::Layer;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes;
use boson_pipeline::release::{Entry, Files};
use boson_releases::{JOBS_SRC, entry_error};
use std::path::Path;

/// The layer of all jobs, whose files are below `jobs/<job>/`.
///
/// # Errors
/// One of them is too large or not a file; the layer cannot be written.
pub fn jobs_layer(files: &Files, place: &Path, pool: &Pool) -> Result<Layer, Diagnostic> {
    let mut draft = Draft::new(place, pool).map_err(|error| write_error(&error))?;
    draft.directory(JOBS_SRC).map_err(|error| write_error(&error))?;
    for (path, entry) in files.iter_below("jobs") {
        let Some(inner) = path.strip_prefix("jobs/") else {
            continue;
        };
        let full = format!("{JOBS_SRC}/{inner}");
        let bad = |code: &Code, what: &str| Err(entry_error(code, files.naming().source(), path, what));
        if inner.split('/').any(|part| part.starts_with(".wh.")) {
            return bad(
                codes::RELEASE_ARCHIVE_ENTRY,
                "has a name with which layers of images delete files",
            );
        }
        let parent = full.rsplit_once('/').map_or(JOBS_SRC, |(parent, _)| parent);
        draft.directory(parent).map_err(|error| write_error(&error))?;
        let written = match entry {
            Entry::Directory => draft.directory(&full),
            Entry::Link(target) => draft.link(&full, target),
            Entry::File(file) => {
                let mode = if file.executable { 0o755 } else { 0o644 };
                draft.file(&full, mode, file.bytes.len() as u64, file.bytes.as_slice())
            }
            Entry::Unread(_) => return bad(codes::RELEASE_FILE_TOO_LARGE, "is too large"),
            Entry::Special => return bad(codes::RELEASE_ARCHIVE_ENTRY, "is not a file"),
        };
        written.map_err(|error| write_error(&error))?;
    }
    draft.finish().map_err(|error| write_error(&error))
}
