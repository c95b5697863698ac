//! The inputs of a conversion job's containers: documents that may be compressed, the values of variables, the
//! releases.

use boson_commands::codes;
use boson_commands::files;
use boson_in_pod::{Held, Origin, Values};
use boson_pipeline::convert::stored_documents;
use boson_pipeline::release::Release;
use boson_pipeline::report::Sources;
use boson_pipeline::stage::External;
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, external};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// A document of a Secret. `name`: its name in diagnostics.
///
/// # Errors
/// It cannot be read, or is not YAML.
pub fn document(path: &Path, name: &str, sources: &mut Sources) -> Result<Document, Vec<Diagnostic>> {
    let bytes = files::read(path)?;
    let document = stored_documents::read(name, &bytes)?;
    sources.add_document(document.clone(), true);
    Ok(document)
}

/// The links from outside of the deployment; none without a file.
///
/// # Errors
/// They cannot be read.
pub fn links(path: Option<&Path>) -> Result<External, Vec<Diagnostic>> {
    let Some(path) = path else {
        return Ok(External::default());
    };
    let bytes = files::read(path)?;
    let document = stored_documents::read(&files::name(path), &bytes)?;
    Ok(external::read(&document.tree))
}

/// The values of variables in this folder; none without a folder.
///
/// # Errors
/// It cannot be read, or contains something else than values.
pub fn values(folder: Option<&Path>) -> Result<(Vec<Held>, Values), Vec<Diagnostic>> {
    let mut held = Vec::new();
    for (folder, origin) in folder
        .iter()
        .flat_map(|folder| Origin::ALL.map(|origin| (folder, origin)))
    {
        let place = folder.join(origin.folder());
        for variable in names(&place).map_err(|error| unreadable(&place, &error))? {
            let data = entries(&place.join(&variable))?;
            held.extend(Held::found(origin, &variable, data));
        }
    }
    let values = Values::of(&held)?;
    Ok((held, values))
}

/// All releases below `jobs-src`.
///
/// # Errors
/// All errors in them.
pub fn releases(folder: &Path, sources: &mut Sources) -> Result<Vec<Release>, Vec<Diagnostic>> {
    let limits = boson_releases::Limits::default();
    let releases = boson_releases::read_all(folder, None, limits, sources, &mut |_| {})?;
    sources.add_releases(&releases);
    Ok(releases)
}

fn entries(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Vec<Diagnostic>> {
    let names = names(folder).map_err(|error| unreadable(folder, &error))?;
    let entry = |name: String| {
        let bytes = files::read(&folder.join(&name))?;
        Ok((name, bytes))
    };
    names.into_iter().map(entry).collect()
}

/// The names in a folder, sorted, without the kubelet's own entries, which begin with `..`. Empty if there is no such
/// folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with("..") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        codes::INPUT_UNREADABLE,
        format!("'{}' cannot be read: {error}", path.display()),
    )
}
