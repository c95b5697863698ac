//! The first step: the manifest with its ops files applied, combined with its cloud configs and runtime configs.

use super::needed;
use crate::cloud_config;
use crate::diagnostic::Diagnostic;
use crate::report::Sources;
use crate::runtime_config;
use crate::stage::{Named, StageError, Stages};
use crate::yaml::Document;
use boson_document::Tree;
use std::borrow::Borrow;
use std::collections::HashSet;

/// A manifest and the documents that change it.
#[derive(Clone, Copy, Debug)]
pub struct Documents<'a, D> {
    pub manifest: &'a Document,
    /// Its ops files, in order. A file may be in the list twice.
    pub ops: &'a [D],
    pub cloud_configs: &'a [D],
    pub runtime_configs: &'a [D],
    /// Name of the deployment, which addons of runtime configs select. None: the manifest's.
    pub deployment: Option<&'a str>,
}

/// Applies the ops files, and adds the cloud configs and runtime configs. From then on, the manifest's name in
/// `sources` means the result, whose parts are traced to their documents. Warnings are added to `reported`, also if the
/// step fails.
///
/// # Errors
/// Of the ops stage; a manifest for `bosh create-env`; cloud configs and runtime configs that cannot be merged.
pub fn merge<D: Borrow<Document>>(
    stages: &dyn Stages,
    documents: Documents<'_, D>,
    sources: &mut Sources,
    reported: &mut Vec<Diagnostic>,
) -> Result<Tree, Vec<Diagnostic>> {
    let Documents {
        manifest,
        ops,
        cloud_configs,
        runtime_configs,
        deployment,
    } = documents;
    let applied = apply(stages, manifest, ops, sources, reported)?;
    let named = Named::new(&manifest.name, &applied);
    if let Some(refused) = needed::create_env(named) {
        return Err(vec![refused]);
    }
    let (combined, warnings) = cloud_config::combine(&manifest.name, applied, cloud_configs, sources)?;
    reported.extend(warnings);
    let named = Named::new(&manifest.name, &combined);
    let deployment = deployment.or_else(|| named.tree.str("name")).unwrap_or_default();
    let (combined, warnings) = runtime_config::combine(named, deployment, runtime_configs, sources)?;
    reported.extend(warnings);
    Ok(combined)
}

/// Applies the ops files alone. The rest is as in [`merge`].
///
/// # Errors
/// Of the ops stage.
pub fn apply<D: Borrow<Document>>(
    stages: &dyn Stages,
    manifest: &Document,
    ops: &[D],
    sources: &mut Sources,
    reported: &mut Vec<Diagnostic>,
) -> Result<Tree, Vec<Diagnostic>> {
    reported.extend(manifest.warnings.iter().cloned());
    reported.extend(warnings(ops));
    if ops.is_empty() {
        return Ok(manifest.tree.clone());
    }
    let files: Vec<Named<'_>> = ops.iter().map(|file| named(file.borrow())).collect();
    let (applied, notes) = stages.apply(named(manifest), &files).map_err(|error| match error {
        StageError::Plugin(broken) => vec![in_first_file(stages, named(manifest), &files, broken)],
        error => error.into(),
    })?;
    reported.extend(notes);
    let document = applied.document.clone();
    sources.add_result(&manifest.name, &manifest.name, document, &applied.origins);
    Ok(applied.document)
}

/// The failure of the ops plugin, in the file with whose operations it begins: one that takes too long or too much
/// memory does not say at which operation.
fn in_first_file(stages: &dyn Stages, manifest: Named<'_>, files: &[Named<'_>], broken: Diagnostic) -> Diagnostic {
    if broken.place.document.is_none() {
        return broken;
    }
    let breaks = |count: &usize| match stages.apply(manifest, &files[..*count]) {
        Err(StageError::Plugin(again)) => again.code == broken.code,
        _ => false,
    };
    let counts: Vec<usize> = (1..files.len()).collect();
    let first = counts.partition_point(|count| !breaks(count));
    match files.get(first) {
        Some(file) => broken.in_document(file.name),
        None => broken,
    }
}

/// The warnings of each file, once.
fn warnings<D: Borrow<Document>>(files: &[D]) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    let files = files.iter().map(Borrow::<Document>::borrow);
    let each = files.filter(|file| seen.insert(file.name.as_str()));
    each.flat_map(|file| file.warnings.iter().cloned()).collect()
}

fn named(document: &Document) -> Named<'_> {
    Named::new(&document.name, &document.tree)
}
