//! The objects of `--native`: native Secrets, Services and what is behind them, and the shared links of other
//! deployments, from files as `kubectl get -o yaml` prints them.

use boson_commands::files;
use boson_commands::inputs;
use boson_document::{Pointer, Tree};
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::shared_links::Others;
use boson_pipeline::diagnostic::all;
use boson_pipeline::external::{self, NATIVE_LINK_LIMIT, NATIVE_LINK_UNUSED, Native, Object};
use boson_pipeline::listing::first_of;
use boson_pipeline::report::Sources;
use boson_pipeline::stage::{Deployment, External};
use boson_pipeline::yaml::Document;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_DOCUMENTS: usize = 256;
/// Kinds that only belong to a Service.
const BACKEND_KINDS: [&str; 3] = ["EndpointSlice", "Endpoints", "Pod"];
/// How many objects without effect a warning names.
const MAX_NAMED_OBJECTS: usize = 5;

/// Reads files and directories.
///
/// # Errors
/// All that cannot be read.
pub fn read(paths: &[PathBuf], sources: &mut Sources) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let read = all(paths.iter().map(|path| read_path(&files::expanded(path), sources)))?;
    Ok(read.into_iter().flatten().collect())
}

/// The documents of a file, or of all YAML and JSON files in a directory, in the order of their names.
fn read_path(path: &Path, sources: &mut Sources) -> Result<Vec<Document>, Vec<Diagnostic>> {
    if !path.is_dir() {
        return read_file(path, sources);
    }
    let unreadable = |error| files::unreadable(&files::name(path), &error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("yml" | "yaml" | "json")) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut documents = Vec::new();
    for path in paths {
        documents.extend(read_file(&path, sources)?);
    }
    Ok(documents)
}

fn read_file(path: &Path, sources: &mut Sources) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let name = files::name(path);
    let bytes = files::read(path)?;
    let texts = match String::from_utf8(bytes) {
        Ok(text) => split_documents(&text),
        Err(error) => vec![error.into_bytes()],
    };
    if texts.len() > MAX_DOCUMENTS {
        let message = format!("'{name}' has more than {MAX_DOCUMENTS} YAML documents");
        let error = Diagnostic::error(NATIVE_LINK_LIMIT, message).in_document(&name);
        return Err(vec![
            error.help("put the objects into a List, as `kubectl get -o yaml` does"),
        ]);
    }
    all(texts.into_iter().enumerate().map(|(nth, text)| {
        let name = match nth {
            0 => name.clone(),
            nth => format!("{name} (document {})", nth + 1),
        };
        inputs::secret_text(&name, text, sources)
    }))
}

/// The documents of a YAML stream. Lines before a document become empty ones, so that line numbers stay right.
fn split_documents(text: &str) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    for (nth, line) in text.split_inclusive('\n').enumerate() {
        let is_marker = line.trim_end() == "---" || line.starts_with("--- ");
        let is_first = parts.len() == 1 && parts.iter().flatten().all(u8::is_ascii_whitespace);
        if is_marker && !is_first && parts.len() <= MAX_DOCUMENTS {
            parts.push(vec![b'\n'; nth]);
        }
        if let Some(part) = parts.last_mut() {
            part.extend_from_slice(line.as_bytes());
        }
    }
    parts
}

/// The links that the objects in these documents provide to a deployment, and those of the other deployments that its
/// manifest names.
pub fn links(
    documents: &[Document],
    deployment: &Deployment,
    manifest: &Tree,
) -> Result<(External, Vec<Diagnostic>), Vec<Diagnostic>> {
    let others = Others::of(manifest, deployment);
    let (mut objects, mut diagnostics) = (Vec::new(), Vec::new());
    for document in documents {
        let (used, unused) = objects_of(document).into_iter().partition::<Vec<_>, _>(|object| {
            is_in_namespace(object, deployment) && (is_used(object, deployment) || others.have(object))
        });
        diagnostics.extend(unused_warning(document, &unused, deployment));
        objects.extend(used);
    }
    let Native {
        links,
        diagnostics: reported,
    } = external::native(&objects, &deployment.name);
    diagnostics.extend(reported);
    let deployments = others.deployments(&objects).unwrap_or_else(|errors| {
        diagnostics.extend(errors);
        Vec::new()
    });
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let external = External {
        native: links,
        deployments,
    };
    Ok((external, diagnostics))
}

/// The object of a document, or those of its List.
fn objects_of(document: &Document) -> Vec<Object<'_>> {
    let object = |pointer, tree| Object {
        document: &document.name,
        pointer,
        tree,
    };
    let tree = &document.tree;
    if tree.is_null() {
        return Vec::new();
    }
    if !tree.str("kind").is_some_and(|kind| kind.ends_with("List")) {
        return vec![object(Pointer::root(), tree)];
    }
    let items = tree.items("items").iter().enumerate();
    let pointer = |nth: usize| Pointer::root().at("items").at(nth);
    items.map(|(nth, item)| object(pointer(nth), item)).collect()
}

fn is_in_namespace(object: &Object<'_>, deployment: &Deployment) -> bool {
    let namespace = object.namespace();
    namespace.is_none_or(|namespace| namespace == deployment.namespace)
}

fn is_used(object: &Object<'_>, deployment: &Deployment) -> bool {
    let provides = || {
        external::is_marked(|key| object.annotation(key).is_some())
            && external::deployment(object).is_some_and(|value| external::names_deployment(value, &deployment.name))
    };
    match object.kind() {
        "Secret" | "Service" => provides(),
        kind => BACKEND_KINDS.contains(&kind),
    }
}

/// One warning about all objects of a document that have no effect.
fn unused_warning(document: &Document, unused: &[Object<'_>], deployment: &Deployment) -> Option<Diagnostic> {
    let first = unused.first()?;
    let names: Vec<String> = unused.iter().map(ToString::to_string).collect();
    let verb = match unused.len() {
        1 => "has no effect: it provides",
        _ => "have no effect: they provide",
    };
    let message = format!(
        "{} {verb} no link to deployment '{}' in namespace '{}'",
        first_of(&names, MAX_NAMED_OBJECTS, " and "),
        deployment.name,
        deployment.namespace
    );
    let warning = Diagnostic::warning(NATIVE_LINK_UNUSED, message).in_document(&document.name);
    let help = "check the annotations `quarks.cloudfoundry.org/deployment-name` and `quarks.cloudfoundry.org/provides`, and the namespace";
    Some(warning.at(&first.pointer).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let parts = split_documents(text).into_iter();
        parts.map(|part| String::from_utf8(part).unwrap()).collect()
    }

    #[test]
    fn documents_keep_their_line_numbers() {
        assert_eq!(texts("a: 1\n---\nb: 2\n"), ["a: 1\n", "\n---\nb: 2\n"]);
        assert_eq!(texts("---\na: 1\n"), ["---\na: 1\n"]);
        assert_eq!(texts("---\na: 1\n--- # b\nb: 2"), ["---\na: 1\n", "\n\n--- # b\nb: 2"]);
        assert_eq!(texts(""), [""]);
    }
}
