//! Reading the documents that commands take: YAML files, their warnings, and their registration for excerpts.

use crate::files;
use crate::plugins::PluginArguments;
use boson_document::Tree;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::settings::Settings;
use boson_pipeline::yaml::{self, Document};
use std::path::Path;

/// Reads a YAML file whose text may be shown.
///
/// # Errors
/// The file cannot be read, or is no YAML.
pub fn yaml_file(path: &Path, sources: &mut Sources) -> Result<Document, Box<Diagnostic>> {
    read(path, sources, false)
}

/// Reads a YAML file that holds secrets: messages name places in it, and show nothing of it.
///
/// # Errors
/// As [`yaml_file`].
pub fn secret_file(path: &Path, sources: &mut Sources) -> Result<Document, Box<Diagnostic>> {
    read(path, sources, true)
}

/// The content of a YAML or JSON file.
///
/// # Errors
/// As [`yaml_file`].
pub fn document(path: &Path, sources: &mut Sources) -> Result<Tree, Box<Diagnostic>> {
    Ok(secret_file(path, sources)?.tree)
}

fn read(path: &Path, sources: &mut Sources, secret: bool) -> Result<Document, Box<Diagnostic>> {
    let bytes = files::read(path)?;
    let name = files::name(path);
    match yaml::read_bytes(&name, &bytes) {
        Ok(document) => {
            sources.add_document(document.clone(), secret);
            Ok(document)
        }
        Err(diagnostic) => {
            // What is wrong with the text is best seen in the text.
            if !secret && let Ok(text) = String::from_utf8(bytes) {
                sources.add_text(&name, &text);
            }
            Err(Box::new(diagnostic))
        }
    }
}

/// The settings that the user gave to plugins.
///
/// # Errors
/// As [`yaml_file`], for the first file that fails.
pub fn settings(arguments: &PluginArguments, sources: &mut Sources) -> Result<Vec<Settings>, Box<Diagnostic>> {
    arguments
        .settings
        .iter()
        .map(|one| {
            Ok(Settings {
                stage: one.stage,
                document: secret_file(&one.file, sources)?,
            })
        })
        .collect()
}
