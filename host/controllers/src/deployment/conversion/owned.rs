//! Objects of the deployment, as the API server gets them: with its label and its owner reference. Pure.

use crate::codes;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::objects;
use boson_document::{Tree, json};
use boson_pipeline::bundle::Bundle;
use boson_pipeline::bundle::privileges::GrantedPrivileges;
use boson_pipeline::stage::PluginRef;
use boson_pipeline::{Diagnostic, Stage, Stages};
use serde_json::Value;

/// These objects, marked as the deployment's own.
///
/// # Errors
/// A plugin returned an object that JSON cannot represent.
pub fn mark_owned(run: &Reconcile<'_>, objects: Vec<Tree>, manifest: &Manifest) -> Result<Vec<Value>, DeployError> {
    let one = |object: Tree| {
        let mut value: Value = serde_json::from_str(&json::to_text(&object)).map_err(|_| {
            manifest.error(Diagnostic::error(
                codes::DEPLOYMENT_MALFORMED_OBJECT,
                "an object contains a number that JSON cannot represent",
            ))
        })?;
        objects::own(&mut value, &run.names.deployment(), &run.owner);
        Ok(value)
    };
    objects.into_iter().map(one).collect()
}

/// Those of the deployment's own objects that are of this kind, after the checks of a bundle, marked as its own.
///
/// # Errors
/// The bpm stage made an object that it may not make.
pub fn of_kind(
    run: &Reconcile<'_>,
    stages: &dyn Stages,
    mut objects: Vec<Tree>,
    kind: &str,
    manifest: &Manifest,
) -> Result<Vec<Value>, DeployError> {
    objects.retain(|object| object.str("kind") == Some(kind));
    let mut bundle = Bundle::with_rules(
        &run.deployment,
        GrantedPrivileges::default(),
        &run.context.conversion.permissions,
        &manifest.tree,
    );
    let added = bundle.add(objects, stages.author(PluginRef::Rule(Stage::Bpm, None)));
    added.map_err(|errors| manifest.errors(errors))?;
    mark_owned(run, bundle.into_objects(), manifest)
}
