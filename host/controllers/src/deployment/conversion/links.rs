//! The last objects: the Secrets of the links that the deployment provides. Plugins do not see them, because they hold
//! values.

use super::owned::mark_owned;
use super::work::Work;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::AnyObject;
use boson_document::Tree;
use boson_manifest::labels;
use boson_pipeline::bundle::Bundle;
use boson_pipeline::convert::link_secrets;
use boson_pipeline::stage::Provider;
use serde_json::Value;

/// The Secrets of these links.
pub fn secrets(run: &Reconcile<'_>, manifest: &mut Manifest, providers: &[Provider]) -> Result<Vec<Tree>, DeployError> {
    let mut reported = Vec::new();
    let secrets = link_secrets::secrets(&run.names, providers, manifest.named(), &mut reported);
    manifest.warnings.extend(reported);
    secrets.map_err(|errors| manifest.errors(errors))
}

/// Adds them to the other objects, and gives all objects the label and owner reference of the deployment. The links of
/// groups that are held back stay as they are.
pub fn add(run: &Reconcile<'_>, work: &Work, objects: Vec<Tree>, links: Vec<Tree>) -> Result<Vec<Value>, DeployError> {
    let mut whole = Bundle::of_host(&run.deployment).with_kinds(run.context.conversion.permissions.kinds());
    let added = whole
        .add(objects, "plugins")
        .and_then(|()| whole.add(links, "the host"));
    added.map_err(|errors| work.manifest.errors(errors))?;
    let mut objects = mark_owned(run, whole.into_objects(), &work.manifest)?;
    objects.retain(|object| object.label(labels::ENTANGLEMENT).is_none() || !work.held_back.owns(object));
    Ok(objects)
}
