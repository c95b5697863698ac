//! Errors that several parts report.

use crate::codes;
use boson_pipeline::Diagnostic;
use boson_pipeline::release::codes as release_codes;
use std::io;

/// An output file cannot be written.
pub(crate) fn write_error(error: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::IMAGE_UNWRITABLE, format!("the image cannot be written: {error}"))
        .help("check whether the disk of --cache or --out is full or read-only")
}

/// Reading `archive` and writing a layer happen in one call. The reader reports its own errors before this one is
/// shown.
pub(crate) fn read_or_write_error(error: io::Error, archive: &str) -> Diagnostic {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            let message = format!("'{archive}' is damaged: {error}");
            Diagnostic::error(release_codes::RELEASE_ARCHIVE_DAMAGED, message).in_document(archive)
        }
        _ => write_error(&error),
    }
}
