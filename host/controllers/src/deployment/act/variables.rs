//! Applies the QuarksSecrets of a deployment: each asks for the value of a variable.

use super::preflight::check_names;
use super::write;
use crate::deployment::context::MANAGER;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::observe;
use crate::deployment::plan::variables::removed;
use crate::deployment::plan::variables::retention;
use crate::deployment::reconcile::Reconcile;
use boson_api::QuarksSecret;
use boson_api::secret::ReclaimPolicy;
use boson_cluster::client::Error;
use boson_document::Tree;
use boson_manifest::labels;
use serde_json::{Value, json};

/// Applies a QuarksSecret for each value that is not given. Returns the variables that the manifest no longer has:
/// their QuarksSecrets are retained, so that a variable that is added again has its old value.
pub async fn request(
    run: &Reconcile<'_>,
    manifest: &Manifest,
    mut secrets: Vec<Value>,
) -> Result<Vec<String>, DeployError> {
    let mut live = observe::of_kind(run, labels::API_VERSION, "QuarksSecret").await?;
    if !secrets.is_empty() {
        let policy = first_policy(run, &manifest.tree, &live).await?;
        retention::set_policy(&mut secrets, policy);
    }
    let removed = removed(&secrets, &live);
    let plan = observe::difference(run, secrets, &mut live).await?;
    check_names(run, plan.new_objects()).await?;
    for object in &plan.apply {
        let written = write::apply(run, object).await.map_err(DeployError::from);
        written.map_err(|error| manifest.refused_if_lasting(error))?;
    }
    Ok(removed)
}

/// The policy as far as it is known before the conversion: the one decided before, or a guess at first.
/// [`retention::decide`] decides. `live`: the existing QuarksSecrets.
async fn first_policy(run: &Reconcile<'_>, manifest: &Tree, live: &[Value]) -> Result<ReclaimPolicy, Error> {
    let retain = run.object.spec.retain();
    if let Some(policy) = retention::known_policy(retain, live) {
        return Ok(policy);
    }
    let holds_data = retention::asks_for_disks(manifest) || observe::has_claims(run).await?;
    Ok(retention::policy_for(retain, holds_data))
}

/// Sets the policy of QuarksSecrets that the manifest no longer has.
pub async fn set_policy(run: &Reconcile<'_>, removed: &[QuarksSecret], policy: ReclaimPolicy) -> Result<(), Error> {
    for object in removed {
        let members = json!({"spec": {"reclaimPolicy": policy}});
        run.context.cluster.merge(MANAGER, object, members).await?;
    }
    Ok(())
}
