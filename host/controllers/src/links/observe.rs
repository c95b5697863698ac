//! Reads the Secrets of links that have changed. What else the plan depends on is in the stores that the watches fill.

use super::consumed::LinkName;
use super::found::Link;
use super::memory::{Content, Known};
use super::plan::{self, Observed};
use super::stores::{PodMeta, Stores};
use super::{Context, DeploymentMeta, find};
use boson_cluster::client::{Error, Identity};
use boson_manifest::names::Names;
use kube::runtime::controller::Action;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// As long as the key of digests is not known.
const KEY_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Reads the state. Breaks without pods, and as long as digests cannot be compared.
///
/// # Errors
/// See [`Error`].
pub(super) async fn observe(
    context: &Context,
    deployment: &DeploymentMeta,
) -> Result<ControlFlow<Action, Observed>, Error> {
    let Identity { namespace, name, .. } = Identity::of(deployment)?;
    let names = Names::new(name, namespace, "");
    let (Ok(names), Some(stores)) = (names, context.stores(namespace)) else {
        return Ok(ControlFlow::Break(Action::await_change()));
    };
    let mut known = context.memory.take(namespace, name);
    let pods = stores.pods(namespace, &names.deployment());
    if pods.is_empty() {
        return Ok(ControlFlow::Break(Action::await_change()));
    }
    if !context.key.is_set() {
        return Ok(ControlFlow::Break(Action::requeue(KEY_RETRY_DELAY)));
    }
    known.expire(Instant::now());
    if let Err(error) = read(context, &stores, deployment, &names, &pods, &mut known).await {
        context.memory.put(namespace, name, known);
        return Err(error);
    }
    let key = context.key.clone();
    Ok(ControlFlow::Continue(Observed { pods, known, key }))
}

/// Reads the Secrets that have changed.
async fn read(
    context: &Context,
    stores: &Stores,
    deployment: &DeploymentMeta,
    names: &Names,
    pods: &[Arc<PodMeta>],
    known: &mut Known,
) -> Result<(), Error> {
    let Identity { namespace, name, .. } = Identity::of(deployment)?;
    let secret = |link: &LinkName| {
        let secret = stores.secret(namespace, &names.link(&link.kind, &link.name))?;
        Some(secret.metadata.clone())
    };
    let wanted = plan::wanted_links(pods, name);
    for link in plan::unread_links(&wanted, name, &mut known.contents, secret) {
        match find::read_link(&context.cluster, namespace, name, &link, names).await? {
            Some(Link {
                version,
                content: digest,
                ..
            }) => {
                known.contents.insert(link, Content { version, digest });
            }
            None => drop(known.contents.remove(&link)),
        }
    }
    Ok(())
}
