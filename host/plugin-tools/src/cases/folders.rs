//! Cases as folders, which `host convert --record` writes, and `host run-plugin --replay` and `host plugin test` read.
//!
//! ```text
//! DIR/<case>/call.json
//! DIR/<case>/reply.json    absent: not recorded
//! ```

use super::Case;
use crate::codes;
use anyhow::{Context, Result};
use boson_commands::files;
use boson_commands::storage::durable;
use boson_document::{Tree, json};
use boson_pipeline::Diagnostic;
use boson_pipeline::diagnostic::all;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const CALL: &str = "call.json";
const REPLY: &str = "reply.json";

/// A case in a folder.
pub struct StoredCase {
    pub folder: PathBuf,
    pub case: Case,
}

/// The name of the case in a folder.
pub fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Reads the case in a folder.
///
/// # Errors
/// `call.json` is missing; it or `reply.json` cannot be read, or is not of the form of [`Case`].
pub fn read(folder: &Path) -> Result<Case, Diagnostic> {
    let file = folder.join(CALL);
    let call = document(&file)?.ok_or_else(|| no_call(folder))?;
    let case = Case::of(&name(folder), call).map_err(|message| {
        let help =
            "write {\"stage\": .., \"function\": .., \"request\": .., \"context\": ..}, as `host convert --record` does";
        let error = Diagnostic::error(codes::PLUGIN_CASE, message);
        error.in_document(files::name(&file)).help(help)
    })?;
    Ok(Case {
        reply: document(&folder.join(REPLY))?,
        ..case
    })
}

/// Reads all cases of a folder.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read_all(directory: &Path) -> Result<Vec<StoredCase>, Vec<Diagnostic>> {
    let folders = below(directory)?.into_iter();
    all(folders.map(|folder| read(&folder).map(|case| StoredCase { folder, case })))
}

/// Writes the call of a case to a folder, which need not exist.
///
/// # Errors
/// The folder cannot be created, or the file cannot be written.
pub fn write_call(folder: &Path, case: &Case) -> Result<()> {
    durable::make_directory(folder)?;
    write(&folder.join(CALL), &case.document())
}

/// Writes the reply that is expected from now on.
///
/// # Errors
/// The file cannot be written.
pub fn write_reply(folder: &Path, reply: &Tree) -> Result<()> {
    write(&folder.join(REPLY), reply)
}

/// The folders below this one that have a call, or this one, sorted by name.
fn below(directory: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    if directory.join(CALL).is_file() {
        return Ok(vec![directory.to_path_buf()]);
    }
    let name = files::name(directory);
    let unreadable = |error: io::Error| files::unreadable(&name, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let folder = entry.map_err(unreadable)?.path();
        if folder.join(CALL).is_file() {
            found.push(folder);
        }
    }
    found.sort();
    if found.is_empty() {
        Err(no_call(directory))
    } else {
        Ok(found)
    }
}

fn no_call(folder: &Path) -> Diagnostic {
    let name = files::name(folder);
    let error = Diagnostic::error(
        codes::PLUGIN_CASE,
        format!("'{name}' has no cases: directories with a `{CALL}`"),
    );
    error.help("record some: host convert manifest.yml ... --record DIR")
}

/// The document in a file; `None` if there is no such file.
fn document(file: &Path) -> Result<Option<Tree>, Diagnostic> {
    let name = files::name(file);
    let refuse = |message: String| Diagnostic::error(codes::PLUGIN_CASE, message).in_document(&name);
    // Cases may come from others: a link could lead anywhere, and a named pipe would block.
    let Some(bytes) = files::regular(file, files::MAX_BYTES).map_err(|error| files::unreadable(&name, &error))? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).map_err(|_| refuse("the file is not UTF-8".to_string()))?;
    let document = json::parse(&text).map_err(|error| refuse(format!("the file is not JSON: {error}")))?;
    Ok(Some(document))
}

fn write(file: &Path, content: &Tree) -> Result<()> {
    durable::write(file, json::to_lines(content).as_bytes(), 0o600)
        .with_context(|| format!("cannot write '{}'", file.display()))
}
