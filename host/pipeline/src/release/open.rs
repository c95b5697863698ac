//! Content of a release's files, and the diagnostics for files that cannot be read.

use super::files::{File, FileError, Files};
use crate::diagnostic::Diagnostic;
use crate::release::codes;
use crate::report::Sources;
use crate::yaml::{self, Dialect, Document};

/// The diagnostic for a file that cannot be read.
pub fn error(files: &Files, path: &str, error: &FileError) -> Diagnostic {
    let document = files.document(path);
    match error {
        FileError::Missing => Diagnostic::error(codes::RELEASE_FILE_MISSING, format!("'{document}' does not exist")),
        FileError::Escapes(link) => {
            let link = files.document(link);
            let message = format!("'{link}' leads out of the release");
            Diagnostic::error(codes::RELEASE_LINK_ESCAPES, message)
                .help("links are followed only within a release: copy or move the file into the release")
        }
        FileError::Loop => Diagnostic::error(
            codes::RELEASE_LINK_LOOP,
            format!("'{document}' is a link that leads nowhere: too many links"),
        ),
        FileError::Directory => Diagnostic::error(
            codes::RELEASE_FILE_KIND,
            format!("'{document}' is a directory, expected a file"),
        ),
        FileError::Special => Diagnostic::error(codes::RELEASE_FILE_KIND, format!("'{document}' is not a plain file")),
        FileError::OverBudget => Diagnostic::error(
            codes::RELEASE_TOO_LARGE,
            format!("The jobs of the release need too much memory: the limit is exceeded at '{document}'"),
        )
        .help("move large files from jobs into packages"),
        FileError::TooLarge(size) => Diagnostic::error(
            codes::RELEASE_FILE_TOO_LARGE,
            format!("'{document}' is too large: {size} bytes"),
        ),
    }
    .in_document(document)
}

/// Reads a YAML file. If that fails, its text is added to `sources`.
///
/// # Errors
/// It is not YAML.
pub fn yaml(dialect: Dialect, document: &str, bytes: &[u8], sources: &mut Sources) -> Result<Document, Diagnostic> {
    let read = yaml::read_bytes_as(dialect, document, bytes);
    read.inspect_err(|_| sources.add_text(document, &String::from_utf8_lossy(bytes)))
}

/// The text of a file.
///
/// # Errors
/// It is not UTF-8.
pub fn text(files: &Files, path: &str, file: &File) -> Result<String, Diagnostic> {
    std::str::from_utf8(&file.bytes).map(str::to_owned).map_err(|error| {
        let before = file.bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let document = files.document(path);
        Diagnostic::error(codes::RELEASE_FILE_ENCODING, format!("'{document}' is not UTF-8"))
            .in_document(document)
            .on_line(u32::try_from(line).unwrap_or(u32::MAX), None)
            .help("templates are text: save the file as UTF-8, or move binary files into a package")
    })
}
