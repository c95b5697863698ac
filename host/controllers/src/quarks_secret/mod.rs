//! The QuarksSecret controller: observe, plan, act, and again until there is nothing left to do.

mod act;
mod certify;
mod copies;
mod draft;
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

use crate::api::{BoshDeployment, QuarksSecret};
use crate::client::{Cluster, Error, Events, Fault, Notice};
use crate::interest::Interest;
use crate::scope::Scope;
use act::{Failure, MANAGER, act};
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

pub(crate) use secret::retained_by;
pub use signing::OWN_SIGNER;
pub(crate) use signing::Signer;
pub(crate) use watch::run;

/// Writes of one object in one go; a certificate by our own signer, with an authority for it and a copy, takes eight.
const ROUNDS: usize = 10;
/// After a lost race.
const SOON: Duration = Duration::from_millis(200);

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
    /// For this cluster. `spare_keys`: how many are kept ready; `instance`: name of this process.
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

    /// One object. It comes from a cache, so it is read again before anything is written.
    pub async fn reconcile(&self, cached: Arc<QuarksSecret>) -> Result<Action, Error> {
        let namespace = cached.metadata.namespace.clone().unwrap_or_default();
        let name = cached.metadata.name.clone().unwrap_or_default();
        if cached.metadata.deletion_timestamp.is_some() || !self.scope.holds(&namespace) {
            self.interest.forget((&namespace, &name));
            return Ok(Action::await_change());
        }
        match self.settle(cached, &namespace, &name).await {
            // Somebody wrote what we had read: nobody's mistake, and what there is now decides.
            Err(error) if error.is_race() => Ok(Action::requeue(SOON)),
            Err(error) => {
                self.complain(&namespace, &name, &error).await;
                Err(error)
            }
            done => done,
        }
    }

    /// Says in the status what somebody has to mend. A server that is away is nobody's to mend, and could not be told anyway.
    async fn complain(&self, namespace: &str, name: &str, error: &Error) {
        if !matches!(error.fault, Fault::Forbidden | Fault::Refused(_)) {
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
        for _ in 0..ROUNDS {
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
                Err(Failure::Api(error)) => return Err(error),
                Err(Failure::Request(message)) => plan = refused(plan, &object, message),
            }
            self.report(&object, &plan).await?;
            self.note_end(namespace, name, plan.not_after);
            return Ok(Action::requeue(plan.wake));
        }
        Ok(Action::requeue(SOON))
    }

    /// Notes when the certificate expires, if it is one; none: it never does, or is no more.
    fn note_end(&self, namespace: &str, name: &str, end: Option<SystemTime>) {
        let since = end.map(|end| end.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        let end = since.map(|since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        self.cluster
            .metrics()
            .certificates
            .set(&format!("{namespace}/{name}"), end);
    }

    /// Writes the status where it has changed, and tells what is new in it.
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

    /// One ConfigMap that asks for a rotation.
    pub async fn rotate(&self, map: &ConfigMap) -> Result<Action, Error> {
        if !self.scope.holds(map.metadata.namespace.as_deref().unwrap_or_default()) {
            return Ok(Action::await_change());
        }
        match rotation::rotate(&self.cluster, map).await {
            Ok(notice) => {
                if let Some(notice) = notice {
                    self.emit(map, &notice).await;
                }
                Ok(Action::await_change())
            }
            Err(error) if error.is_race() => Ok(Action::requeue(SOON)),
            Err(error) => Err(error),
        }
    }

    async fn emit<K: Resource<DynamicType = ()>>(&self, about: &K, notice: &Notice) {
        if let Err(error) = self.events.emit(about, notice).await {
            // An event that is lost changes nothing.
            tracing::warn!(%error, "cannot write an event");
        }
    }
}

/// The BOSHDeployment that a QuarksSecret is for, as events name it.
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

/// What remains of a plan whose value could not be made.
fn refused(plan: Plan, object: &QuarksSecret, message: String) -> Plan {
    let generated = !matches!(plan.step, plan::Step::Create(_));
    let message = format!("Secret '{}' cannot be made: {message}", object.spec.secret_name);
    Plan::troubled("BadRequest", message, generated)
}
