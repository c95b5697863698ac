//! `boson.yaml` beside a manifest: options of `host convert` that a team repeats. The command line overrides single
//! values and adds to lists.

use crate::codes;
use crate::command::inputs::names::{domain, namespace};
use crate::command::inputs::releases;
use boson_commands::inputs;
use boson_document::Code;
use boson_document::{Tree, go};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use boson_pipeline::yaml::Document;
use std::path::{Path, PathBuf};

pub const FILE_NAME: &str = "boson.yaml";

/// Keys, as the options are called, and what they take.
const OPTION_KEYS: [(&str, Kind); 10] = [
    ("cloud-config", Kind::List),
    ("cluster-domain", Kind::Text),
    ("name", Kind::Text),
    ("namespace", Kind::Text),
    ("ops-file", Kind::List),
    ("registry", Kind::Text),
    ("release", Kind::List),
    ("runtime-config", Kind::List),
    ("vars-file", Kind::List),
    ("vars-store", Kind::Text),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// A list of texts; one text is a list of one.
    List,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    pub cloud_configs: Vec<PathBuf>,
    pub cluster_domain: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub ops: Vec<PathBuf>,
    pub registry: Option<String>,
    /// `[NAME=]PATH`
    pub releases: Vec<String>,
    pub runtime_configs: Vec<PathBuf>,
    pub vars_files: Vec<PathBuf>,
    pub vars_store: Option<PathBuf>,
}

/// The file beside this manifest; `None` if it does not exist, or if the manifest is read from standard input.
pub fn beside(manifest: &Path) -> Option<PathBuf> {
    if manifest == Path::new("-") {
        return None;
    }
    let path = manifest.parent()?.join(FILE_NAME);
    path.is_file().then_some(path)
}

/// Reads a file. Its paths are relative to its own directory. The note lists the keys in use.
///
/// # Errors
/// All errors in it: not a map, unknown keys, values of another type.
pub fn read(path: &Path, sources: &mut Sources) -> Result<(Defaults, Diagnostic), Vec<Diagnostic>> {
    let document = inputs::yaml_file(path, sources)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let (defaults, used) = defaults(&document, directory)?;
    let message = format!("using options from {FILE_NAME}: {}", used.join(", "));
    let note = Diagnostic::info(codes::CONFIG_USED, message)
        .in_document(&document.name)
        .help("ignore the file with --no-config");
    Ok((defaults, note))
}

fn defaults(document: &Document, directory: &Path) -> Result<(Defaults, Vec<String>), Vec<Diagnostic>> {
    let tree = &document.tree;
    if tree.is_null() {
        return Ok((Defaults::default(), Vec::new()));
    }
    let Some(members) = tree.as_map() else {
        let message = format!("{FILE_NAME} is not a map: it is of the type {}", go::tag(tree));
        return Err(vec![error(document, codes::CONFIG_WRONG_TYPE, "", message)]);
    };
    let (mut found, mut used, mut errors) = (Defaults::default(), Vec::new(), Vec::new());
    for (key, value) in members {
        let Some((_, kind)) = OPTION_KEYS.iter().find(|(name, _)| name == key) else {
            let known: Vec<&str> = OPTION_KEYS.iter().map(|(name, _)| *name).collect();
            let unknown = error(document, codes::CONFIG_UNKNOWN_KEY, key, format!("unknown key '{key}'"));
            let unknown = unknown.help(format!("known keys are {}", known.join(", ")));
            errors.push(unknown.suggest(key, known));
            continue;
        };
        let mut wrong = |message: String| errors.push(error(document, codes::CONFIG_WRONG_TYPE, key, message));
        let Some(texts) = texts(value, *kind) else {
            let wanted = match kind {
                Kind::List => "a string or a list of strings",
                Kind::Text => "a string",
            };
            wrong(format!("'{key}' is {wanted}, not of the type {}", go::tag(value)));
            continue;
        };
        used.push(match kind {
            Kind::List => format!("{key} ({})", texts.len()),
            Kind::Text => key.clone(),
        });
        if let Err(why) = found.set(key, texts, directory) {
            wrong(format!("'{key}': {why}"));
        }
    }
    if errors.is_empty() {
        Ok((found, used))
    } else {
        Err(errors)
    }
}

fn error(document: &Document, code: &Code, key: &str, message: String) -> Diagnostic {
    let pointer = boson_document::Pointer::root();
    let pointer = if key.is_empty() { pointer } else { pointer.at(key) };
    Diagnostic::error(code, message).in_document(&document.name).at(pointer)
}

fn texts(value: &Tree, kind: Kind) -> Option<Vec<String>> {
    match (value, kind) {
        (Tree::String(text), _) => Some(vec![text.clone()]),
        (Tree::Array(items), Kind::List) => items.iter().map(|item| item.as_str().map(String::from)).collect(),
        _ => None,
    }
}

// === impl Defaults ===

impl Defaults {
    fn set(&mut self, key: &str, texts: Vec<String>, directory: &Path) -> Result<(), String> {
        let paths = || texts.iter().map(|text| resolve_path(directory, text)).collect();
        let one = || texts.first().cloned();
        match key {
            "cloud-config" => self.cloud_configs = paths(),
            "cluster-domain" => self.cluster_domain = one().map(|text| domain(&text)).transpose()?,
            "name" => self.name = one(),
            "namespace" => self.namespace = one().map(|text| namespace(&text)).transpose()?,
            "ops-file" => self.ops = paths(),
            "registry" => self.registry = one(),
            "release" => self.releases = texts.iter().map(|text| resolve_release(directory, text)).collect(),
            "runtime-config" => self.runtime_configs = paths(),
            "vars-file" => self.vars_files = paths(),
            _ => self.vars_store = one().map(|text| resolve_path(directory, &text)),
        }
        Ok(())
    }
}

/// A path of the file: relative to its directory, but for those that begin with `~`.
fn resolve_path(directory: &Path, text: &str) -> PathBuf {
    if text.starts_with('~') {
        text.into()
    } else {
        directory.join(text)
    }
}

fn resolve_release(directory: &Path, text: &str) -> String {
    let (name, path) = releases::split(text);
    let path = resolve_path(directory, &path).display().to_string();
    name.map_or(path.clone(), |name| format!("{name}={path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boson_pipeline::yaml;

    fn parsed(text: &str) -> Result<Defaults, Vec<Diagnostic>> {
        let document = yaml::read("team/boson.yaml", text).unwrap();
        defaults(&document, Path::new("team")).map(|(defaults, _)| defaults)
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let text = "registry: r.example.com/cf\nops-file: [a.yml, /b.yml, ~/c.yml]\nrelease: nats=releases/nats\nvars-store: v.yml\n";
        let found = parsed(text).unwrap();
        assert_eq!(found.registry.as_deref(), Some("r.example.com/cf"));
        assert_eq!(found.ops, ["team/a.yml", "/b.yml", "~/c.yml"].map(PathBuf::from));
        assert_eq!(found.releases, ["nats=team/releases/nats"]);
        assert_eq!(found.vars_store, Some("team/v.yml".into()));
        assert_eq!(parsed("").unwrap(), Defaults::default());
    }

    #[test]
    fn everything_wrong_is_reported_with_its_place() {
        let errors = parsed("registri: x\nnamespace: A_B\nops-file: {a: b}\n").unwrap_err();
        let places: Vec<_> = errors
            .iter()
            .map(|one| (one.code.as_str(), one.place.pointer.as_deref().unwrap()))
            .collect();
        let expected = [
            ("config-unknown-key", "/registri"),
            ("config-wrong-type", "/namespace"),
            ("config-wrong-type", "/ops-file"),
        ];
        assert_eq!(places, expected);
        assert_eq!(parsed("- x").unwrap_err()[0].code, "config-wrong-type");
    }
}
