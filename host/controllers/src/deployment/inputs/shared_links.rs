//! The links that other deployments of the namespace share.

use super::digests;
use crate::deployment::error::DeployError;
use crate::deployment::manifest::Manifest;
use crate::deployment::observe;
use crate::deployment::plan::documents::{Ownership, Stored};
use crate::deployment::reconcile::Reconcile;
use boson_api::BoshDeployment;
use boson_api::deployment::{Input, InputKind};
use boson_manifest::labels::{SECRET_TYPE, secret_type};
use boson_manifest::names::Names;
use boson_pipeline::Diagnostic;
use boson_pipeline::convert::{providers_document, shared_links, stored_documents};
use boson_pipeline::external;
use boson_pipeline::stage::{ExternalLink, OtherDeployment};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// The existing deployments that the manifest names in its links, and what they share.
pub async fn read(run: &Reconcile<'_>, manifest: &Manifest) -> Result<Vec<OtherDeployment>, DeployError> {
    let named = external::consumed(&manifest.tree, &run.deployment.name);
    // Remembered before they are read, so that no change is lost.
    run.context.memory.linked.set(&run.key(), named.clone());
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let cluster = &run.context.cluster;
    let mut found = Vec::new();
    for meta in cluster.list_metadata::<BoshDeployment>(run.namespace, "").await? {
        let name = meta.name.clone().unwrap_or_default();
        if !named.contains(&name) || meta.deletion_timestamp.is_some() {
            continue;
        }
        let links = match newest(run, &name, &meta).await? {
            Some(stored) => shared(&name, &stored).map_err(|error| manifest.error(error))?,
            None => Vec::new(),
        };
        found.push(OtherDeployment { name, links });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The newest Secret with the links that a deployment provides; none before its first conversion.
async fn newest(run: &Reconcile<'_>, name: &str, meta: &ObjectMeta) -> Result<Option<Stored>, DeployError> {
    let Ok(names) = Names::new(name, run.namespace, &run.deployment.cluster_domain) else {
        return Ok(None);
    };
    let owner = OwnerReference {
        uid: meta.uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    };
    let ownership = Ownership {
        names: &names,
        namespace: run.namespace,
        owner: &owner,
    };
    let labels = format!("{},{SECRET_TYPE}={}", ownership.selector(), secret_type::LINKS);
    let versions = run
        .context
        .cluster
        .list_metadata::<Secret>(run.namespace, &labels)
        .await?;
    let series = ownership.links();
    let Some(newest) = series.newest(&versions) else {
        return Ok(None);
    };
    let secret = observe::secret(run, newest).await?;
    run.progress.uses(secret.iter().map(|secret| Input {
        kind: InputKind::Link,
        name: format!("deployment/{name}"),
        digest: digests::of_secret(&secret.metadata),
    }));
    secret.map(|secret| Stored::new(&series, secret)).transpose()
}

/// The links in such a Secret that are shared.
fn shared(deployment: &str, stored: &Stored) -> Result<Vec<ExternalLink>, Diagnostic> {
    let document = stored_documents::read(&stored.name, stored.bytes(stored_documents::PROVIDERS))?;
    Ok(shared_links::shared(deployment, providers_document::read(&document)?))
}
