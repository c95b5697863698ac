//! The objects of kinds that an administrator allows in addition. Their definition may be missing, and so may the RBAC
//! rule for them: that stops only the deployments that have such objects.

use super::of_kind::of_kind;
use crate::codes;
use crate::deployment::error::DeployError;
use crate::deployment::reconcile::Reconcile;
use boson_cluster::client::{AnyObject, Error, ErrorKind, Served};
use boson_pipeline::Diagnostic;
use boson_pipeline::bundle::kinds::Kind;
use serde_json::Value;

/// Those in the cluster.
///
/// # Errors
/// A call that failed; a kind of which the deployment has objects and which the operator cannot read.
pub async fn objects(run: &Reconcile<'_>, desired: &[Value]) -> Result<Vec<Value>, DeployError> {
    let mut objects = Vec::new();
    for kind in run.context.cluster.additional_kinds() {
        match of_kind(run, kind.api_version, kind.kind).await {
            Ok(found) => objects.extend(found),
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Forbidden) => {
                check_unreadable(run, kind, desired, error).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(objects)
}

/// A kind that cannot be read. Deployments that have no object of it are converted.
async fn check_unreadable(
    run: &Reconcile<'_>,
    kind: &Kind,
    desired: &[Value],
    error: Error,
) -> Result<(), DeployError> {
    let is_of_kind = |object: &&Value| {
        let (version, name) = (object.api_version(), object.kind());
        version.is_some_and(|version| name.is_some_and(|name| kind.is_of(version, name)))
    };
    let Some(object) = desired.iter().find(is_of_kind) else {
        tracing::warn!(%error, "objects of this kind that the deployment no longer has are not deleted");
        return Ok(());
    };
    let [message, help] = match missing(run, kind).await? {
        Some(missing) => missing,
        None => [
            error.to_string(),
            format!(
                "grant list, watch, create, patch and delete for {} in a role of the operator's account",
                error.resource
            ),
        ],
    };
    let (kind, name) = (kind.kind, object.name().unwrap_or_default());
    let error = Diagnostic::error(
        codes::DEPLOYMENT_KIND_UNAVAILABLE,
        format!("{kind} '{name}': {message}"),
    )
    .help(format!("{help}; the operator retries every 30 s"));
    Err(DeployError::conflict(vec![error]))
}

/// Why the API server does not have a kind, and what to do; `None`: it has. A request without permission is refused
/// before the API server looks for the kind, so this is asked for all of them.
async fn missing(run: &Reconcile<'_>, kind: &Kind) -> Result<Option<[String; 2]>, Error> {
    Ok(Some(match run.context.cluster.served(kind).await? {
        Served::Namespaced => return Ok(None),
        Served::ClusterScoped => [
            "objects of this kind are in no namespace, so a deployment cannot own them".to_string(),
            format!("remove {kind} from --allow-kind"),
        ],
        Served::OtherPlural(plural) => [
            format!("the plural of this kind is '{plural}'"),
            format!("set it: --allow-kind {kind}={plural}"),
        ],
        Served::No => [
            format!("the API server does not know this kind of {}", kind.api_version),
            "install its CustomResourceDefinition, or allow the version that it serves".to_string(),
        ],
    }))
}
