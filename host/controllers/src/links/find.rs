//! Reads the Secrets of links.

use super::consumed::{Consumed, LinkName};
use super::found::{self, Link, MissingLinkError, missing_link, provided_link};
use boson_api::BoshDeployment;
use boson_cluster::client::{Cluster, Error};
use boson_manifest::names::Names;
use k8s_openapi::api::core::v1::Secret;

/// Why a pod does not get its links.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    /// The first one that is missing.
    #[error(transparent)]
    Missing(#[from] MissingLinkError),
    #[error(transparent)]
    Api(#[from] Error),
}

/// The links that a pod asks for, in its order. Secrets are read one at a time: each may have a megabyte.
pub(crate) async fn find(cluster: &Cluster, namespace: &str, consumed: &Consumed) -> Result<Vec<Link>, FindError> {
    let deployment = &consumed.deployment;
    // Names of Secrets do not depend on the domain.
    let Ok(names) = Names::new(deployment, namespace, "") else {
        let first = consumed.links.first().cloned().unwrap_or_default();
        return Err(missing_link(namespace, consumed, &first, false, Vec::new()).into());
    };
    let mut links = Vec::new();
    for wanted in &consumed.links {
        match read_link(cluster, namespace, deployment, wanted, &names).await? {
            Some(link) => links.push(link),
            None => return Err(explain(cluster, namespace, consumed, wanted, &names).await?.into()),
        }
    }
    Ok(links)
}

/// A link of a deployment as its Secret stores it now, if it exists.
pub(super) async fn read_link(
    cluster: &Cluster,
    namespace: &str,
    deployment: &str,
    link: &LinkName,
    names: &Names,
) -> Result<Option<Link>, Error> {
    let secret: Option<Secret> = cluster.get(namespace, &names.link(&link.kind, &link.name)).await?;
    Ok(secret.and_then(|secret| Link::of(&secret, deployment, link)))
}

async fn explain(
    cluster: &Cluster,
    namespace: &str,
    consumed: &Consumed,
    wanted: &LinkName,
    names: &Names,
) -> Result<MissingLinkError, Error> {
    let deployment = &consumed.deployment;
    let fields = format!("metadata.name={deployment}");
    let there: Vec<BoshDeployment> = cluster.list_with_fields(namespace, &fields).await?;
    let selector = found::selector(&names.deployment());
    let others = cluster.list_metadata::<Secret>(namespace, &selector).await?;
    let others = others.iter().filter_map(|meta| provided_link(meta, deployment));
    Ok(missing_link(
        namespace,
        consumed,
        wanted,
        !there.is_empty(),
        others.collect(),
    ))
}
