//! The controllers of QuarksSecrets, and of the ConfigMaps that ask for their rotation.

#[expect(clippy::disallowed_methods, reason = "it is the part that writes")]
mod act;
mod cause;
mod observe;
mod plan;
mod position;
mod request;
#[expect(clippy::disallowed_methods, reason = "it runs beside the controller")]
mod rotation;
mod signer;
mod status;
mod stored;
mod value;
mod watch;

#[cfg(test)]
mod made;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "certificates of tests are valid from now on")]
mod tests;

use crate::controller::{AnyController, Controller, Next, Planned, Report, Watched};
use boson_api::QuarksSecret;
use boson_api::secret::QuarksSecretStatus;
use boson_cluster::client::{Cluster, Error, ErrorKind, Events, FieldManager, Identity};
use boson_cluster::reconcile::Interest;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use observe::Observed;
use plan::Plan;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::SystemTime;
use value::keys::{KEY_GENERATION_DELAY, Keys};

pub(crate) use rotation::controller as rotation_controller;
pub use signer::OWN_SIGNER;
pub(crate) use signer::Signer;
pub(crate) use stored::desired::retained_by;
pub(crate) use value::generate::member;

/// Owner of the fields that these controllers write.
const MANAGER: FieldManager = FieldManager("boson-quarks-secret");

/// Why a plan was not carried out.
#[derive(Debug, thiserror::Error)]
enum ActError {
    #[error(transparent)]
    Api(#[from] Error),
    /// The request cannot be met. The text holds no value.
    #[error("{0}")]
    Request(String),
}

struct Context {
    cluster: Cluster,
    events: Events,
    interest: Interest,
    signer: Signer,
    keys: Arc<Keys>,
}

/// `spare_keys`: how many keys are kept ready; `instance`: name of this process.
pub(crate) fn controller(
    cluster: Cluster,
    signer: Signer,
    spare_keys: usize,
    instance: &str,
) -> Arc<dyn AnyController> {
    let keys = Arc::new(Keys::new(spare_keys));
    keys.fill_after(KEY_GENERATION_DELAY);
    Arc::new(Context {
        events: Events::new(cluster.clone(), MANAGER, instance),
        interest: Interest::default(),
        cluster,
        signer,
        keys,
    })
}

// === impl Context ===

impl Context {
    /// Records when a certificate expires; none: it does not, or is deleted.
    fn note_end(&self, namespace: &str, name: &str, end: Option<SystemTime>) {
        let certificates = &self.cluster.metrics().certificates;
        certificates.set(&format!("{namespace}/{name}"), end.map(status::seconds));
    }
}

impl Controller for Context {
    const NAME: &'static str = "quarks-secret";
    /// A certificate by the built-in signer, with a new authority and a copy, needs eight.
    const MAX_PASSES: usize = 10;

    type Object = QuarksSecret;
    type Observed = Observed;
    type Need = Infallible;
    type Plan = Plan;
    /// The plan, if it has nothing left to write.
    type Outcome = ControlFlow<Next<QuarksSecret>, Plan>;
    type Status = QuarksSecretStatus;

    fn events(&self) -> &Events {
        &self.events
    }

    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<QuarksSecret> {
        watch::watch(self, namespace)
    }

    async fn observe(&self, object: &QuarksSecret) -> Result<ControlFlow<Action, Self::Observed>, Error> {
        let observed = observe::observe(&self.cluster, &self.interest, &self.signer, object).await?;
        Ok(ControlFlow::Continue(observed))
    }

    fn plan(object: &QuarksSecret, observed: &Observed, now: Timestamp) -> Result<Planned<Self>, Error> {
        Ok(Planned::Act(plan::plan(object, observed, now.into())))
    }

    async fn act(&self, object: &Arc<QuarksSecret>, _: Observed, plan: Plan) -> Result<Self::Outcome, Error> {
        act::act(self, object, plan).await
    }

    fn status(object: &QuarksSecret, outcome: Self::Outcome, now: Timestamp) -> Report<Self> {
        match outcome {
            ControlFlow::Continue(plan) => status::report(object, &plan, now.into()),
            ControlFlow::Break(next) => Report::next(next),
        }
    }

    /// Reports an error that a user has to resolve in the status. An unavailable server is not such an error, and the
    /// status could not be written.
    #[expect(clippy::disallowed_methods, reason = "the driver calls it")]
    async fn failed(&self, object: &QuarksSecret, error: &Error) {
        if !matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Refused(_)) {
            return;
        }
        let Ok(Identity { namespace, name, .. }) = Identity::of(object) else {
            return;
        };
        if let Ok(Some(object)) = self.cluster.get::<QuarksSecret>(namespace, name).await {
            let before = object.status.clone().unwrap_or_default();
            let plan = Plan::blocked("Refused", error.to_string(), before.generated.unwrap_or(false));
            let report = status::report(&object, &plan, SystemTime::now());
            if let Err(error) = report.publish(self, &object).await {
                tracing::warn!(%error, "cannot write the status");
            }
        }
    }

    /// What it refers to does not requeue it any more.
    async fn unserved(&self, object: &QuarksSecret) -> Result<(), Error> {
        let Identity { namespace, name, .. } = Identity::of(object)?;
        self.interest.forget(namespace, name);
        Ok(())
    }

    fn forget(&self, namespace: &str, name: &str) {
        self.interest.forget(namespace, name);
        self.note_end(namespace, name, None);
    }
}
