//! The QuarksSecret controller: observe, plan and act, until there is nothing left to do.

mod act;
mod cause;
mod certify;
mod copies;
mod draft;
mod generate;
mod image;
mod keys;
mod marks;
mod observe;
mod own_names;
mod plan;
mod recipe;
mod request;
mod rotation;
mod secret;
mod signer;
mod signing;
mod status;
mod template;
mod watch;

#[cfg(test)]
mod made;
#[cfg(test)]
mod signing_tests;
#[cfg(test)]
mod tests;

use act::act;
use boson_api::{BoshDeployment, QuarksSecret};
use boson_cluster::client::{Cluster, Error, ErrorKind, Events, FieldManager, Identity, Notice};
use boson_cluster::namespaces::Scope;
use boson_cluster::reconcile::Interest;
use k8s_openapi::api::core::v1::ConfigMap;
use keys::Keys;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::{PartialObjectMeta, PartialObjectMetaExt};
use kube::runtime::controller::Action;
use observe::observe;
use plan::{Plan, plan};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) use generate::member;
pub(crate) use secret::retained_by;
pub use signer::OWN_SIGNER;
pub(crate) use signer::Signer;
pub(crate) use watch::run;

/// Owner of the fields that this controller writes.
const MANAGER: FieldManager = FieldManager("boson-quarks-secret");
/// Most writes in one reconcile; a certificate by the built-in signer, with a new authority and a copy, needs eight.
const MAX_WRITES: usize = 10;
/// After a lost race.
const CONFLICT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Why a plan was not carried out.
#[derive(Debug, thiserror::Error)]
enum ActError {
    /// The API server.
    #[error(transparent)]
    Api(#[from] Error),
    /// The request cannot be met. The text holds no value.
    #[error("{0}")]
    Request(String),
}

/// What all reconciles share.
pub(crate) struct Context {
    cluster: Cluster,
    events: Events,
    interest: Interest,
    scope: Scope,
    signer: Signer,
    keys: Arc<Keys>,
}

// === impl Context ===

impl Context {
    /// `spare_keys`: how many keys are kept ready; `instance`: name of this process.
    pub fn new(cluster: Cluster, scope: Scope, signer: Signer, spare_keys: usize, instance: &str) -> Self {
        Self {
            events: Events::new(cluster.clone(), MANAGER, instance),
            interest: Interest::default(),
            cluster,
            scope,
            signer,
            keys: Arc::new(Keys::new(spare_keys)),
        }
    }

    /// Reconciles one object. It comes from a cache, so it is read again first.
    pub async fn reconcile(&self, cached: Arc<QuarksSecret>) -> Result<Action, Error> {
        let Identity { namespace, name, .. } = Identity::of(&*cached)?;
        if cached.metadata.deletion_timestamp.is_some() || !self.scope.holds(namespace) {
            self.interest.forget((namespace, name));
            return Ok(Action::await_change());
        }
        match self.settle(cached.clone(), namespace, name).await {
            // An object changed after it was read; the next reconcile decides from its new state.
            Err(error) if error.is_race() => Ok(Action::requeue(CONFLICT_RETRY_DELAY)),
            Err(error) => {
                self.complain(namespace, name, &error).await;
                Err(error)
            }
            done => done,
        }
    }

    /// Reports an error that a user has to resolve in the status. An unavailable server is not such an error, and the
    /// status could not be written.
    async fn complain(&self, namespace: &str, name: &str, error: &Error) {
        if !matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Refused(_)) {
            return;
        }
        if let Ok(Some(object)) = self.cluster.get::<QuarksSecret>(namespace, name).await {
            let before = object.status.clone().unwrap_or_default();
            let plan = Plan::troubled("Refused", error.to_string(), before.generated.unwrap_or(false));
            if let Err(error) = self.report(&object, &plan).await {
                tracing::warn!(%error, "cannot write the status");
            }
        }
    }

    async fn settle(&self, cached: Arc<QuarksSecret>, namespace: &str, name: &str) -> Result<Action, Error> {
        let mut object = cached;
        for _ in 0..MAX_WRITES {
            let observed = observe(&self.cluster, &self.interest, &self.signer, &object).await?;
            let mut plan = plan(&object, &observed, SystemTime::now());
            let writes = plan.step != plan::Step::Keep || !plan.copies.is_empty();
            if writes || status::status(&object, &plan, SystemTime::now()).is_some() {
                let Some(fresh) = self.cluster.get::<QuarksSecret>(namespace, name).await? else {
                    return Ok(Action::await_change());
                };
                if fresh.metadata.resource_version != object.metadata.resource_version {
                    object = Arc::new(fresh);
                    continue;
                }
            }
            match act(self, &object, &plan).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(ActError::Api(error)) => return Err(error),
                Err(ActError::Request(message)) => plan = refused(plan, &object, message),
            }
            self.report(&object, &plan).await?;
            self.note_end(namespace, name, plan.not_after);
            return Ok(Action::requeue(plan.wake));
        }
        Ok(Action::requeue(CONFLICT_RETRY_DELAY))
    }

    /// Records when a certificate expires; none: it does not, or is deleted.
    fn note_end(&self, namespace: &str, name: &str, end: Option<SystemTime>) {
        let since = end.map(|end| end.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        let end = since.map(|since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        self.cluster
            .metrics()
            .certificates
            .set(&format!("{namespace}/{name}"), end);
    }

    /// Writes the status if it has changed, and emits events for what is new.
    async fn report(&self, object: &QuarksSecret, plan: &Plan) -> Result<(), Error> {
        let Some((status, notices)) = status::status(object, plan, SystemTime::now()) else {
            return Ok(());
        };
        if let Some(notice) = status::again(object, plan) {
            self.emit(object, &notice).await;
            if let Some(deployment) = deployment(object) {
                self.emit(&deployment, &notice).await;
            }
        }
        self.cluster.set_status(MANAGER, object, &status).await?;
        for notice in notices {
            self.emit(object, &notice).await;
        }
        Ok(())
    }

    /// Reconciles one ConfigMap that requests a rotation.
    pub async fn rotate(&self, map: &ConfigMap) -> Result<Action, Error> {
        if !self.scope.holds(Identity::of(map)?.namespace) {
            return Ok(Action::await_change());
        }
        match rotation::rotate(&self.cluster, map).await {
            Ok(notice) => {
                if let Some(notice) = notice {
                    self.emit(map, &notice).await;
                }
                Ok(Action::await_change())
            }
            Err(error) if error.is_race() => Ok(Action::requeue(CONFLICT_RETRY_DELAY)),
            Err(error) => Err(error),
        }
    }

    async fn emit<K: Resource<DynamicType = ()>>(&self, about: &K, notice: &Notice) {
        if let Err(error) = self.events.emit(about, notice).await {
            // A lost event has no effect.
            tracing::warn!(%error, "cannot write an event");
        }
    }
}

/// The BOSHDeployment of a QuarksSecret, as the subject of an event.
fn deployment(object: &QuarksSecret) -> Option<PartialObjectMeta<BoshDeployment>> {
    let owners = object.metadata.owner_references.iter().flatten();
    let kind = BoshDeployment::kind(&());
    let owner = owners.into_iter().find(|owner| owner.kind == kind)?;
    let meta = ObjectMeta {
        name: Some(owner.name.clone()),
        namespace: object.metadata.namespace.clone(),
        uid: Some(owner.uid.clone()),
        ..ObjectMeta::default()
    };
    Some(meta.into_response_partial())
}

/// The plan after its value could not be generated.
fn refused(plan: Plan, object: &QuarksSecret, message: String) -> Plan {
    let generated = !matches!(plan.step, plan::Step::Create(_));
    let message = format!("cannot create Secret '{}': {message}", object.spec.secret_name);
    Plan::troubled("BadRequest", message, generated)
}
