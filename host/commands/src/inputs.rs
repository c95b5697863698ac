//! Reading the documents that commands take: YAML files, their warnings, and their registration for excerpts.

use crate::codes;
use crate::files;
use boson_document::Code;
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::encoding;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml::{self, Document};
use std::path::Path;

/// Reads a YAML file whose text may be shown.
///
/// # Errors
/// The file cannot be read, or is not YAML.
pub fn yaml_file(path: &Path, sources: &mut Sources) -> Result<Document, Diagnostic> {
    read_document(&files::name(path), files::read(path)?, sources, false)
}

/// Reads a YAML file that holds secrets: messages name places in it, and show nothing of it.
///
/// # Errors
/// As [`yaml_file`].
pub fn secret_file(path: &Path, sources: &mut Sources) -> Result<Document, Diagnostic> {
    read_document(&files::name(path), files::read(path)?, sources, true)
}

/// The content of a file of a Secret that is mounted in a pod, which may be compressed.
///
/// # Errors
/// As [`yaml_file`], and `input-damaged`.
pub fn read_mounted(path: &Path, sources: &mut Sources) -> Result<Tree, Diagnostic> {
    let (bytes, name) = (files::read(path)?, files::name(path));
    let bytes = encoding::unpack(&bytes).map_err(|_| {
        Diagnostic::error(
            codes::INPUT_DAMAGED,
            format!("'{name}' is compressed and cannot be unpacked"),
        )
        .in_document(&name)
        .help("it is truncated, or too large when unpacked")
    })?;
    let document = yaml::read_bytes(&name, &bytes)?;
    sources.add_document(document.clone(), true);
    Ok(document.tree)
}

/// The document of a text that holds secrets: messages name places in it, and show nothing of it.
///
/// # Errors
/// It is not YAML.
pub fn secret_text(name: &str, bytes: Vec<u8>, sources: &mut Sources) -> Result<Document, Diagnostic> {
    read_document(name, bytes, sources, true)
}

fn read_document(name: &str, bytes: Vec<u8>, sources: &mut Sources, secret: bool) -> Result<Document, Diagnostic> {
    let weight = yaml::weight(&bytes);
    if let Err(error) = count_memory(name, weight, sources) {
        // If this document alone has too many values, the reader reports that.
        let alone = (weight > sources.limit()).then(|| yaml::read_bytes(name, &bytes).err());
        return Err(alone.flatten().unwrap_or(error));
    }
    match yaml::read_bytes(name, &bytes) {
        Ok(document) => {
            sources.add_document(document.clone(), secret);
            Ok(document)
        }
        Err(diagnostic) => {
            // Registered, so that errors can show an excerpt.
            if !secret && let Ok(text) = String::from_utf8(bytes) {
                sources.add_text(name, &text);
            }
            Err(diagnostic)
        }
    }
}

/// Code of files that are too large together.
pub const TOTAL_SIZE_CODE: &Code = codes::INPUT_TOTAL_TOO_LARGE;

/// Adds the memory of a file to the total of all given files, which is limited, too.
///
/// # Errors
/// The total exceeds the limit.
pub fn count_memory(name: &str, bytes: u64, sources: &mut Sources) -> Result<(), Diagnostic> {
    sources.take(bytes).map_err(|most| {
        let message = format!(
            "'{name}' exceeds the memory for input files: all of them may use {} MiB, and this one needs {} MiB",
            most >> 20,
            bytes.div_ceil(1 << 20)
        );
        let error = Diagnostic::error(TOTAL_SIZE_CODE, message).in_document(name);
        error.help("use fewer or smaller files, or raise --max-memory")
    })
}
