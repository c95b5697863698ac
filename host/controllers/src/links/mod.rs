//! Links for pods that are not part of a deployment. The webhook (`crate::admission`) gives pods the links that they
//! ask for; this controller rolls the workloads of those pods when the content of a link changes.
//!
//! # Guarantees
//! A workload rolls once for each content of its links, and only if its pod template asks for them. Nothing that can be
//! read without permission for Secrets depends on a value.
//!
//! # Caveats
//! Pods without a Deployment, StatefulSet or DaemonSet are not replaced; an event reports them. A link that disappears
//! rolls nothing: its consumers run on with the last values.

#[expect(clippy::disallowed_methods, reason = "it is the part that writes")]
mod act;
mod consumed;
mod digest;
mod find;
mod found;
mod memory;
mod observe;
mod plan;
mod stores;
mod unknown;
mod watch;

pub(crate) use consumed::Consumed;
#[cfg(test)]
pub(crate) use consumed::LinkName;
pub(crate) use digest::DigestKey;
pub(crate) use find::{FindError, find};
pub(crate) use found::{Key, Link};
pub(crate) use stores::NOT_ENDED;

use crate::controller::{AnyController, Controller, Next, Planned, Report, Watched};
use boson_api::BoshDeployment;
use boson_cluster::client::{Cluster, Error, Events, FieldManager};
use boson_cluster::namespaces::Scope;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Action;
use memory::{Memory, RECHECK_INTERVAL};
use parking_lot::RwLock;
use plan::{Observed, Plan};
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use stores::Stores;

/// The owner of the fields that are set here.
const MANAGER: FieldManager = FieldManager("boson-links");

struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    key: DigestKey,
    memory: Memory,
    /// What the watches have stored, by namespace, or of all.
    stores: RwLock<HashMap<Option<String>, Stores>>,
}

type DeploymentMeta = PartialObjectMeta<BoshDeployment>;

/// `instance`: the name of this process.
pub(crate) fn controller(cluster: Cluster, scope: Scope, key: DigestKey, instance: &str) -> Arc<dyn AnyController> {
    Arc::new(Context {
        events: Events::new(cluster.clone(), MANAGER, instance),
        cluster,
        scope,
        key,
        memory: Memory::default(),
        stores: RwLock::default(),
    })
}

// === impl Context ===

impl Context {
    fn stores(&self, namespace: &str) -> Option<Stores> {
        let all = self.stores.read();
        all.get(&Some(namespace.to_string()))
            .or_else(|| all.get(&None))
            .cloned()
    }
}

/// Rolls the consumers of a deployment's links whose content has changed.
impl Controller for Context {
    const NAME: &'static str = "links";

    type Object = DeploymentMeta;
    type Observed = Observed;
    type Need = Infallible;
    type Plan = Plan;
    /// Whether workloads have outdated pods, for which everything was done.
    type Outcome = bool;
    type Status = ();

    fn events(&self) -> &Events {
        &self.events
    }

    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<DeploymentMeta> {
        watch::watch(self, namespace)
    }

    async fn observe(&self, object: &DeploymentMeta) -> Result<ControlFlow<Action, Self::Observed>, Error> {
        observe::observe(self, object).await
    }

    fn plan(object: &DeploymentMeta, observed: &Observed, _: Timestamp) -> Result<Planned<Self>, Error> {
        Ok(Planned::Act(plan::plan(&object.name_any(), observed)))
    }

    async fn act(&self, object: &Arc<DeploymentMeta>, observed: Observed, plan: Plan) -> Result<bool, Error> {
        act::act(self, object, observed.known, plan).await
    }

    /// A deployment does not tell who consumes its links: the events are about the workloads.
    fn status(_: &DeploymentMeta, has_settled: bool, _: Timestamp) -> Report<Self> {
        Report::next(Next::Wait(if has_settled {
            Action::requeue(RECHECK_INTERVAL)
        } else {
            Action::await_change()
        }))
    }

    fn forget(&self, namespace: &str, name: &str) {
        drop(self.memory.take(namespace, name));
    }
}
