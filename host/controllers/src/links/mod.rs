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

mod act;
mod consumed;
mod digest;
mod find;
mod found;
mod memory;
mod plan;
mod stores;
mod unknown;
mod watch;

pub(crate) use consumed::{Consumed, LinkName};
pub(crate) use digest::DigestKey;
pub(crate) use find::find;
pub(crate) use found::{Key, Link, Missing};
pub(crate) use stores::NOT_ENDED;
pub(crate) use watch::run;

use boson_api::BoshDeployment;
use boson_cluster::client::{Cluster, Error, Events, FieldManager, Identity};
use boson_cluster::namespaces::Scope;
use boson_manifest::names::Names;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Action;
use memory::{Content, Known, Memory, RECHECK_INTERVAL};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stores::{PodMeta, Stores};

/// The owner of the fields that are set here.
const MANAGER: FieldManager = FieldManager("boson-links");
/// After a lost race.
const CONFLICT_RETRY_DELAY: Duration = Duration::from_millis(200);
/// As long as the key of digests is not known.
const KEY_RETRY_DELAY: Duration = Duration::from_secs(5);

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    scope: Scope,
    key: DigestKey,
    memory: Memory,
}

/// The metadata of a deployment.
type DeploymentMeta = PartialObjectMeta<BoshDeployment>;

// === impl Context ===

impl Context {
    /// `instance`: the name of this process.
    pub fn new(cluster: Cluster, scope: Scope, key: DigestKey, instance: &str) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            cluster,
            scope,
            key,
            memory: Memory::default(),
        }
    }

    /// Rolls the consumers of a deployment's links whose content has changed.
    async fn reconcile(&self, stores: &Stores, deployment: &DeploymentMeta) -> Result<Action, Error> {
        let Identity { namespace, name, .. } = Identity::of(deployment)?;
        if !self.scope.holds(namespace) {
            return Ok(Action::await_change());
        }
        let Ok(names) = Names::new(name, namespace, "") else {
            return Ok(Action::await_change());
        };
        let mut known = self.memory.take(namespace, name);
        let pods = stores.pods(namespace, &names.deployment());
        if pods.is_empty() {
            return Ok(Action::await_change());
        }
        if !self.key.is_set() {
            return Ok(Action::requeue(KEY_RETRY_DELAY));
        }
        known.expire(Instant::now());
        let rolled = self.roll(stores, namespace, name, &names, &pods, &mut known).await;
        let is_settled = known.settled.is_empty();
        self.memory.put(namespace, name, known);
        match rolled {
            Err(error) if error.is_race() => Ok(Action::requeue(CONFLICT_RETRY_DELAY)),
            Err(error) => Err(error),
            Ok(()) if is_settled => Ok(Action::await_change()),
            Ok(()) => Ok(Action::requeue(RECHECK_INTERVAL)),
        }
    }

    /// Reads the Secrets that have changed, and rolls the workloads whose pods have an outdated content.
    async fn roll(
        &self,
        stores: &Stores,
        namespace: &str,
        name: &str,
        names: &Names,
        pods: &[Arc<PodMeta>],
        known: &mut Known,
    ) -> Result<(), Error> {
        let secret = |link: &LinkName| {
            let secret = stores.secret(namespace, &names.link(&link.kind, &link.name))?;
            Some(secret.metadata.clone())
        };
        let wanted = plan::wanted(pods, name);
        for link in plan::to_read(&wanted, name, &mut known.contents, secret) {
            match find::of_name(&self.cluster, namespace, name, &link, names).await? {
                Some(found) => drop(known.contents.insert(link, Content::of(&found))),
                None => drop(known.contents.remove(&link)),
            }
        }
        let outdated = plan::outdated(pods, name, &known.contents, &self.key);
        let due = plan::due(outdated, &mut known.settled);
        act::roll(self, namespace, name, due, known).await
    }
}
