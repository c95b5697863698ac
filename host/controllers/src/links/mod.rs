//! Links for pods that are not part of a deployment. The webhook (`crate::admission`) gives pods the links that they ask
//! for; this controller rolls the workloads of those pods when the content of a link changes.
//!
//! # Guarantees
//! A workload rolls once for each content of its links, and only if its pod template asks for them. Nothing that can be
//! read without permission for Secrets depends on a value.
//!
//! # Caveats
//! Pods without a Deployment, StatefulSet or DaemonSet are not replaced; an event reports them. A link that disappears
//! rolls nothing: its consumers run on with the last values.

mod act;
mod consumed;
mod digest;
mod find;
mod found;
mod plan;
mod watch;

pub(crate) use consumed::Consumed;
#[cfg(test)]
pub(crate) use consumed::LinkName;
pub(crate) use digest::DigestKey;
pub(crate) use find::find;
pub(crate) use found::{Key, Link, Missing};
pub(crate) use watch::run;

use boson_api::BoshDeployment;
use boson_cluster::client::{Cluster, Error, Events, FieldManager, Identity};
use boson_cluster::namespaces::Scope;
use boson_manifest::labels::CONSUMER;
use boson_manifest::names::Names;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::controller::Action;
use plan::Links;
use std::time::Duration;

/// The owner of the fields that are set here.
const MANAGER: FieldManager = FieldManager("boson-links");
/// After a lost race.
const SOON: Duration = Duration::from_millis(200);
/// As long as the key of digests is not known.
const LATER: Duration = Duration::from_secs(5);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    key: DigestKey,
}

// === impl Context ===

impl Context {
    /// `instance`: the name of this process.
    pub fn new(cluster: Cluster, scope: Scope, key: DigestKey, instance: &str) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            cluster,
            scope,
            key,
        }
    }

    /// Rolls the consumers of a deployment's links whose content has changed.
    async fn reconcile(&self, deployment: &BoshDeployment) -> Result<Action, Error> {
        let Identity { namespace, name, .. } = Identity::of(deployment)?;
        if !self.scope.holds(namespace) {
            return Ok(Action::await_change());
        }
        let Ok(names) = Names::new(name, namespace, "") else {
            return Ok(Action::await_change());
        };
        let selector = format!("{CONSUMER}={}", names.deployment());
        let pods: Vec<Pod> = self.cluster.list(namespace, &selector).await?;
        if pods.is_empty() {
            return Ok(Action::await_change());
        }
        if !self.key.is_set() {
            return Ok(Action::requeue(LATER));
        }
        let links = self.links(namespace, name, &pods).await?;
        match act::roll(
            self,
            namespace,
            name,
            &plan::outdated(&pods, name, &links, &self.key),
            &links,
        )
        .await
        {
            Err(error) if error.is_race() => Ok(Action::requeue(SOON)),
            done => done.map(|()| Action::await_change()),
        }
    }

    /// The links that these pods ask for.
    async fn links(&self, namespace: &str, deployment: &str, pods: &[Pod]) -> Result<Links, Error> {
        let mut links = Links::new();
        for link in plan::wanted(pods, deployment) {
            let found = find::one(&self.cluster, namespace, deployment, &link).await?;
            links.extend(found.map(|found| (link, found)));
        }
        Ok(links)
    }
}
