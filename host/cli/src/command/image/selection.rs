//! Which images to build, and where their releases are.

use super::ImageArguments;
use crate::command::inputs::releases;
use crate::command::inputs::variables::{self, Asked};
use boson_document::Pointer;
use boson_images::codes;
use boson_images::{Stemcell, Wanted, wanted};
use boson_pipeline::report::Sources;
use boson_pipeline::variables::Options;
use boson_pipeline::{Diagnostic, Stage};
use boson_plugin_tools::plugins;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub struct Selected {
    /// Name of the release, for progress.
    pub title: String,
    pub from: From,
    /// Place in the manifest, for errors.
    pub place: Option<(String, Pointer)>,
    /// The wanted image; `None` if the tarball determines it.
    pub wanted: Option<Wanted>,
    /// The stemcell that the user named.
    pub stemcell: Option<Stemcell>,
    /// Registry and organization, for images that the tarball names.
    pub registry: Option<String>,
}

pub enum From {
    Path(PathBuf),
    /// An address, and digests where the manifest has some.
    Web(String, Option<String>),
}

pub struct Selection {
    pub all: Vec<Selected>,
    pub warnings: Vec<Diagnostic>,
    /// Name of the manifest.
    pub document: Option<String>,
}

/// Reads the command line, and the manifest if given.
///
/// # Errors
/// All errors in them.
pub fn select(arguments: &ImageArguments, sources: &mut Sources) -> Result<Selection, Vec<Diagnostic>> {
    match (&arguments.tarball, &arguments.manifest) {
        (_, Some(manifest)) => of_manifest(arguments, manifest, sources),
        (tarball, None) => {
            let path = tarball.clone().unwrap_or_default();
            Ok(Selection {
                all: vec![Selected {
                    title: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    from: From::Path(path),
                    place: None,
                    wanted: None,
                    stemcell: arguments.stemcell.clone(),
                    registry: arguments.registry.clone(),
                }],
                warnings: Vec::new(),
                document: None,
            })
        }
    }
}

fn of_manifest(arguments: &ImageArguments, path: &Path, sources: &mut Sources) -> Result<Selection, Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    let plugins = plugins::prepare(&arguments.plugins, &[Stage::Ops, Stage::Variables], sources)?;
    let mut read = variables::read(path, &arguments.variables, sources)?;
    let document = read.apply(&plugins, sources, &mut warnings)?;
    // Passwords and certificates are not needed for images: variables without a value stay as they are.
    let options = Options::interpolate(false, false);
    let manifest = read.interpolate(&plugins, &document, &options, &Asked::default(), sources, &mut warnings)?;
    let given = given_paths(&arguments.releases)?;
    let all = wanted(&manifest.name, &manifest.document, arguments.registry.as_deref())?;
    let mut errors = unknown_release_errors(&given, &all);
    let mut selected = Vec::new();
    for one in all {
        let place = (manifest.name.clone(), one.pointer.clone());
        let from = match (given.get(&one.release), &one.url) {
            (Some(path), _) => From::Path(path.clone()),
            (None, Some(url)) => From::Web(url.clone(), one.digests.clone()),
            (None, None) => {
                errors.push(no_url_error(&one).in_document(&place.0).at(&place.1));
                continue;
            }
        };
        if matches!(from, From::Web(_, None)) {
            let message = format!("release '{}' has no 'sha1': the download is not verified", one.release);
            warnings.push(
                Diagnostic::warning(codes::IMAGE_UNVERIFIED, message)
                    .in_document(&place.0)
                    .at(&place.1),
            );
        }
        selected.push(Selected {
            title: one.release.clone(),
            from,
            place: Some(place),
            stemcell: Some(one.stemcell.clone()),
            wanted: Some(one),
            registry: None,
        });
    }
    if errors.is_empty() {
        Ok(Selection {
            all: selected,
            warnings,
            document: Some(manifest.name),
        })
    } else {
        Err(errors)
    }
}

/// The paths of `--release`, by release. Without a given name, it is read from there.
fn given_paths(releases: &[String]) -> Result<BTreeMap<String, PathBuf>, Vec<Diagnostic>> {
    let mut given = BTreeMap::new();
    for text in releases {
        let (name, path) = releases::name_and_path(text);
        let name = match name {
            Some(name) => name,
            None => boson_releases::read(&path, None)?.name,
        };
        given.insert(name, path);
    }
    Ok(given)
}

/// Errors for names in `--release` that the manifest does not have: otherwise the release would be downloaded.
fn unknown_release_errors(given: &BTreeMap<String, PathBuf>, all: &[Wanted]) -> Vec<Diagnostic> {
    let is_unknown = |name: &&String| all.iter().all(|one| one.release != **name);
    let error = |name: &String| {
        let message = format!("the manifest has no release '{name}', which --release names");
        Diagnostic::error(codes::IMAGE_NO_RELEASE, message)
            .help("check the spelling, or remove the option")
            .suggest(name, all.iter().map(|one| one.release.as_str()))
    };
    given.keys().filter(is_unknown).map(error).collect()
}

fn no_url_error(wanted: &Wanted) -> Diagnostic {
    let name = &wanted.release;
    let message = format!("release '{name}' has no 'url' to download it from");
    Diagnostic::error(codes::IMAGE_NO_RELEASE, message).help(format!(
        "use a local tarball or the release's repository: --release {name}=PATH"
    ))
}
